package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestWrite: each command that help lists has a page, hidden ones have none, and a second run writes the same.
func TestWrite(t *testing.T) {
	date := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	var dirs [2]string
	for i := range dirs {
		dirs[i] = filepath.Join(t.TempDir(), "man")
		if err := write(dirs[i], date); err != nil {
			t.Fatal(err)
		}
	}

	for page, words := range map[string]string{
		"mullion.1":           `.TH "MULLION" "1" "Jan 2026" "Mullion `,
		"mullion-up.1":        "windows-version",
		"mullion-node-exec.1": "mullion node exec",
	} {
		text, err := os.ReadFile(filepath.Join(dirs[0], page))
		if err != nil || !strings.Contains(string(text), words) {
			t.Errorf("%s lacks %q (%v):\n%.300s", page, words, err, text)
		}
		again, err := os.ReadFile(filepath.Join(dirs[1], page))
		if err != nil || string(again) != string(text) {
			t.Errorf("%s is another one the second time (%v)", page, err)
		}
	}

	if _, err := os.Stat(filepath.Join(dirs[0], "mullion-supervise.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}
