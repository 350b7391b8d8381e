package bindmount

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Over binds source, with what is mounted below it, over the open file or folder target, whatever the names of both
// lead to by now; O_PATH is enough for both. attributes are those of mount_setattr(2) (Linux 5.12), for example
// unix.MOUNT_ATTR_RDONLY, for the new mount and those below it. Mounts that are made in source later do not appear in
// it.
func Over(source *os.File, target int, attributes uint64) error {
	_, err := Mapped(source, target, attributes, nil)
	return err
}

// Mapped is Over with the ids that a user namespace maps (mount_setattr(2), ID-mapped mounts), unless users is nil.
// What is mounted below source is mapped if all of it can be, and source alone otherwise. mapped is false if its file
// system knows no such mounts.
func Mapped(source *os.File, target int, attributes uint64, users *os.File) (mapped bool, err error) {
	if mapped, err = bind(source, target, unix.AT_RECURSIVE, attributes, users); err != nil {
		err = fmt.Errorf("bind %q: %w", source.Name(), err)
	}
	return mapped, err
}

// Single is Over without what is mounted below source.
func Single(source *os.File, target int, attributes uint64) error {
	if _, err := bind(source, target, 0, attributes, nil); err != nil {
		return fmt.Errorf("bind %q: %w", source.Name(), err)
	}
	return nil
}

// bind binds a tree of mounts, with AT_RECURSIVE, or one of them.
func bind(source *os.File, target int, below uint, attributes uint64, users *os.File) (mapped bool, err error) {
	tree, err := unix.OpenTree(int(source.Fd()), "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|below)
	if err != nil {
		return false, err
	}
	defer unix.Close(tree)
	set := &unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|below, set); err != nil {
		return false, err
	}

	if users != nil {
		if mapped, err = mapIDs(tree, users); err != nil {
			return false, fmt.Errorf("map ids: %w", err)
		}
	}

	return mapped, unix.MoveMount(tree, "", target, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// mapIDs gives a tree of mounts the ids of a user namespace.
func mapIDs(tree int, users *os.File) (bool, error) {
	set := &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_IDMAP, Userns_fd: uint64(users.Fd())}
	var err error
	for _, below := range []uint{unix.AT_RECURSIVE, 0} {
		err = unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|below, set)
		if !errors.Is(err, unix.EINVAL) {
			return err == nil, err
		}
	}
	return false, nil
}

// PathOver is Over for a source that nobody else can exchange.
func PathOver(source string, target int, attributes uint64) error {
	file, err := os.OpenFile(source, unix.O_PATH, 0)
	if err != nil {
		return fmt.Errorf("bind %q: %w", source, err)
	}
	defer file.Close()
	return Over(file, target, attributes)
}
