//go:build kernel

package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// A container's own files are on overlayfs, where a cluster cannot be; a folder on a volume can.
func TestDataFolderOnOverlay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	merged := filepath.Join(dir, "merged")
	options := "lowerdir=" + filepath.Join(dir, "lower") + ",upperdir=" + filepath.Join(dir, "upper") + ",workdir=" + filepath.Join(dir, "work")
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(merged, 0); err != nil {
			t.Error(err)
		}
	})
	err := holdsOverlays(filepath.Join(merged, "not", "there", "yet"))
	if err == nil || !strings.Contains(err.Error(), "overlayfs") {
		t.Errorf("on overlayfs: %v", err)
	}
	if err := holdsOverlays(filepath.Join(dir, "lower", "data")); err != nil {
		t.Errorf("beside it: %v", err)
	}
}

// A data folder on a volume of its own, as in a container: `down` takes away what is in it, and leaves the volume.
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
	paths := Paths{Data: data}
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
}
