// Package kept has the results of tests and measurements in the form in which they are kept: what ran on what, how each
// part of it ended, and what else the machine did meanwhile. One run is one file:
//
//	<folder>/wine/20261129T201100Z-e56d8f35.json
//
// A run writes its file below Fresh, which git ignores. What is to be quoted is copied to Folder and committed
// (`go run ./hack/results keep`).
package kept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/conformance/result"
)

const (
	// Fresh is where runs write their results, below the repository's folder.
	Fresh = ".cache/results"
	// Folder is where results are kept, below the repository's folder.
	Folder = "results"
)

// version is that of the form of a Result.
const version = 1

// Result is a run of a rung, a suite of Kubernetes' own tests, or a benchmark.
type Result struct {
	Version int    `json:"version"`
	Suite   string `json:"suite"`
	// Commit is what was tested, eight digits, and empty outside of a checkout. Changed says that the tree had changes.
	Commit  string `json:"commit"`
	Changed bool   `json:"changed,omitempty"`
	// Began is when it began, Seconds how long it took.
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Machine Machine   `json:"machine"`
	Load    Load      `json:"load"`
	Args    []string  `json:"args"`
	// Incomplete says why a run did not come to its end.
	Incomplete string `json:"incomplete,omitempty"`
	// StandIns are the images of Kubernetes' own tests that are not wholly upstream's, each with the parts that are
	// not.
	StandIns map[string]string `json:"standIns,omitempty"`
	Figures  []Figure          `json:"figures,omitempty"`
	Tests    []Test            `json:"tests,omitempty"`
}

// Test is how a test, or a part of one, ended.
type Test struct {
	Name     string       `json:"name"` // of a test in Go: package and test, with a space between them
	State    result.State `json:"state"`
	Attempts int          `json:"attempts"`
	Seconds  float64      `json:"seconds"`
	// Reason is why it failed, at whatever attempt, or was skipped.
	Reason string `json:"reason,omitempty"`
}

// Figure is what a benchmark measured.
type Figure struct {
	What   string    `json:"what"`
	Asked  string    `json:"asked,omitempty"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
}

// maxReason is the most bytes of a reason that are kept.
const maxReason = 2000

// Name returns the name of the result's file.
func (r Result) Name() string {
	commit := r.Commit
	if commit == "" {
		commit = "nocommit"
	}
	return result.NewID(r.Began) + "-" + commit + ".json"
}

// Count returns the number of tests in each state.
func (r Result) Count() map[result.State]int {
	counts := map[result.State]int{}
	for _, t := range r.Tests {
		counts[t.State]++
	}
	return counts
}

// Flaky returns the tests that passed at their second try, without those that had failed by a part of them alone.
func (r Result) Flaky() []Test {
	var found []Test
	for _, t := range r.Tests {
		if t.State == result.Flaky && t.Reason != "" {
			found = append(found, t)
		}
	}
	return found
}

// Write writes a result below a folder and returns its path. A test has a line of its own, so that two results can be
// compared line by line.
func Write(folder string, r Result) (string, error) {
	r.Version = version
	tests := r.Tests
	r.Tests = nil

	head, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("encode a result: %w", err)
	}

	text := bytes.NewBuffer(bytes.TrimSuffix(head, []byte("\n}")))
	text.WriteString(",\n  \"tests\": [")
	for i, t := range tests {
		if len(t.Reason) > maxReason {
			t.Reason = strings.ToValidUTF8(t.Reason[:maxReason], "") + "…"
		}

		line, err := json.Marshal(t)
		if err != nil {
			return "", fmt.Errorf("encode the result of %q: %w", t.Name, err)
		}
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString("\n    ")
		text.Write(line)
	}

	text.WriteString("\n  ]\n}\n")

	path := filepath.Join(folder, r.Suite, r.Name())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", fmt.Errorf("make a folder of results: %w", err)
	}
	return path, atomicfile.Write(path, text.Bytes(), 0o644)
}

// Read reads a result's file.
func Read(path string) (Result, error) {
	var r Result
	text, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read a result: %w", err)
	}

	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&r); err != nil {
		return r, fmt.Errorf("parse %q: %w", path, err)
	}

	switch {
	case r.Version != version:
		return r, fmt.Errorf("%q has version %d; this program reads version %d", path, r.Version, version)
	case r.Suite != filepath.Base(filepath.Dir(path)) || r.Name() != filepath.Base(path):
		return r, fmt.Errorf("%q says that it is %s/%s", path, r.Suite, r.Name())
	}

	return r, nil
}

// ofResult are the names of results' files.
var ofResult = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-z]+\.json$`)

// Files lists the results of a suite below a folder, the newest first.
func Files(folder, suite string) ([]string, error) {
	files, err := os.ReadDir(filepath.Join(folder, suite))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list results: %w", err)
	}

	var paths []string
	for _, f := range files {
		if ofResult.MatchString(f.Name()) {
			paths = append(paths, filepath.Join(folder, suite, f.Name()))
		}
	}

	slices.Reverse(paths)
	return paths, nil
}

// Suites lists the suites with results below a folder.
func Suites(folder string) ([]string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list results: %w", err)
	}

	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
