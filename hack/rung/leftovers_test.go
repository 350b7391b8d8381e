package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster/layout"
)

// TestLeftovers: a test's cluster is left over when its supervisor is gone; a user's cluster never is.
func TestLeftovers(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	root := t.TempDir()
	dead, alive := filepath.Join(os.TempDir(), "TestDead1/001/data"), filepath.Join(os.TempDir(), "TestAlive1/001/data")
	for name, data := range map[string]string{"a": dead, "b": alive, "c": "/var/lib/mullion", "d": ""} {
		run := filepath.Join(root, name)
		if err := os.Mkdir(run, 0o700); err != nil {
			t.Fatal(err)
		}
		if data == "" {
			continue // made by a version that did not write down its data folder
		}

		for file, text := range map[string]string{layout.DataFile: data + "\n", layout.LockFile: ""} {
			if err := os.WriteFile(filepath.Join(run, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}

	lock, err := os.Open(filepath.Join(root, "b", layout.LockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()

	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if got := leftovers(root); !slices.Equal(got, []string{dead}) {
		t.Errorf("left over are %v", got)
	}
}
