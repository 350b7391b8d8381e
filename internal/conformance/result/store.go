package result

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/beneath"
)

// The files of a run's folder.
const (
	runFile   = "run.json"
	specsFile = "specs.jsonl"
	outputDir = "output"
)

// maxOutput is how many bytes of a spec's output are kept, from its end.
const maxOutput = 4 << 20

// Folder is the folder of a run.
type Folder struct {
	// Path is the path of the folder.
	Path  string
	specs *os.File
}

// NewID returns the ID of a run that starts at t.
func NewID(t time.Time) string { return t.UTC().Format("20060102T150405Z") }

// Create makes the folder of a new run and writes its description.
func Create(results string, run Run) (*Folder, error) {
	f := &Folder{Path: filepath.Join(results, run.Suite, run.ID)}
	if err := os.MkdirAll(filepath.Join(f.Path, outputDir), 0o755); err != nil {
		return nil, fmt.Errorf("make folder of results: %w", err)
	}
	if err := f.Save(run); err != nil {
		return nil, err
	}
	return f, f.open()
}

// Reopen opens the folder of a run to go on with it. Half a line that a crash has left at the end is removed.
func Reopen(path string) (*Folder, Results, error) {
	r, err := Load(path)
	if err != nil {
		return nil, r, err
	}

	var whole strings.Builder
	for _, s := range r.Specs {
		line, err := json.Marshal(s)
		if err != nil {
			return nil, r, fmt.Errorf("encode result of %q: %w", s.Name, err)
		}
		whole.Write(append(line, '\n'))
	}

	if err := atomicfile.Write(filepath.Join(path, specsFile), []byte(whole.String()), 0o644); err != nil {
		return nil, r, err
	}
	f := &Folder{Path: path}
	return f, r, f.open()
}

func (f *Folder) open() (err error) {
	f.specs, err = os.OpenFile(filepath.Join(f.Path, specsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open results: %w", err)
	}
	return nil
}

// Close closes the folder's file.
func (f *Folder) Close() error {
	if err := f.specs.Close(); err != nil {
		return fmt.Errorf("close results: %w", err)
	}
	return nil
}

// Save writes the description of the run.
func (f *Folder) Save(run Run) error {
	run.Version = 1
	data, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return fmt.Errorf("encode run: %w", err)
	}
	return atomicfile.Write(filepath.Join(f.Path, runFile), append(data, '\n'), 0o644)
}

// Add writes the result of a spec, with its output and its nodes' logs if they are not empty.
func (f *Folder) Add(s Spec, output, nodeLog string) error {
	for _, file := range []struct {
		to         *string
		name, text string
	}{
		{&s.Output, fmt.Sprintf("%d.log", s.Number), output},
		{&s.NodeLog, fmt.Sprintf("%d.node.log", s.Number), nodeLog},
	} {
		if file.text == "" {
			continue
		}
		*file.to = filepath.Join(outputDir, file.name)
		if err := os.WriteFile(filepath.Join(f.Path, *file.to), []byte(tail(file.text)), 0o644); err != nil {
			return fmt.Errorf("write output of a spec: %w", err)
		}
	}

	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode result of %q: %w", s.Name, err)
	}
	if _, err := f.specs.Write(append(line, '\n')); err != nil { // one call, so that a line is whole or the last
		return fmt.Errorf("write result of %q: %w", s.Name, err)
	}
	return nil
}

func tail(text string) string {
	if len(text) <= maxOutput {
		return text
	}
	text = text[len(text)-maxOutput:]
	return "(the beginning is left out)\n" + text[strings.IndexByte(text, '\n')+1:]
}

// mostOfRun bounds the file that says what a run was, in bytes.
const mostOfRun = 64 << 20

// Load reads the folder of a run, complete or not.
func Load(path string) (Results, error) {
	var r Results
	data, err := beneath.ReadPath(filepath.Join(path, runFile), mostOfRun)
	if err != nil {
		return r, fmt.Errorf("read run: %w", err)
	}
	if err := json.Unmarshal(data, &r.Run); err != nil {
		return r, fmt.Errorf("parse %q: %w", filepath.Join(path, runFile), err)
	}

	if r.Run.Version != 1 {
		return r, fmt.Errorf("%q has version %d; this program reads version 1", path, r.Run.Version)
	}
	file, _, err := beneath.OpenPath(filepath.Join(path, specsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}

	if err != nil {
		return r, fmt.Errorf("read results: %w", err)
	}
	defer file.Close()

	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var s Spec
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			break // half a line: the machine stopped while it was written
		}
		r.Specs = append(r.Specs, s)
	}

	if err := lines.Err(); err != nil {
		return r, fmt.Errorf("read results: %w", err)
	}
	return r, nil
}

// History lists the folders of a suite's runs, the newest first.
func History(results, suite string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(results, suite))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}

	var paths []string
	for _, e := range entries {
		path := filepath.Join(results, suite, e.Name())
		if _, err := os.Stat(filepath.Join(path, runFile)); err == nil {
			paths = append(paths, path)
		}
	}

	slices.Sort(paths)
	slices.Reverse(paths)
	return paths, nil
}
