// Package judge compares how upstream's own tests end with a table of those that are known to fail and why: a test that
// fails and is not in the table fails, and so does one that is in it and passes.
package judge

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// Known is a test that is known to fail.
type Known struct {
	// Test is its name, with its parents' for a subtest; it stands for its own subtests too.
	Test string `json:"test"`
	// Class is one of Classes.
	Class string `json:"class"`
	Note  string `json:"note"`
	// Skip leaves the test out: it takes the whole program with it, or never ends. Only a top test can be left out.
	Skip bool `json:"skip,omitempty"`
	// Flaky tests may pass.
	Flaky bool `json:"flaky,omitempty"`
}

// Classes say whose fault a failure is.
func Classes() []string {
	return []string{
		"our gap",  // Mullion's
		"wine",     // Wine does it otherwise than Windows, and what runs on a node does not mind
		"upstream", // it fails on Windows as well: upstream's job leaves it out, or the test means another system
		"machine",  // it asks for what the test's environment does not have
	}
}

// Check returns an error if a row of a table is not right.
func Check(table []Known) error {
	for _, k := range table {
		if k.Test == "" || k.Note == "" || !slices.Contains(Classes(), k.Class) ||
			(k.Skip && strings.Contains(k.Test, "/")) {
			return fmt.Errorf("the row of test %q is not right", k.Test)
		}
	}
	return nil
}

// Skip returns the expression of the tests that are left out, or empty.
func Skip(table []Known) string {
	var names []string
	for _, k := range table {
		if k.Skip {
			names = append(names, regexp.QuoteMeta(k.Test))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// Compare compares how the tests ended ("pass", "fail" or "skip", by name) with the table. It gives the tests that fail
// and are not known, and the rows that are not so any more.
func Compare(table []Known, ended map[string]string) (unknown, stale []string) {
	for name, how := range ended {
		if how == "fail" && !explains(table, name) {
			unknown = append(unknown, name)
		}
	}
	for _, k := range table {
		if !k.Skip && !k.Flaky && ended[k.Test] != "fail" {
			stale = append(stale, k.Test)
		}
	}
	slices.Sort(unknown)
	return unknown, stale
}

// explains tells whether a row is about the test, about one of its parents or about one of its subtests, with which it
// fails.
func explains(table []Known, name string) bool {
	return slices.ContainsFunc(table, func(k Known) bool {
		return k.Test == name || strings.HasPrefix(name, k.Test+"/") || strings.HasPrefix(k.Test, name+"/")
	})
}

// Run is how a test program ran.
type Run struct {
	// Ended is how each test ended, by its name: "pass", "fail" or "skip". One that has begun and not ended has failed.
	Ended map[string]string
	// Said is what each test printed; what none did is that of "".
	Said map[string]string
	// Whole says that the program has come to the end of its tests. Otherwise it has crashed, or its time was over, and
	// the tests behind the last one have not run.
	Whole bool
}

// Read reads what a test program has written with -test.v=test2json.
func Read(ctx context.Context, pkg string, output io.Reader) (Run, error) {
	cmd := exec.CommandContext(ctx, "go", "tool", "test2json", "-p", pkg)
	var errs bytes.Buffer
	cmd.Stdin, cmd.Stderr = output, &errs
	out, err := cmd.Output()
	if err != nil {
		return Run{}, fmt.Errorf("go tool test2json: %w\n%s", err, errs.String())
	}

	run := Run{Ended: map[string]string{}, Said: map[string]string{}}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return Run{}, fmt.Errorf("read events of tests: %w", err)
		}

		switch e.Action {
		case "run":
			run.Ended[e.Test], run.Whole = "fail", false
		case "pass", "fail", "skip":
			if e.Test != "" {
				run.Ended[e.Test] = e.Action
			}
		case "output":
			run.Said[e.Test] += e.Output
			if e.Test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n") { // a test program's last word
				run.Whole = true
			}
		}
	}

	return run, lines.Err()
}

// Count returns how many tests ended how.
func Count(ended map[string]string) map[string]int {
	count := map[string]int{}
	for _, how := range ended {
		count[how]++
	}
	return count
}

// ListVariable names the file to which Keep writes, and from which Kept reads; without it there is none.
const ListVariable = "MULLION_JUDGE_LIST"

// Keep writes how tests ended beside what the file has of others, a line each, if somebody asks for it.
func Keep(ended map[string]string) error {
	file := os.Getenv(ListVariable)
	if file == "" {
		return nil
	}
	all, err := Kept()
	if err != nil {
		return err
	}
	maps.Copy(all, ended)

	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s %s\n", all[name], name)
	}

	return atomicfile.Write(file, []byte(text.String()), 0o644)
}

// Kept returns what Keep has written, which may be of an earlier run: nothing without a file.
func Kept() (map[string]string, error) {
	ended := map[string]string{}
	file := os.Getenv(ListVariable)
	if file == "" {
		return ended, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return ended, nil
	} else if err != nil {
		return nil, err
	}

	for line := range strings.Lines(string(text)) {
		how, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if strings.HasPrefix(line, "#") {
			continue
		}
		if !found || !slices.Contains([]string{"pass", "fail", "skip"}, how) {
			return nil, fmt.Errorf("read %s: %q is no result of a test", file, line)
		}
		ended[name] = how
	}

	return ended, nil
}

// Tail returns the last lines of a text.
func Tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
