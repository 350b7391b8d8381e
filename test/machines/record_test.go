//go:build machines

package machines

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/machines/guest"
)

func newResult(t *testing.T, m guest.Machine) *Result {
	t.Helper()
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return &Result{
		Machine: m,
		Date:    time.Now().UTC().Format(time.DateOnly),
		Commit:  strings.TrimSpace(string(commit)),
	}
}

// record writes the result as JUnit to bin/machines and, if MULLION_MACHINES_RECORD is set, into the documents.
func record(t *testing.T, r *Result) {
	t.Helper()
	dir := filepath.Join("..", "..", "bin", "machines")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, r.Machine.Name+".xml"))
	if err != nil {
		t.Fatal(err)
	}

	if err := r.WriteJUnit(file); err != nil {
		t.Error(err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if os.Getenv("MULLION_MACHINES_RECORD") == "" {
		return
	}

	kept := filepath.Join("..", "..", "docs", "compat", "machines")
	if half := os.Getenv(stepsName); half == "work" || half == "faults" {
		before, err := ReadResults(kept)
		if err != nil {
			t.Fatal(err)
		}
		r.Join(before)
	}

	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(kept, 0o755); err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(kept, r.Machine.Name+".json"), append(text, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
