package arch_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestCIsFormatted holds the C of guest/c to its .clang-format, as make lint does, where the version whose output is
// meant is installed.
func TestCIsFormatted(t *testing.T) {
	formatter := clangFormat14(t)
	args := []string{"--dry-run", "-Werror"}
	for _, path := range files(t, ".c", ".h") {
		if strings.HasPrefix(path, filepath.Join(root, "guest", "c")+"/") {
			args = append(args, path)
		}
	}
	if len(args) < 50 {
		t.Fatalf("found only %d files of C in guest/c", len(args)-2)
	}
	if out, err := exec.CommandContext(t.Context(), formatter, args...).CombinedOutput(); err != nil {
		t.Errorf("not formatted (make fmt): %v\n%s", err, out)
	}
}

// clangFormat14 finds clang-format 14, or skips: other versions wrap some lines elsewhere.
func clangFormat14(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"clang-format-14", "clang-format"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		isVersion := func(word string) bool { return strings.HasPrefix(word, "14.") }
		if err == nil && slices.ContainsFunc(strings.Fields(string(out)), isVersion) {
			return path
		}
	}

	t.Skip("clang-format 14 is not installed (make deps FOR=lint)")
	return ""
}

// maxColumns bounds a line of C and of what builds it, as lint does Go's lines.
const maxColumns = 120

// TestCHasShortLines also sees what clang-format leaves alone: texts, comments, and tables of their own making. A line
// that is an address alone may be longer.
func TestCHasShortLines(t *testing.T) {
	address := regexp.MustCompile(`^ \* \(?https://\S+$`)
	seen := 0
	for _, path := range files(t, ".c", ".h", ".mk", "Makefile") {
		if !strings.HasPrefix(path, filepath.Join(root, "guest", "c")+"/") {
			continue
		}

		seen++
		number := 0
		for line := range strings.Lines(read(t, path)) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > maxColumns && !address.MatchString(line) {
				t.Errorf("%s:%d has %d columns, at most %d", path, number, n, maxColumns)
			}
		}
	}

	if seen < 200 {
		t.Errorf("only %d files were seen", seen)
	}
}
