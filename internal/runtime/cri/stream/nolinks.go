package stream

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Logs lie in folders of a Windows host that pods may have mounted and write to, and are opened by root on the machine:
// a link in a log's path, which was free of links when it was found, was put there to lead elsewhere.

// openat2 opens name, from the folder dir if it is relative, and follows no link anywhere.
func openat2(dir int, name string, flags, mode uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_CLOEXEC,
		Mode:    mode,
		Resolve: unix.RESOLVE_NO_SYMLINKS,
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// openFolder opens a folder by its absolute path; it and those above it are made if they are not there.
func openFolder(path string) (int, error) {
	const flags = unix.O_PATH | unix.O_DIRECTORY
	fd, err := openat2(unix.AT_FDCWD, path, flags, 0)
	if !errors.Is(err, unix.ENOENT) || path == "/" {
		return fd, err
	}
	above, err := openFolder(filepath.Dir(path))
	if err != nil {
		return -1, err
	}

	defer unix.Close(above)
	name := filepath.Base(path)
	if err := unix.Mkdirat(above, name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	return openat2(above, name, flags, 0)
}

// MakeLogFolder makes the folder of logs at an absolute path, which must hold no link.
func MakeLogFolder(path string) error {
	fd, err := openFolder(path)
	if err != nil {
		return fmt.Errorf("make log folder %q: %w", path, err)
	}
	return unix.Close(fd)
}

// openLogFile opens a log at an absolute path, which must hold no link, to add to it. The folder and the file are made
// if they are not there. Who may come so far may read it: agents that run as pods mount the folders of logs, whose
// modes are the kubelet's to set (winnode, openLogs).
func openLogFile(path string) (*os.File, error) {
	dir, err := openFolder(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("make folder of log %q: %w", path, err)
	}
	defer unix.Close(dir)
	// A FIFO without a reader, which would keep us waiting, is an error with O_NONBLOCK.
	fd, err := openat2(dir, filepath.Base(path),
		unix.O_WRONLY|unix.O_APPEND|unix.O_CREAT|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log %q: %w", path, err)
	}

	file := os.NewFile(uintptr(fd), path)
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("it is no regular file but %s", info.Mode().Type())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open log %q: %w", path, err), file.Close())
	}

	return file, nil
}
