package arch_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
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
