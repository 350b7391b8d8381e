package arch_test

import (
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
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

// TestGoIsFormatted holds Go's files to gofmt. Lint wants gofumpt and an order of imports too.
func TestGoIsFormatted(t *testing.T) {
	for _, path := range goFiles(t) {
		text := read(t, path)
		formatted, err := format.Source([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if string(formatted) != text {
			t.Errorf("%s is not formatted (make fmt)", path)
		}
	}
}

// tabColumns is how wide lint takes a tab of Go's to be.
const tabColumns = 4

// TestGoHasShortLines holds Go's lines to maxColumns, as lint's lll does, and also those of files that lint does not
// see: of Windows' programs, and of modules of their own. What cannot be broken may be longer: a text, an address, a
// directive, an example in a comment.
func TestGoHasShortLines(t *testing.T) {
	whole := regexp.MustCompile(`("|` + "`" + `).{60,}|https?://|//nolint|^//(\t|  |go:)`)
	row := regexp.MustCompile(`: \[?\{.*\}\]?$|children\(\)`) // of a table of tests
	generated := regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	seen := 0
	for _, path := range goFiles(t) {
		text := read(t, path)
		if generated.MatchString(text) {
			continue
		}

		seen++
		inTest := strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, filepath.Join(root, "test")+"/")
		number := 0
		var texts map[int]bool // the lines of texts of several, which are read only where a line is long
		for line := range strings.Lines(text) {
			number++
			line = strings.TrimSuffix(line, "\n")
			n := utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabColumns-1)
			if n <= maxColumns || whole.MatchString(line) || (inTest && row.MatchString(line)) {
				continue
			}
			if texts == nil {
				texts = textLines(t, path)
			}
			if !texts[number] {
				t.Errorf("%s:%d has %d columns, at most %d", path, number, n, maxColumns)
			}
		}
	}

	if seen < 2000 {
		t.Errorf("only %d files were seen", seen)
	}
}

// textLines returns the numbers of the lines of a Go file that are in a text of several lines.
func textLines(t *testing.T, path string) map[int]bool {
	t.Helper()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}

	lines := map[int]bool{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		l, ok := n.(*ast.BasicLit)
		if !ok || l.Kind != token.STRING {
			return true
		}
		first, last := files.Position(l.Pos()).Line, files.Position(l.End()).Line
		for i := first; last > first && i <= last; i++ {
			lines[i] = true
		}

		return true
	})
	return lines
}
