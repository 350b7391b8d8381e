//go:build kernel

package layout

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Prepare makes the folders with the modes that programs with users of their own need, whatever the umask is, takes its
// own folder again, and refuses one that holds something else or is of another layout.
func TestPrepare(t *testing.T) {
	p := newPaths(t)
	t.Cleanup(func() {
		if err := os.RemoveAll(p.Run()); err != nil {
			t.Error(err)
		}
		_ = os.Remove(RunRoot) // it stays where another cluster is
	})
	defer unix.Umask(unix.Umask(0o077))

	for range 2 {
		if err := p.Prepare(); err != nil {
			t.Fatal(err)
		}
	}

	if data, err := DataOf(p.Run()); data != p.Data || err != nil {
		t.Errorf("the run folder is of %q, %v", data, err)
	}
	for dir, mode := range map[string]os.FileMode{p.Data: 0o700, p.Logs(): 0o700, p.Run(): 0o711} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s has mode %v, %v", dir, info.Mode(), err)
		}
	}

	if err := os.WriteFile(filepath.Join(p.Data, "version"), []byte("99\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Prepare(); err == nil || !strings.Contains(err.Error(), "version 99") {
		t.Errorf("a later layout: %v", err)
	}

	other := Paths{Data: t.TempDir()}
	if err := os.WriteFile(filepath.Join(other.Data, "letter"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := other.Prepare(); err == nil || !strings.Contains(err.Error(), "did not make") {
		t.Errorf("somebody's folder: %v", err)
	}

	if left, err := os.ReadDir(other.Data); err != nil || len(left) != 1 {
		t.Errorf("in somebody's folder are %v, %v", left, err)
	}
}
