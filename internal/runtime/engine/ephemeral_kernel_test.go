//go:build kernel

package engine

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEphemeralStartsAgain: a container whose start failed after its root was mounted can be started once more, also if
// its layer need not reach the disk.
func TestEphemeralStartsAgain(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"lower", "fs", "work", "root"} {
		if err := os.Mkdir(at(name), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	o := overlay{
		upper: at("fs"),
		work:  at("work"),
		lower: []string{at("lower")},
		rest:  []string{volatile},
	}
	start := func() error {
		options := "lowerdir=" + o.lower[0] + ",upperdir=" + o.upper + ",workdir=" + o.work + "," + o.rest[0]
		if err := unix.Mount("overlay", at("root"), "overlay", 0, options); err != nil {
			return err
		}
		return unix.Unmount(at("root"), 0)
	}

	if err := o.mountAgain(); err != nil {
		t.Fatalf("before the first mount: %v", err)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil {
		t.Fatal("the kernel mounts a volatile overlay twice, so the mark need not be taken away")
	}
	if err := o.mountAgain(); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Errorf("the second start: %v", err)
	}
}

// TestLastingKeepsItsMark: the layer of a container that outlasts the machine's start is not taken for whole where the
// kernel says that it may not be.
func TestLastingKeepsItsMark(t *testing.T) {
	work := t.TempDir()
	mark := filepath.Join(work, "work", "incompat", volatile)
	if err := os.MkdirAll(mark, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (overlay{work: work}).mountAgain(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(mark); err != nil {
		t.Error(err)
	}
}
