package wine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// UnixPath maps a Windows path to a path below drive, the Unix folder that is C:. Components are found without regard
// to case, with / and \ alike; the letter C: and the prefix \\?\ are optional. Components that do not exist keep their
// names as given, so that a file can be created at the result. Symbolic links are followed inside the drive, as Windows
// follows them, and refused if they lead out of it; the result holds no link. If others can write to the drive at the
// same time, open the result with RESOLVE_NO_SYMLINKS.
func UnixPath(drive, winPath string) (string, error) {
	path, err := unixPath(drive, winPath)
	if err != nil {
		return "", fmt.Errorf("map windows path %q: %w", winPath, err)
	}
	return path, nil
}

func unixPath(drive, winPath string) (string, error) {
	parts, err := splitWindows(winPath)
	if err != nil {
		return "", err
	}
	t, err := openDrive(drive)
	if err != nil {
		return "", err
	}
	defer unix.Close(t.root)

	p, err := t.find(parts)
	if err != nil {
		return "", err
	}
	defer unix.Close(p.fd)

	return filepath.Join(p.drive, filepath.Join(p.parts...), filepath.Join(p.missing...)), nil
}

// OpenSource opens a file or folder of drive by its Windows path, to be mounted: the file has O_PATH. A missing one is
// made, as a folder that every user may write to. Names and links are as in UnixPath, but whoever changes the drive
// meanwhile cannot lead it elsewhere: each name is opened in the folder before it, no link is followed by the kernel,
// and what was opened is what is returned.
//
// A path that begins in a volume never leads out of that volume. patterns say where volumes are, the first that matches
// counts: paths below the drive in which * is any name. The way to a volume may have links, since only the node can
// write there; it may lead to what is mounted for the host, an SMB share or the volume of a disk, which is the volume
// then.
func OpenSource(drive, winPath string, patterns []string, mounted Mounted) (*os.File, error) {
	file, err := openSource(drive, winPath, patterns, mounted)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", winPath, err)
	}
	return file, nil
}

func openSource(drive, winPath string, patterns []string, mounted Mounted) (*os.File, error) {
	parts, err := splitWindows(winPath)
	if err != nil {
		return nil, err
	}
	t, err := openDrive(drive)
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.root)

	t.mounted = mounted
	if n := volumeRoot(parts, patterns); n > 0 {
		p, err := t.open(parts[:n])
		if err != nil {
			return nil, err
		}
		defer unix.Close(p.fd)
		t = tree{root: p.fd, bound: bound{
			drive: p.drive,
			parts: p.parts,
			asked: parts[:n],
		}}

		parts = parts[n:]
	}

	p, err := t.open(parts)
	if err != nil {
		return nil, err
	}

	return os.NewFile(uintptr(p.fd), filepath.Join(p.drive, filepath.Join(t.parts...), filepath.Join(p.parts...))), nil
}

// OpenExisting is OpenSource of a file or folder that is there: a missing one is fs.ErrNotExist.
func OpenExisting(drive, winPath string, mounted Mounted) (*os.File, error) {
	file, err := openExisting(drive, winPath, mounted)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", winPath, err)
	}
	return file, nil
}

func openExisting(drive, winPath string, mounted Mounted) (*os.File, error) {
	parts, err := splitWindows(winPath)
	if err != nil {
		return nil, err
	}
	t, err := openDrive(drive)
	if err != nil {
		return nil, err
	}
	defer unix.Close(t.root)

	t.mounted = mounted
	p, err := t.find(parts)
	if err != nil {
		return nil, err
	}
	if len(p.missing) > 0 {
		return nil, errors.Join(fs.ErrNotExist, unix.Close(p.fd))
	}

	return os.NewFile(uintptr(p.fd), filepath.Join(p.drive, filepath.Join(p.parts...))), nil
}

// OpenDevices opens a prefix's dosdevices. The prefix's programs may write there, and put a link in its place.
func OpenDevices(prefix string) (*os.Root, error) {
	root, err := os.OpenRoot(prefix)
	if err != nil {
		return nil, err
	}
	defer root.Close()

	info, err := root.Lstat("dosdevices")
	if err == nil && !info.IsDir() {
		err = errors.New("it is no folder")
	}
	if err != nil {
		return nil, fmt.Errorf("open the drives of %q: %w", prefix, err)
	}

	return root.OpenRoot("dosdevices") // a link that was put there since leads no further than the prefix
}

// tree is an open folder that paths are resolved in.
type tree struct {
	bound

	root int
}

// place is what a path leads to.
type place struct {
	// fd is the last of the parts that exist; its owner closes it.
	fd int
	// parts lead there from the tree's root, as they are on disk and without a link; missing are those after them.
	parts, missing []string
	// drive is the folder that the tree's bound begins in.
	drive string
	// links were followed.
	links int
}

// openDrive opens the folder of a drive; the caller closes its root.
func openDrive(drive string) (tree, error) {
	real, err := filepath.EvalSymlinks(drive)
	if err != nil {
		return tree{}, err
	}
	if real, err = filepath.Abs(real); err != nil {
		return tree{}, err
	}

	fd, err := unix.Open(real, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return tree{}, &os.PathError{
			Op:   "open",
			Path: real,
			Err:  err,
		}
	}

	return tree{bound: bound{drive: real}, root: fd}, nil
}

