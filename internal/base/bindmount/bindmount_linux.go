package bindmount

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Over binds source, with what is mounted below it, over the open file or folder target, whatever the names of both
// lead to by now; O_PATH is enough for both. attributes are those of mount_setattr(2) (Linux 5.12), for example
// unix.MOUNT_ATTR_RDONLY, for the new mount and those below it. Mounts that are made in source later do not appear in
// it.
func Over(source *os.File, target int, attributes uint64) error {
	tree, err := unix.OpenTree(int(source.Fd()), "",
		unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("bind %q: %w", source.Name(), err)
	}
	defer unix.Close(tree)
	set := &unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, set); err != nil {
		return fmt.Errorf("bind %q: %w", source.Name(), err)
	}
	if err := unix.MoveMount(tree, "", target, "",
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH); err != nil {
		return fmt.Errorf("bind %q: %w", source.Name(), err)
	}
	return nil
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
