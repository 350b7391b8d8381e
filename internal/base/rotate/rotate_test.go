package rotate_test

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/rotate"
)

// TestRotate: a log and its two earlier files have the last writes, each whole, and nobody else can read them.
func TestRotate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "log")
	f, err := rotate.Open(path, 10)
	if err != nil {
		t.Fatal(err)
	}

	for _, text := range []string{"lost 1\n", "old 2\n", "a 3\n", "b 4\n", "longer than the limit 5\n"} {
		if n, err := f.Write([]byte(text)); err != nil || n != len(text) {
			t.Fatalf("%d, %v", n, err)
		}
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if f, err = rotate.Open(path, 100); err != nil { // goes on where it was
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("6\n")); err != nil {
		t.Fatal(err)
	}

	defer f.Close()

	want := []string{"old 2\na 3\n", "b 4\n", "longer than the limit 5\n6\n"}
	for i, name := range rotate.Names(path) {
		got, err := os.ReadFile(name)
		if err != nil || string(got) != want[i] {
			t.Errorf("%s: %q, %v; want %q", filepath.Base(name), got, err, want[i])
		}
		if info, err := os.Stat(name); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}

	for range 2 {
		if err := rotate.Remove(path); err != nil {
			t.Error(err)
		}
	}

	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRotateAgain: when the files have been renamed, and the new one could not be opened, the next write makes it.
func TestRotateAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := rotate.Open(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	if _, err := f.Write([]byte("before 1\n")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}

	for range 100 {
		if _, err := f.Write([]byte("after 2\n")); err != nil {
			t.Fatal(err)
		}
	}

	for _, name := range rotate.Names(path) {
		if got, err := os.ReadFile(name); err != nil || string(got) != "after 2\n" {
			t.Errorf("%s: %.40q, %v", filepath.Base(name), got, err)
		}
	}
}

// TestShortWrite: of what does not fit on the disk nothing stays, so that the next write begins a line.
func TestShortWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := rotate.Open(path, 1000)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte("whole 1\n")); err != nil {
		t.Fatal(err)
	}

	signal.Ignore(unix.SIGXFSZ)
	defer signal.Reset(unix.SIGXFSZ)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 20, Max: before.Max}); err != nil {
		t.Fatal(err)
	}

	n, err := f.Write([]byte(strings.Repeat("x", 50) + "\n"))
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	if n != 0 || !errors.Is(err, unix.EFBIG) {
		t.Errorf("%d, %v", n, err)
	}

	if _, err := f.Write([]byte("whole 2\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "whole 1\nwhole 2\n" {
		t.Errorf("%q, %v", got, err)
	}
}
