package keeper

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenDevice opens the descriptor by which a file system is served.
func OpenDevice() (*os.File, error) {
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0) // not os.OpenFile, which would poll it
	if err != nil {
		return nil, &os.PathError{
			Op:   "open",
			Path: "/dev/fuse",
			Err:  err,
		}
	}
	return os.NewFile(uintptr(fd), "/dev/fuse"), nil
}

// MountOver mounts a file system, which is served by device, over an open folder. The kernel says that it is fuse.KIND.
func MountOver(folder, device *os.File, source, kind string) error {
	mount, err := MakeMount(device, source, kind)
	if err != nil {
		return err
	}
	defer mount.Close()
	return move(mount, folder)
}

// MountFilesOver is MountOver of a file system that has no links: the kernel follows none that is served all the same
// (Linux 5.14; before, who opens a file has to see to it).
func MountFilesOver(folder, device *os.File, source, kind string) error {
	mount, err := MakeMount(device, source, kind)
	if err != nil {
		return err
	}
	defer mount.Close()
	noLinks := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSYMFOLLOW}
	err = unix.MountSetattr(int(mount.Fd()), "", unix.AT_EMPTY_PATH, &noLinks)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("have no links followed: %w", err)
	}
	return move(mount, folder)
}

func move(mount, folder *os.File) error {
	return unix.MoveMount(int(mount.Fd()), "", int(folder.Fd()), "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// MakeMount makes a mount of what device serves and returns its root. It is attached nowhere yet, and ends with that
// file unless it is attached.
func MakeMount(device *os.File, source, kind string) (*os.File, error) {
	made, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(made)

	for _, o := range [][2]string{
		{"source", source},
		{"subtype", kind},
		{"fd", strconv.Itoa(int(device.Fd()))},
		{"rootmode", "40000"},
		{"user_id", "0"},
		{"group_id", "0"},
		{"max_read", strconv.Itoa(mostRead)},
	} {
		if err := unix.FsconfigSetString(made, o[0], o[1]); err != nil {
			return nil, fmt.Errorf("set %s: %w", o[0], err)
		}
	}

	if err := errors.Join(unix.FsconfigSetFlag(made, "allow_other"), unix.FsconfigCreate(made)); err != nil {
		return nil, err
	}
	mount, err := unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(mount), source), nil
}
