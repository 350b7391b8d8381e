package emptydirs

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Measure counts what is in a folder, with one file open for each level of it. Links are not followed, and nothing is
// entered that is mounted there. It ends with ctx, and where the bound is exceeded.
func Measure(ctx context.Context, root *os.Root, name string, bound Bound) (Usage, error) {
	parent, err := root.Open(filepath.Dir(name))
	if err != nil {
		return Usage{}, err
	}
	defer parent.Close()
	m := meter{
		bound:  bound,
		stop:   ctx.Err,
		linked: map[inode]bool{},
	}
	err = m.folder(int(parent.Fd()), filepath.Base(name), 0, 0)
	return m.usage, err
}

type inode struct{ dev, ino uint64 }

type meter struct {
	bound  Bound
	stop   func() error
	usage  Usage
	linked map[inode]bool // files of several names that are counted
}

// folder counts what is in the folder that has the name in an open one. path is how long its own path is.
func (m *meter) folder(parent int, name string, depth, path int) error {
	fd, err := unix.Openat2(parent, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV,
	})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOTDIR) {
		return nil // gone meanwhile, or not the volume's
	}

	if err != nil {
		return err
	}
	folder := os.NewFile(uintptr(fd), name)
	defer folder.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}

	m.usage.Blocks += st.Blocks * blockSize
	for m.usage.Over == "" {
		if err := m.stop(); err != nil {
			return err
		}

		names, err := folder.Readdirnames(1000)
		for _, entry := range names {
			m.usage.Names++
			if m.usage.Over = m.bound.over(m.usage.Names, depth, path+len(entry)); m.usage.Over != "" {
				return nil
			}
			if err := m.entry(fd, entry, depth, path); err != nil {
				return err
			}
		}

		if err != nil {
			return nil // the end of the folder, or it is being removed
		}
	}

	return nil
}

func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func (m *meter) entry(folder int, name string, depth, path int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return ignoreGone(err)
	}
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFDIR {
		return m.folder(folder, name, depth+1, path+len(name)+1)
	}

	if st.Nlink > 1 {
		id := inode{st.Dev, st.Ino}
		if m.linked[id] {
			return nil
		}
		m.linked[id] = true
	}

	m.usage.Blocks += st.Blocks * blockSize
	if kind == unix.S_IFREG {
		m.usage.Bytes += room(st.Size, st.Blocks, st.Blksize)
	}
	return nil
}
