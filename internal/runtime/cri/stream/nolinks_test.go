package stream

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestLogsFollowNoLinks: a pod that may write to the folders of logs cannot have the keeper write elsewhere.
func TestLogsFollowNoLinks(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir, outside := t.TempDir(), t.TempDir()
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}

	for name, to := range map[string]string{"folder": outside, "0.log": victim, "new.log": filepath.Join(outside, "x")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.Mkfifo(filepath.Join(dir, "fifo.log"), 0o666); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]error{
		"0.log": unix.ELOOP, "new.log": unix.ELOOP, "folder/0.log": unix.ELOOP, "folder/new/0.log": unix.ELOOP,
		"fifo.log": unix.ENXIO,
	} {
		if l, err := openLog(filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, l, err, want)
		}
	}

	if err := MakeLogFolder(filepath.Join(dir, "folder/new")); !errors.Is(err, unix.ELOOP) {
		t.Errorf("a folder over a link: %v", err)
	}
	l, err := openLog(filepath.Join(dir, "pod/container/0.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.close()
	// The kubelet rotates; somebody puts a link in the place of the log.
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		t.Fatal(err)
	}

	if err := os.Symlink(victim, l.path); err != nil {
		t.Fatal(err)
	}
	if err := l.reopen(); !errors.Is(err, unix.ELOOP) {
		t.Errorf("reopen over a link: %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside: %v, %v", entries, err)
	}
}
