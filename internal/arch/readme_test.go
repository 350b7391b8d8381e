package arch_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestReadmeIsShort: README is read in some minutes, or it is not read. What does not fit goes to a page of docs.
func TestReadmeIsShort(t *testing.T) {
	const lines, words = 90, 900
	text := read(t, filepath.Join(root, "README.md"))
	if n := strings.Count(text, "\n"); n > lines {
		t.Errorf("README.md has %d lines, at most %d", n, lines)
	}
	if n := len(strings.Fields(text)); n > words {
		t.Errorf("README.md has %d words, at most %d", n, words)
	}
}
