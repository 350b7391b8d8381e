package buildcache

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrShared is the error of root's cache in a folder that others can change: what is in it would be in root's images.
var ErrShared = errors.New("others can change it")

// mostLinks bounds the links that lead to a folder, as Linux does.
const mostLinks = 40

// rootsFolder makes a folder that root alone can change, and returns its name without links. It and those that lead to
// it are root's, and nobody else writes to them; but in one with the sticky bit, as /tmp, others cannot replace what is
// root's. Each is opened in the one before, and looked at when it is open.
func rootsFolder(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	at, err := openRoots(unix.AT_FDCWD, "/", "/")
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(at) }()

	name, links := "/", 0
	for rest := strings.Split(dir, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		if part == "" || part == "." {
			continue
		}

		next, err := openRoots(at, part, filepath.Join(name, part))
		if errors.Is(err, unix.ENOTDIR) {
			var to string
			if to, err = readRoots(at, part, filepath.Join(name, part)); err != nil {
				return "", err
			}
			if links++; links > mostLinks {
				return "", fmt.Errorf("folder %q: %w", dir, unix.ELOOP)
			}

			rest = append(strings.Split(to, "/"), rest...)
			if part = "."; filepath.IsAbs(to) {
				part, name = "/", "/"
			}
			next, err = openRoots(at, part, name)
		}
		if err != nil {
			return "", err
		}

		_ = unix.Close(at)
		at, name = next, filepath.Join(name, part)
	}

	return name, nil
}

// openRoots opens a folder in another, which it makes if there is none, and refuses one that others can change.
func openRoots(at int, part, name string) (int, error) {
	const flags = unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_RDONLY | unix.O_CLOEXEC
	folder, err := unix.Openat(at, part, flags, 0)
	if errors.Is(err, unix.ENOENT) {
		if err := unix.Mkdirat(at, part, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
			return -1, fmt.Errorf("make folder %q: %w", name, err)
		}
		folder, err = unix.Openat(at, part, flags, 0)
	}
	if err != nil {
		return -1, fmt.Errorf("open folder %q: %w", name, err)
	}

	var s unix.Stat_t
	err = unix.Fstat(folder, &s)
	if err == nil && (s.Uid != 0 || (s.Mode&0o022 != 0 && s.Mode&unix.S_ISVTX == 0)) {
		err = ErrShared
	}
	if err != nil {
		_ = unix.Close(folder)
		return -1, fmt.Errorf("folder %q: %w", name, err)
	}

	return folder, nil
}

// readRoots reads a link in a folder. It is root's, or else where it leads is another's choice.
func readRoots(at int, part, name string) (string, error) {
	var s unix.Stat_t
	if err := unix.Fstatat(at, part, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", fmt.Errorf("folder %q: %w", name, err)
	}

	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFLNK:
		return "", fmt.Errorf("folder %q: %w", name, unix.ENOTDIR)
	case s.Uid != 0:
		return "", fmt.Errorf("folder %q: %w", name, ErrShared)
	}

	to := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(at, part, to)
	if err != nil {
		return "", fmt.Errorf("folder %q: %w", name, err)
	}

	return string(to[:n]), nil
}
