package preflight

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/v2/core/mount"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// scratch is a folder in which mounts of overlays are tried.
type scratch struct{ dir string }

func (s scratch) at(name string) string { return filepath.Join(s.dir, name) }

// overlay mounts an overlay with its upper layer in the folder, and unmounts it again.
func (s scratch) overlay(lower string) error {
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", s.at(lower), s.at("upper"), s.at("work"))
	err := unix.Mount("overlay", s.at("merged"), "overlay", 0, options)
	if errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w (the kernel has no overlayfs)", err)
	}
	if err != nil {
		return err
	}
	return unix.Unmount(s.at("merged"), 0)
}

// mapped does what overlay does, over a lower layer that shows the ids of a user namespace.
func (s scratch) mapped(user *os.File) error {
	if err := mount.IDMapMountWithAttrs(s.at("lower"), s.at("mapped"), int(user.Fd()), 0, 0); err != nil {
		return err
	}
	return s.overlay("mapped")
}

// userNamespace makes a user namespace, which is there as long as the file. In a chroot Linux refuses it, whatever its
// settings are.
func userNamespace() (*os.File, error) {
	const ids = "0:65536:1" // any range will do
	return mount.GetUsernsFD(ids, ids)
}

// tryMounts mounts an overlay with its upper layer in dir, and one over a lower layer with the ids of a user namespace,
// in a mount namespace that ends with the attempt. Without a user namespace the second is not tried.
func tryMounts(dir string, user *os.File) (overlay, idMapped error) {
	tmp, err := os.MkdirTemp(dir, ".mullion-try-")
	if err != nil {
		return err, nil
	}
	defer os.RemoveAll(tmp)

	s := scratch{tmp}
	for _, name := range []string{"lower", "upper", "work", "merged", "mapped"} {
		if err := os.Mkdir(s.at(name), 0o755); err != nil {
			return err, nil
		}
	}

	err = netns.OnThread(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
			return err
		}
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			return err
		}

		overlay = s.overlay("lower")
		if overlay == nil && user != nil {
			idMapped = s.mapped(user)
		}
		return nil
	})

	return errors.Join(overlay, err), idMapped
}
