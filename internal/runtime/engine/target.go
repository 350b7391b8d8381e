package engine

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// drive is the folder of C: in a container's root file system.
const drive = "Files"

// ErrTarget says that a mount's place in the container cannot be used.
var ErrTarget = errors.New("unusable mount target")

// otherDrives is the folder in a container's root file system that has the folders of drives other than C:, by their
// letters. dosdevices has a link to each of those that a container has.
const (
	otherDrives = "drives"
	dosDevices  = "dosdevices"
)

// driveOf takes a drive's letter, in small, off a path with slashes.
func driveOf(p, winPath string) (letter byte, rest string, err error) {
	if len(p) < 2 || p[1] != ':' {
		return 'c', p, nil
	}
	letter = p[0] | 0x20
	if letter < 'c' || letter > 'z' {
		return 0, "", fmt.Errorf("%w %q: a container has the drive C, and others from D to Z", ErrTarget, winPath)
	}
	return letter, p[2:], nil
}

// splitTarget splits a Windows path in a container into its drive and its components: a drive letter may lead, slashes
// lean either way. A drive itself has no components; C: cannot be mounted over.
func splitTarget(winPath string) (letter byte, _ []string, err error) {
	letter, p, err := driveOf(strings.ReplaceAll(winPath, `\`, "/"), winPath)
	if err != nil {
		return 0, nil, err
	}

	var parts []string
	for part := range strings.SplitSeq(path.Clean("/"+p), "/") {
		if part == "" {
			continue
		}
		if strings.ContainsAny(part, ":*?\"<>|\x00") {
			return 0, nil, fmt.Errorf("%w %q: %q is no name of a Windows file", ErrTarget, winPath, part)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 && letter == 'c' {
		return 0, nil, fmt.Errorf("%w %q: it is the drive C itself, which is the image's", ErrTarget, winPath)
	}

	return letter, parts, nil
}

// target is a resolved place in a container: the path as the layers spell it, and how much of it is there already.
type target struct {
	letter byte // of the drive, in small
	parts  []string
	exists int  // number of leading parts that exist in the layers
	isDir  bool // kind of the last existing part
	// folders are, for the drive and for each leading part that is a folder, its folder in the topmost layer that has
	// it.
	folders []string
	// merged are, for a folder that exists, the folders of the layers that make it up, top first.
	merged []string
}

// root returns the folders of the drive in the container's root file system.
func (t target) root() []string {
	if t.letter == 'c' {
		return []string{drive}
	}
	return []string{otherDrives, string(t.letter)}
}

// Path returns the absolute path in the container's root file system.
func (t target) Path() string { return "/" + strings.Join(append(t.root(), t.parts...), "/") }

// resolveTarget finds winPath in layers, top first, as Windows would: without regard to case. It reads the layers as
// overlayfs does (whiteouts hide, opaque folders end the search) and follows no symbolic link: layers come from images,
// which are not trusted. A link on the way is an error.
func resolveTarget(layers []string, winPath string) (target, error) {
	letter, parts, err := splitTarget(winPath)
	if err != nil {
		return target{}, err
	}
	t := target{
		letter: letter,
		parts:  slices.Clone(parts),
		isDir:  true,
	}

	dirs := make([]string, len(layers))
	for i, l := range layers {
		dirs[i] = filepath.Join(append([]string{l}, t.root()...)...)
	}

	for _, dir := range dirs {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() {
			t.folders = []string{dir}
			break
		}
	}

	for i, part := range parts {
		name, below, isDir, err := lookup(dirs, part)
		if err != nil {
			return target{}, fmt.Errorf("resolve mount target %q: %w", winPath, err)
		}
		if name == "" {
			return t, nil
		}

		t.parts[i] = name
		t.exists = i + 1
		t.isDir = isDir
		if !isDir && i < len(parts)-1 {
			return target{}, fmt.Errorf("%w %q: %q is a file", ErrTarget, winPath, name)
		}
		if isDir {
			t.folders = append(t.folders, below[0])
		}
		dirs = below
	}

	if t.isDir {
		t.merged = slices.DeleteFunc(dirs, func(dir string) bool { return !isFolder(dir) })
	}
	return t, nil
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// lookup finds name in the merged folder made of dirs, top first. It returns the spelling found ("" if there is none)
// and, for a folder, the folders that make it up.
func lookup(dirs []string, name string) (found string, below []string, isDir bool, err error) {
	for _, dir := range dirs {
		entry, err := matchName(dir, name, found)
		if err != nil {
			return "", nil, false, err
		}

		if entry != nil {
			info, err := entry.Info()
			if err != nil {
				return "", nil, false, err
			}

			full := filepath.Join(dir, entry.Name())
			switch {
			case IsWhiteout(info):
				return found, below, isDir, nil
			case info.Mode()&os.ModeSymlink != 0:
				return "", nil, false, fmt.Errorf("%w: %q is a symbolic link", ErrTarget, entry.Name())
			case !info.IsDir():
				if found == "" {
					found = entry.Name()
				}
				return found, below, isDir, nil
			}

			found, isDir = entry.Name(), true
			below = append(below, full)
			if isOpaque(full) {
				return found, below, isDir, nil
			}
		}

		if isOpaque(dir) {
			return found, below, isDir, nil
		}
	}

	return found, below, isDir, nil
}

// matchName returns the entry of dir that is name: exactly found if something was found in a layer above (overlayfs
// merges by exact names), else exactly name, else the first that differs by case alone.
func matchName(dir, name, found string) (os.DirEntry, error) {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return nil, nil //nolint:nilerr // A layer without this folder has nothing to say about the name.
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}

	var folded os.DirEntry
	for _, e := range entries {
		switch {
		case found != "":
			if e.Name() == found {
				return e, nil
			}
		case e.Name() == name:
			return e, nil
		case folded == nil && strings.EqualFold(e.Name(), name):
			folded = e
		}
	}

	return folded, nil
}

// IsWhiteout reports whether an entry hides what is below it: a character device 0/0
// (https://docs.kernel.org/filesystems/overlayfs.html#whiteouts-and-opaque-directories).
func IsWhiteout(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.Mode()&os.ModeCharDevice != 0 && stat.Rdev == 0
}

// IsOpaque reports whether a folder that is open hides what is in those below it.
func IsOpaque(folder *os.File) bool {
	var value [1]byte
	n, err := unix.Fgetxattr(int(folder.Fd()), "trusted.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// isOpaque is IsOpaque for a folder of a layer by its path.
func isOpaque(dir string) bool {
	var value [1]byte
	n, err := unix.Lgetxattr(dir, "trusted.overlay.opaque", value[:])
	return err == nil && n == 1 && value[0] == 'y'
}

// makeTarget makes the place for a mount of a folder (dir) or a file in a fresh upper layer. New folders and files
// belong to owner, an id of the machine. Folders of lower layers on the way are made again with their owners and modes;
// overlayfs merges them.
func (e *Engine) makeTarget(upper string, t target, dir bool, owner int) error {
	if err := e.makeDrive(upper, t, owner); err != nil {
		return err
	}
	if t.exists == len(t.parts) {
		if t.isDir != dir {
			return fmt.Errorf("%w %q: a folder cannot be mounted on a file or a file on a folder", ErrTarget, t.Path())
		}
		return nil
	}

	root := t.root()
	at := filepath.Join(append([]string{upper}, root[:len(root)-1]...)...)
	parts := append(root[len(root)-1:], t.parts...)
	for i, part := range parts {
		at = filepath.Join(at, part)
		if i == len(parts)-1 && !dir {
			return makeFile(at, owner)
		}
		like := ""
		if i < len(t.folders) {
			like = t.folders[i]
		}

		if err := e.makeFolder(at, like, owner); err != nil {
			return err
		}
	}

	return nil
}

// makeFolder makes a folder of the upper layer with the access of like, a folder of a layer, unless it is there.
func (e *Engine) makeFolder(at, like string, owner int) error {
	err := os.Mkdir(at, 0o755)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err == nil {
		err = e.copyAccess(at, like, owner)
	}
	if err != nil {
		return fmt.Errorf("make mount target %q: %w", at, err)
	}
	return nil
}

// makeDrive makes the folder of a drive other than C:, and the link by which Wine finds it.
func (e *Engine) makeDrive(upper string, t target, owner int) error {
	if t.letter == 'c' {
		return nil
	}

	folder := filepath.Join(append([]string{upper}, t.root()...)...)
	administrator := int(e.diskID(0)) // whose the drives are, as in the system's layer
	err := errors.Join(e.makeFolder(filepath.Dir(folder), "", administrator),
		e.makeFolder(filepath.Join(upper, dosDevices), "", administrator))
	if err == nil {
		err = e.makeFolder(folder, "", owner)
	}
	if err != nil {
		return err
	}

	link := filepath.Join(upper, dosDevices, string(t.letter)+":")
	err = os.Symlink(filepath.Join("..", otherDrives, string(t.letter)), link)
	if err == nil {
		err = os.Lchown(link, administrator, administrator)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make drive %c: of a container: %w", t.letter, err)
	}

	return nil
}

// makeVolume makes a folder that an image says is written to (VOLUME), in a fresh upper layer, and gives it to owner
// with what is in it by the image's layers. It goes with the container.
func (e *Engine) makeVolume(upper string, t target, owner int) error {
	if t.exists == len(t.parts) && !t.isDir {
		return fmt.Errorf("%w %q: the image has a file there, and says that it is a volume", ErrTarget, t.Path())
	}
	whole := t
	if t.exists == len(t.parts) && len(t.parts) > 0 { // then it is made again, above the layers' own
		whole.exists--
	}

	if err := e.makeTarget(upper, whole, true, owner); err != nil {
		return err
	}
	at := filepath.Join(upper, t.Path())
	if err := os.Lchown(at, owner, owner); err != nil {
		return fmt.Errorf("give volume %q to the container's user: %w", at, err)
	}
	return nil
}

// copyAccess gives dir the owner and mode of like, a folder of a layer. If like is "", dir belongs to owner.
func (e *Engine) copyAccess(dir, like string, owner int) error {
	if like == "" {
		return os.Lchown(dir, owner, owner)
	}
	var stat unix.Stat_t
	if err := unix.Lstat(like, &stat); err != nil {
		return err
	}
	if err := os.Lchown(dir, int(e.diskID(stat.Uid)), int(e.diskID(stat.Gid))); err != nil {
		return err
	}
	return unix.Chmod(dir, stat.Mode&0o7777)
}

func makeFile(at string, owner int) error {
	f, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return fmt.Errorf("make mount target %q: %w", at, err)
	}
	defer f.Close()
	if err := f.Chown(owner, owner); err != nil {
		return fmt.Errorf("give mount target %q to the container's user: %w", at, err)
	}
	return nil
}
