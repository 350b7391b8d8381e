package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepOwner gives a copy the owner and the permissions of what it is of.
func (d disk) keepOwner(source, target string) error {
	info, err := d.root.Lstat(source)
	if err != nil {
		return err
	}
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		if err := d.root.Lchown(target, int(stat.Uid), int(stat.Gid)); err != nil {
			return err
		}
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return nil
	}
	return d.root.Chmod(target, info.Mode())
}

// capacity returns how much fits below a folder.
func capacity(folder string) (int64, error) {
	var stat unix.Statfs_t
	err := unix.Statfs(folder, &stat)
	return int64(stat.Bavail) * stat.Bsize, err // no disk has as many bytes
}

// publish mounts a volume's folder at target. The kubelet asks again if it has not heard the answer.
func publish(folder, target string, readOnly bool) error {
	if err := os.MkdirAll(target, 0o750); err != nil {
		return err
	}
	if is, err := mounted(target); err != nil || is {
		return err
	}
	if err := unix.Mount(folder, target, "", unix.MS_BIND, ""); err != nil || !readOnly {
		return err
	}
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, "")
}

// unpublish takes a volume away from target.
func unpublish(target string) error {
	is, err := mounted(target)
	if err != nil {
		return err
	}
	if is {
		if err := unix.Unmount(target, unix.UMOUNT_NOFOLLOW); err != nil {
			return err
		}
	}
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// mounted reports whether something is mounted at a path.
func mounted(target string) (bool, error) {
	all, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(string(all)) {
		if f := strings.Fields(line); len(f) > 4 && f[4] == target {
			return true, nil
		}
	}
	return false, nil
}
