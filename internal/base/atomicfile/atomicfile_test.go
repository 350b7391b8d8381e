package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"mullion.dev/mullion/internal/base/atomicfile"
)

func TestWriteReplacesWholeWithItsMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for _, text := range []string{"a long first content", "short"} {
		if err := atomicfile.Write(path, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("content = %q, %v", got, err)
		}
	}

	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func TestFailedWriteLeavesTheOldAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder") // a file cannot be renamed over a folder
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := atomicfile.Write(target, []byte("x"), 0o600); err == nil {
		t.Error("no error")
	}

	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestWriteJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	if err := atomicfile.WriteJSON(path, map[string]int{"a": 1}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "{\n  \"a\": 1\n}\n" {
		t.Errorf("content = %q, %v", got, err)
	}
	if err := atomicfile.WriteJSON(path, func() {}); err == nil {
		t.Error("a function is no JSON")
	}
}

// What cannot be written to its end replaces nothing.
func TestStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	write := func(end error) error {
		return atomicfile.Stream(path, 0o640, func(w io.Writer) error {
			_, err := io.WriteString(w, "content")
			return errors.Join(err, end)
		})
	}

	if err := write(nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}

	full := errors.New("disk full")
	if err := write(full); !errors.Is(err, full) {
		t.Error(err)
	}
	got, err := os.ReadFile(path)
	entries, listErr := os.ReadDir(filepath.Dir(path))
	if err != nil || listErr != nil || string(got) != "old" || len(entries) != 1 {
		t.Errorf("%q, %v, %v, %v", got, err, entries, listErr)
	}
}

// What is no file is not replaced by one.
func TestStreamToNoFile(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{link, dir} {
		before, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		err = atomicfile.Stream(path, 0o640, func(io.Writer) error { return nil })
		after, statErr := os.Lstat(path)
		if !errors.Is(err, atomicfile.ErrNoFile) || statErr != nil || after.Mode() != before.Mode() {
			t.Errorf("%s: %v; it was %v and is %v, %v", path, err, before, after, statErr)
		}
	}
}
