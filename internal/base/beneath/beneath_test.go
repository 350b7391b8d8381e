package beneath_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

func TestRead(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(outside, "secret"), []byte("x"), 0o600),
		os.WriteFile(filepath.Join(dir, "file"), []byte("12345"), 0o600),
		os.Symlink("file", filepath.Join(dir, "link")),
		os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, "out")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"file", "link"} {
		if got, err := beneath.ReadIn(dir, name, 5); err != nil || string(got) != "12345" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"pipe", "folder", "file"} { // four bytes of five
		if _, err := beneath.ReadIn(dir, name, 4); !errors.Is(err, beneath.ErrUnfit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := beneath.ReadIn(dir, "none", 4); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	for _, name := range []string{"out", "../" + filepath.Base(outside) + "/secret"} {
		if got, err := beneath.ReadIn(dir, name, 5); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestWrite(t *testing.T) {
	outside := t.TempDir()
	dir := filepath.Join(t.TempDir(), "new")
	write := func(name, text string) error {
		return beneath.Within(dir, func(root *os.Root) error { return beneath.Write(root, name, []byte(text), 0o640) })
	}
	if err := errors.Join(write("a/b/file", "old"), write("a/b/file", "new")); err != nil {
		t.Fatal(err)
	}
	if got, err := beneath.ReadIn(dir, "a/b/file", 10); err != nil || string(got) != "new" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"out/file", "../file"} {
		if err := write(name, "x"); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
