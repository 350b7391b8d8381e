package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// failure is a test, or a package, that failed, with what it said about why.
type failure struct {
	rung, pkg, test string
	reasons         []string // a message of one or more lines each

	panicked bool
	took     time.Duration
}

// print writes a failure compactly: what failed, then file:line: message.
func (f failure) print(w io.Writer) {
	fmt.Fprintf(w, "FAILED %s: %s %s\n", f.rung, f.pkg, f.test)
	for _, reason := range f.reasons {
		for line := range strings.Lines(reason) {
			fmt.Fprintf(w, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// slowTest is a test, or a part of one, that took long.
type slowTest struct {
	name string
	took time.Duration
}

const (
	slowFrom = 20 * time.Second
	maxSlow  = 40 // how many slow tests of a rung are named
)

// slowest gives the tests that took longest, the longest first, so that a run that takes too long says what to shorten.
func slowest(tests []slowTest) []slowTest {
	longer := func(a, b slowTest) int { return cmp.Compare(b.took, a.took) }
	tests = slices.SortedStableFunc(slices.Values(tests), longer)
	return tests[:min(len(tests), maxSlow)]
}

// withReasons leaves out the tests that failed only because a subtest did.
func withReasons(failures []failure) []failure {
	return slices.DeleteFunc(slices.Clone(failures), func(f failure) bool {
		return len(f.reasons) == 0 && slices.ContainsFunc(failures, func(g failure) bool {
			return g.rung == f.rung && f.holds(g)
		})
	})
}

const (
	module = "mullion.dev/mullion/"
	// A longer message is cut in the middle: its first lines say what was done, and its last ones, above all those of a
	// script, why it failed.
	headLines, tailLines = 4, 10
	// maxWidth is the most bytes of a line.
	maxWidth = 400
)

// record begins a message of a test: four spaces, file and line. The lines that follow it are indented by eight.
var record = regexp.MustCompile(`^    (\S+\.go):(\d+): (.*)`)

// reasons finds in a failed test's output why it failed: the messages of Error and Fatal but not those of Log; if there
// are none, a panic; else the last lines.
func reasons(pkg, output string) []string {
	dir := strings.TrimPrefix(pkg, module)
	var found []string
	var current []string
	end := func() {
		if current != nil {
			found = append(found, compact(current))
		}
		current = nil
	}

	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			end()
			return append(found, compact(lines[i:min(len(lines), i+20)]))
		}

		m := record.FindStringSubmatch(line)
		switch {
		case m != nil:
			end()
			if !isNote(filepath.Join(dir, m[1]), m[2], m[3]) {
				current = []string{strings.TrimSpace(line)}
			}
		case strings.HasPrefix(line, "        ") && current != nil:
			current = append(current, line[4:])
		default:
			end()
		}
	}

	end()
	return found
}

// isNote reports whether a message is one of Log, which go test does not tell. A message of a helper's is one if it
// begins with "=="; for any other, the source line that made it shows it.
func isNote(file, number, text string) bool {
	if strings.HasPrefix(text, "==") {
		return true
	}

	source, err := os.ReadFile(file)
	if err != nil {
		return false // a script's engine, for example
	}
	n, err := strconv.Atoi(number)
	lines := strings.Split(string(source), "\n")
	if err != nil || n < 1 || n > len(lines) {
		return false
	}

	return strings.Contains(lines[n-1], ".Log(") || strings.Contains(lines[n-1], ".Logf(")
}

func compact(lines []string) string {
	if len(lines) > headLines+tailLines+1 {
		left := fmt.Sprintf("    … %d lines …", len(lines)-headLines-tailLines)
		lines = append(append(append([]string{}, lines[:headLines]...), left), lines[len(lines)-tailLines:]...)
	}

	cut := make([]string, len(lines))
	for i, line := range lines {
		if len(line) > maxWidth {
			line = strings.ToValidUTF8(line[:maxWidth], "") + "…"
		}
		cut[i] = line
	}

	return strings.Join(cut, "\n")
}

// lastWords returns the last lines of a package's own output, for a package that fails without a failed test.
func lastWords(output string) []string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return []string{compact(lines[max(0, len(lines)-tailLines):])}
}
