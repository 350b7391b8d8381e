package bindmount

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Of returns the id of the mount that an open file is on, as mountinfo has it, and whether the file is what is mounted.
func Of(f *os.File) (mount int, isRoot bool, err error) {
	var s unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &s); err != nil {
		return 0, false, fmt.Errorf("look at mount of %q: %w", f.Name(), err)
	}
	if s.Mask&unix.STATX_MNT_ID == 0 {
		return 0, false, errors.New("this Linux does not say what is mounted: it is older than 5.8")
	}
	//nolint:gosec // The kernel counts mounts by an int, and mountinfo has them so.
	return int(s.Mnt_id), s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, nil
}

// Open opens what the kernel lists as mounted at a path in folder, by O_PATH. Whoever writes in folder cannot lead it
// elsewhere: no link is followed there, and another mount is not opened. If the mount is not there, since it was moved,
// or another one lies over it, the error is fs.ErrNotExist.
func Open(folder string, mount int, at string) (*os.File, error) {
	name, err := filepath.Rel(folder, at)
	if err != nil {
		return nil, err
	}
	dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", folder, err)
	}
	defer unix.Close(dir)

	fd, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.EAGAIN):
		return nil, pathError("open", at, fs.ErrNotExist) // something else is there by now
	case err != nil:
		return nil, pathError("open", at, err)
	}

	f := os.NewFile(uintptr(fd), at)
	is, isRoot, err := Of(f)
	if err == nil && (is != mount || !isRoot) {
		err = pathError("open", at, fs.ErrNotExist)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return f, nil
}

// Detach takes away the mount that an open file is, and those in it, whatever the names that led to it lead to by now.
// Who has files of it open keeps them.
func Detach(f *os.File) error {
	if err := unix.Unmount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), unix.MNT_DETACH); err != nil {
		return pathError("unmount", f.Name(), err)
	}
	return nil
}

func pathError(op, path string, err error) error {
	return &os.PathError{
		Op:   op,
		Path: path,
		Err:  err,
	}
}
