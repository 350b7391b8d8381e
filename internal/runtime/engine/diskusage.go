package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

const (
	// deepest is how many folders, one in the other, are measured. A name of Windows has 32,767 characters at most, and
	// what people make has some tens of folders.
	deepest = 1000
	// mostLinked is how many files of several names are remembered, so that each counts once.
	mostLinked = 100_000
	// blockBytes is the unit of st_blocks (stat(2)).
	blockBytes = 512
)

// DiskUsage returns the size of what the container has written to its C:, in bytes and inodes. Whoever nests folders
// deeper than Windows has names for counts as if all that lies on the disk were its own: so nobody hides there from a
// limit.
func (e *Engine) DiskUsage(ctx context.Context, id string) (bytes, inodes uint64, err error) {
	mounts, err := e.client.SnapshotService(e.opts.Snapshotter).Mounts(e.with(ctx), id)
	if err != nil {
		return 0, 0, fmt.Errorf("ask for snapshot of container %q: %w", id, err)
	}
	o, err := overlayOf(mounts)
	if err != nil {
		return 0, 0, fmt.Errorf("measure container %q: %w", id, err)
	}

	m := meter{linked: map[inode]bool{}}
	switch err := m.measure(ctx, o.upper); {
	case errors.Is(err, errDeep):
		return diskFull(o.upper)
	case err != nil:
		return 0, 0, fmt.Errorf("measure container %q: %w", id, err)
	}

	return m.bytes, m.inodes, nil
}

// errDeep says that folders lie deeper than is measured.
var errDeep = errors.New("folders are too deep")

// diskFull returns what the file system of a folder holds in all.
func diskFull(dir string) (bytes, inodes uint64, err error) {
	var all unix.Statfs_t
	if err := unix.Statfs(dir, &all); err != nil {
		return 0, 0, fmt.Errorf("ask for what the disk of %q holds: %w", dir, err)
	}
	return (all.Blocks - all.Bfree) * uint64(all.Frsize), all.Files - all.Ffree, nil
}

// inode is a file, whatever its names.
type inode struct{ dev, ino uint64 }

// meter adds up files.
type meter struct {
	bytes, inodes uint64
	linked        map[inode]bool
}

// measure adds a folder and all below it. It goes from folder to folder by descriptors: names may be longer than Linux
// takes, and what they lead to may change meanwhile. What goes away meanwhile does not count.
func (m *meter) measure(ctx context.Context, dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return &fs.PathError{
			Op:   "open",
			Path: dir,
			Err:  err,
		}
	}

	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return errors.Join(err, unix.Close(fd))
	}
	m.add(&st)
	return m.folder(ctx, fd, 1)
}

// folder adds what lies in an open folder, which it closes.
func (m *meter) folder(ctx context.Context, fd, depth int) error {
	dir := os.NewFile(uintptr(fd), "")
	defer dir.Close()
	if depth > deepest {
		return errDeep
	}

	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := dir.Readdirnames(512)
		for _, name := range names {
			if err := m.entry(ctx, fd, name, depth); err != nil {
				return err
			}
		}

		if errors.Is(err, io.EOF) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// entry adds one name of an open folder.
func (m *meter) entry(ctx context.Context, folder int, name string, depth int) error {
	var st unix.Stat_t
	err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}

	m.add(&st)
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	fd, err := unix.Openat(folder, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if gone(err) {
		return nil
	}

	if err != nil {
		return err
	}
	return m.folder(ctx, fd, depth+1)
}

// gone says that a name does not lead to what it did a moment ago.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// add counts a file once, however many names it has, as long as there are not too many of that kind.
func (m *meter) add(st *unix.Stat_t) {
	if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
		key := inode{dev: st.Dev, ino: st.Ino}
		if m.linked[key] {
			return
		}
		if len(m.linked) < mostLinked {
			m.linked[key] = true
		}
	}
	m.inodes++
	m.bytes += uint64(st.Blocks) * blockBytes
}
