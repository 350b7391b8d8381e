package atomicfile_test

import (
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/atomicfile"
)

func TestWriteReplacesWholeWithItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"a long first content", "short"} {
		if err := atomicfile.Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("content = %q, %v", got, err)
		}
	}

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func TestFailedWriteLeavesTheOldAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder") // a file cannot be renamed over a folder
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(target, []byte("x"), 0o600); err == nil {
		t.Error("no error")
	}

	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := atomicfile.WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "{\n  \"a\": 1\n}\n" {
		t.Errorf("content = %q, %v", got, err)
	}
	if err := atomicfile.WriteJSON(path, func() {}); err == nil {
		t.Error("a function is no JSON")
	}
}
