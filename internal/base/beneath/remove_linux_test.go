package beneath_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/beneath"
)

// deep makes so many levels of folders in dir, each with a file and a link, as a program does that never goes by a
// whole path.
func deep(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := unix.Open(dir, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}

	for i := range levels {
		name := "d" + strconv.Itoa(i%3)
		if err := errors.Join(unix.Mkdirat(at, name, 0o700), unix.Symlinkat("/", at, "link")); err != nil {
			t.Fatal(err)
		}
		next, err := unix.Openat(at, name, unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}

		_ = unix.Close(at)
		at = next
	}

	_ = unix.Close(at)
}

func TestRemoveAll(t *testing.T) {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 256, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()

	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	outside := filepath.Join(t.TempDir(), "kept")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for name, make := range map[string]func(at string) error{
		"nothing":  func(string) error { return nil },
		"a file":   func(at string) error { return os.WriteFile(at, nil, 0o600) },
		"a link":   func(at string) error { return os.Symlink(filepath.Dir(outside), at) },
		"a folder": func(at string) error { return os.Mkdir(at, 0o700) },
		"many files": func(at string) error {
			err := os.Mkdir(at, 0o700)
			for i := range 2500 {
				err = errors.Join(err, os.WriteFile(filepath.Join(at, strconv.Itoa(i)), nil, 0o600))
			}
			return err
		},
		"deep folders": func(at string) error {
			err := os.Mkdir(at, 0o700)
			deep(t, at, 2500)
			return errors.Join(err, os.Mkdir(filepath.Join(at, "deep-1"), 0o700), // a name that is wanted
				os.Symlink(filepath.Dir(outside), filepath.Join(at, "out")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.Mkdir(filepath.Join(dir, "in"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := make(filepath.Join(dir, "in", "it")); err != nil {
				t.Fatal(err)
			}
			if err := beneath.RemoveAll(root, "in/it"); err != nil {
				t.Error(err)
			}

			if _, err := os.Lstat(filepath.Join(dir, "in", "it")); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			if err := os.Remove(filepath.Join(dir, "in")); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(outside); err != nil {
				t.Errorf("a link was followed: %v", err)
			}
		})
	}

	if err := beneath.RemoveAll(root, "../x"); err == nil {
		t.Error("a name outside of the folder was taken")
	}
}

func TestEmpty(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()

	at := filepath.Join(dir, "pod", "volume")
	outside := filepath.Join(dir, "kept")
	err = errors.Join(os.MkdirAll(at, 0o700), os.WriteFile(outside, nil, 0o600),
		os.Symlink(dir, filepath.Join(at, `..\v`)), os.WriteFile(filepath.Join(at, "a*b\xff"), nil, 0o600),
		os.Mkdir(filepath.Join(at, "locked"), 0), os.Symlink("volume", filepath.Join(dir, "pod", "link")))
	if err != nil {
		t.Fatal(err)
	}

	deep(t, at, 300)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := beneath.Empty(stopped, root, "pod/volume"); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of its context: %v", err)
	}
	if _, err := beneath.Empty(t.Context(), root, "pod/link"); err == nil {
		t.Error("a link was followed")
	}

	if left, err := os.ReadDir(at); err != nil || len(left) != 5 {
		t.Errorf("it went on: %v, %v", left, err)
	}
	if n, err := beneath.Empty(t.Context(), root, "pod/volume"); err != nil || n != 3+600 {
		t.Errorf("%d entries, %v; want %d", n, err, 3+600)
	}
	if left, err := os.ReadDir(at); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}

	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	if n, err := beneath.Empty(t.Context(), root, "pod/none"); err != nil || n != 0 {
		t.Errorf("a folder that is gone: %d, %v", n, err)
	}
	if _, err := beneath.Empty(t.Context(), root, "../x"); err == nil {
		t.Error("a name outside of the folder was taken")
	}
}