// find resolves parts. At each link it begins again at the root, with the link's target in the place of what led to it.
func (t tree) find(parts []string) (place, error) {
	for links := 0; links <= maxLinks; links++ {
		p, next, err := t.walk(parts)
		if err != nil {
			return place{}, err
		}
		if next == nil {
			p.links, p.drive = links, t.drive
			return p, nil
		}

		parts = next.parts
		if next.root != "" {
			if t, err = openDrive(next.root); err != nil {
				return place{}, err
			}
			defer unix.Close(t.root) // once: no link leads out of there
		}
	}

	return place{}, errors.New("too many symbolic links")
}

// way is what a link leads to: parts from the tree's root, or from another folder.
type way struct {
	parts []string
	root  string
}

// walk resolves parts up to the first link; next is then the way to go on with.
func (t tree) walk(parts []string) (p place, next *way, err error) {
	at, err := unix.FcntlInt(uintptr(t.root), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return place{}, nil, err
	}

	done := make([]string, 0, len(parts))
	for i, part := range parts {
		name, fd, err := openEntry(at, part)
		if errors.Is(err, fs.ErrNotExist) {
			return place{
				fd:      at,
				parts:   done,
				missing: parts[i:],
			}, nil, nil
		}

		_ = unix.Close(at)
		if err != nil {
			return place{}, nil, fmt.Errorf("look at %q: %w", part, err)
		}

		text, isLink, err := readLink(fd)
		if err == nil && isLink {
			_ = unix.Close(fd)
			target, root, err := t.follow(done, text)
			if err != nil {
				return place{}, nil, fmt.Errorf("follow %q: %w", part, err)
			}
			return place{}, &way{slices.Concat(target, parts[i+1:]), root}, nil
		}

		if err != nil {
			return place{}, nil, errors.Join(fmt.Errorf("read link %q: %w", part, err), unix.Close(fd))
		}
		at, done = fd, append(done, name)
	}

	return place{fd: at, parts: done}, nil, nil
}

// maxTries bounds how often a path is looked at: each look makes one folder that is missing, and somebody may change it
// meanwhile.
const maxTries = 100

// open finds a file as find does, and makes it if it is missing. The target of a link is not made: on Windows, too, the
// link is in the way.
func (t tree) open(parts []string) (place, error) {
	var last error
	for range maxTries {
		p, err := t.find(parts)
		if err != nil || len(p.missing) == 0 {
			return p, err
		}

		if p.links > 0 {
			// Perhaps the link was replaced and its target removed meanwhile, as the kubelet does with ConfigMaps.
			last = fmt.Errorf("find %q, to which a symbolic link leads: %w", p.missing[0], fs.ErrNotExist)
		} else {
			last = p.make()
		}

		_ = unix.Close(p.fd)
		if last != nil && !errors.Is(last, fs.ErrExist) && !errors.Is(last, fs.ErrNotExist) {
			break
		}
	}
	if last == nil {
		last = errors.New("it is removed as soon as it is made")
	}

	return place{}, last
}

// make makes the first of the missing folders. The last of them is for every user.
func (p place) make() error {
	name := p.missing[0]
	if err := unix.Mkdirat(p.fd, name, 0o755); err != nil {
		return &os.PathError{
			Op:   "make folder",
			Path: name,
			Err:  err,
		}
	}

	if len(p.missing) > 1 {
		return nil
	}

	fd, err := openat(p.fd, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return &os.PathError{
			Op:   "open",
			Path: name,
			Err:  err,
		}
	}
	defer unix.Close(fd)

	return unix.Fchmod(fd, 0o777) // whatever the umask is
}

// openat opens an entry of a folder; a link is not followed.
func openat(dir int, name string, flags uint64) (int, error) {
	how := unix.OpenHow{
		Flags:   flags | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// mostNames is how many names of a folder are read at once: a container may make as many as there is room for.
const mostNames = 1024

// openEntry opens an entry of a folder by O_PATH: name, or else the first that differs by case alone. It returns the
// name on disk.
func openEntry(dir int, name string) (string, int, error) {
	fd, err := openat(dir, name, unix.O_PATH)
	if !errors.Is(err, unix.ENOENT) {
		return name, fd, err
	}
	list, err := openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return "", -1, err
	}

	folder := os.NewFile(uintptr(list), name)
	defer folder.Close()

	for {
		names, err := folder.Readdirnames(mostNames)
		for _, n := range names {
			if !strings.EqualFold(n, name) {
				continue
			}
			if fd, err := openat(dir, n, unix.O_PATH); !errors.Is(err, unix.ENOENT) {
				return n, fd, err
			}
		}

		if errors.Is(err, io.EOF) {
			err = unix.ENOENT
		}
		if err != nil {
			return "", -1, err
		}
	}
}

// readLink returns the text of an open link.
func readLink(fd int) (text string, isLink bool, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return "", false, err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFLNK {
		return "", false, nil
	}

	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", false, err
	}
	if n > unix.PathMax {
		return "", false, unix.ENAMETOOLONG
	}

	return string(buf[:n]), true, nil
}
