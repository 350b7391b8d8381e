package engine

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// The size of a working folder: an environment, and a line for each program that is run in the container. It is memory:
// on the machine's disk a container could write without end where no limit of Kubernetes counts it.
const (
	workDirSize  = 4 << 20
	workDirFiles = 1024
)

// MakeWorkDir mounts a small file system in memory at dir. What a container writes there counts against its memory
// limit. It is there until RemoveWorkDir or a reboot.
func (*Engine) MakeWorkDir(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=755,size=%d,nr_inodes=%d", workDirSize, workDirFiles)
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, options); err != nil {
		return fmt.Errorf("mount tmpfs at %q: %w", dir, err)
	}
	return nil
}

// giveWorkDir gives a container's user its working folder.
func (e *Engine) giveWorkDir(c Container) error {
	if c.WorkDir == "" {
		return nil
	}
	owner := int(e.owner(c))
	if err := os.Lchown(c.WorkDir, owner, owner); err != nil {
		return fmt.Errorf("give working folder to the container's user: %w", err)
	}
	return nil
}

// RemoveWorkDir unmounts and removes dir. A folder that is not there, or not mounted, is no error.
func (*Engine) RemoveWorkDir(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
		return fmt.Errorf("unmount %q: %w", dir, err)
	}
	return os.RemoveAll(dir)
}
