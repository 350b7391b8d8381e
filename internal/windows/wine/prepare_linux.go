package wine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// lockFolder takes the folder's lock file, which the kernel releases when the process ends.
func lockFolder(dir string) (func(), error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			break
		}
	}

	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock %q: %w", dir, err), f.Close())
	}

	return func() { _ = f.Close() }, nil
}

// syncTree writes the file system that holds dir to disk, so that the rename that follows is never on disk without the
// content.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}

// readable lets everybody read the layer, whatever the umask was: containers do so under other uids.
func readable(base string) error {
	return filepath.WalkDir(base, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Type()&fs.ModeSymlink != 0 {
			return err
		}

		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return &fs.PathError{
				Op:   "lstat",
				Path: path,
				Err:  err,
			}
		}

		add := uint32(0o444)
		if e.IsDir() {
			add = 0o555
		}
		if st.Mode&add == add {
			return nil
		}

		return unix.Chmod(path, st.Mode&0o7777|add)
	})
}
