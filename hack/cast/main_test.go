package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// events returns the lines of an asciicast: its header, and what the terminal showed, which must not go back in time.
func events(t *testing.T, file string) (header map[string]any, shown string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	if err := json.Unmarshal(lines[0], &header); err != nil {
		t.Fatal(err)
	}

	last := 0.0
	for _, line := range lines[1:] {
		var event []any
		if err := json.Unmarshal(line, &event); err != nil || len(event) != 3 || event[1] != "o" {
			t.Fatalf("event %s: %v", line, err)
		}
		if at := event[0].(float64); at < last {
			t.Errorf("event %s is before %v", line, last)
		} else {
			last = at
		}
		shown += event[2].(string)
	}

	return header, shown
}

// TestRecords: lines run on a terminal of the size that the file says, in order, and what they print is what is shown.
func TestRecords(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "x.cast")
	if err := os.WriteFile(filepath.Join(dir, "name"), []byte("née ✓\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"-dir", dir, file, "cat name", "stty size; test -t 1 && printf '\\033[1m<b>'; printf 'a\\rb'"}
	if err := run(t.Context(), args, time.Now); err != nil {
		t.Fatal(err)
	}

	header, shown := events(t, file)
	if header["version"] != 2.0 || header["width"] != 100.0 || header["height"] != 30.0 {
		t.Errorf("header %v", header)
	}
	want := "$ cat name\r\nnée ✓\r\n$ " + args[4] + "\r\n30 100\r\n\x1b[1m<b>a\rb"
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
}

// TestFails: a file stays as it is when a line fails.
func TestFails(t *testing.T) {
	for name, args := range map[string][]string{
		"no_line":     {"FILE"},
		"no_file":     {},
		"exit_code":   {"FILE", "echo a", "exit 3"},
		"no_program":  {"FILE", "./nosuch"},
		"no_folder":   {"-dir", "/nosuch", "FILE", "echo a"},
		"flag":        {"-nosuch", "FILE", "echo a"},
		"unwritable":  {"/nosuch/x.cast", "echo a"},
		"end_by_kill": {"FILE", "kill -9 $$"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.cast")
			if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			for i := range args {
				args[i] = strings.Replace(args[i], "FILE", file, 1)
			}

			if err := run(t.Context(), args, time.Now); err == nil {
				t.Error("no error")
			}
			if text, err := os.ReadFile(file); err != nil || string(text) != "before" {
				t.Errorf("the file has %q, %v", text, err)
			}
		})
	}
}

// TestWholeRunes: bytes of a character that is not whole wait for the rest.
func TestWholeRunes(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "abc": 3, "é": 2, "\xc3": 0, "a\xe2\x9c": 1, "a\xe2\x9c\x93": 4, "\xf0\x9f\x98": 0, "\xff": 1, "a\x80\x80\x80\x80": 5,
	} {
		if got := wholeRunes([]byte(text)); got != want {
			t.Errorf("wholeRunes(%q) = %d, want %d", text, got, want)
		}
	}
}
