// Package programtest runs the programs of guest/tools in tests, and compares what they print.
package programtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"mullion.dev/mullion/guest/tools/program"
)

// Result is what a program printed, with plain ends of lines, and its exit code.
type Result struct {
	Code     int
	Out, Err string
}

// Run runs a program with an input and no variables.
func Run(input string, run func(program.Env) int) Result {
	var out, errs bytes.Buffer
	code := run(program.Env{
		Getenv:  func(string) string { return "" },
		Environ: func() []string { return nil },
		Stdin:   strings.NewReader(input),
		Stdout:  &out,
		Stderr:  &errs,
	})
	plain := func(b bytes.Buffer) string { return strings.ReplaceAll(b.String(), "\r\n", "\n") }
	return Result{
		Code: code,
		Out:  plain(out),
		Err:  plain(errs),
	}
}

// Write writes files below a folder.
func Write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Goldens runs the command lines in files of testdata, where what follows a " < " is the input, and " / " its ends of
// lines. With update it writes what the programs print.
func Goldens(t *testing.T, update bool, run func(t *testing.T, input string, args ...string) Result, files ...string) {
	t.Helper()
	for _, file := range files {
		path := filepath.Join("testdata", file)
		golden, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}

		for i, f := range golden.Files {
			t.Run(f.Name, func(t *testing.T) {
				line, input, _ := strings.Cut(f.Name, " < ")
				got := Alone(t, func(t *testing.T) Result {
					t.Helper()
					return run(t, strings.ReplaceAll(input, " / ", "\r\n"), strings.Fields(line)...)
				}).text()

				if update {
					golden.Files[i].Data = []byte(got)
				} else if diff := cmp.Diff(string(f.Data), got); diff != "" {
					t.Error(diff)
				}
			})
		}

		if update {
			if err := os.WriteFile(path, txtar.Format(golden), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Alone runs a program where time passes only while everything waits.
func Alone(t *testing.T, run func(t *testing.T) Result) (r Result) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { r = run(t) })
	return r
}

// text returns a result as it is in testdata.
func (r Result) text() string {
	text := r.Out
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for line := range strings.Lines(r.Err) {
		text += "! " + line
	}
	return fmt.Sprintf("%sexit %d\n", text, r.Code)
}
