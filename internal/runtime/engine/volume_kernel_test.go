//go:build kernel

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// TestLayerCopyHides: what a layer has removed is not copied, of files and of folders that it has begun anew, and the
// owner of each file is the container's user that the layer names.
func TestLayerCopyHides(t *testing.T) {
	dirs := layers(t,
		map[string]string{"Files/d/new/x": "1", "Files/d/kept": "2"},
		map[string]string{"Files/d/new/old": "3", "Files/d/gone": "4", "Files/d/goneToo/": "", "Files/d/below": "5"})
	top := filepath.Join(dirs[0], "Files/d")
	err := errors.Join(
		unix.Mknod(filepath.Join(top, "gone"), unix.S_IFCHR, 0),
		unix.Mknod(filepath.Join(top, "goneToo"), unix.S_IFCHR, 0),
		unix.Setxattr(filepath.Join(top, "new"), "trusted.overlay.opaque", []byte("y"), 0),
		os.Lchown(filepath.Join(top, "kept"), 1000, 1000))
	if err != nil {
		t.Fatal(err)
	}

	to := t.TempDir()
	root, err := os.OpenRoot(to)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	target, err := resolveTarget(dirs, `C:\d`)
	if err != nil {
		t.Fatal(err)
	}

	c := layerCopy{
		ctx: t.Context(),
		to:  root,
		id:  func(id uint32) uint32 { return 70000 + id },
	}
	if err := c.folder(target.merged, "."); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"new/": "", "new/x": "1", "kept": "2", "below": "5"}
	if diff := cmp.Diff(want, found(t, to)); diff != "" {
		t.Error(diff)
	}
	for name, owner := range map[string]uint32{"kept": 71000, "below": 70000, "new": 70000} {
		info, err := os.Stat(filepath.Join(to, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Sys().(*syscall.Stat_t).Uid; got != owner {
			t.Errorf("%s is %d's, want %d", name, got, owner)
		}
	}
	_, err = unix.Getxattr(filepath.Join(to, "new"), "trusted.overlay.opaque", make([]byte, 1))
	if !errors.Is(err, unix.ENODATA) {
		t.Errorf("the attribute of overlayfs was copied: %v", err)
	}
}
