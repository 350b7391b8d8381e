//go:build kernel

package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/layout"
)

// A data folder is a volume of its own, as in a container: `down` removes what is in it and leaves the volume.
func TestDataFolderOnVolume(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	data := t.TempDir()
	if err := unix.Mount("volume", data, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(data, 0); err != nil {
			t.Errorf("the volume is gone: %v", err)
		}
	})
	paths := layout.Paths{Data: data}
	if err := paths.Prepare(); err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(data, "nodes", "win-1")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("inner", inner, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	if err := Down(t.Context(), paths, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("left in the volume: %v, %v", left, err)
	}
	if err := paths.Prepare(); err != nil {
		t.Errorf("the next cluster: %v", err)
	}
	if err := Down(t.Context(), paths, func(string) {}); err != nil {
		t.Errorf("the next cluster, taken down: %v", err)
	}
	if _, err := os.Stat(paths.Run()); !os.IsNotExist(err) {
		t.Errorf("its run folder is left: %v", err)
	}
}
