package beneath

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// deepest is how many levels of folders are open at once.
const deepest = 100

// RemoveAll removes a file, or a folder with all that is in it, however deep that is: os.Root's RemoveAll has a file
// open for each level, and a program makes more levels than a process may have open files. Links are removed and not
// followed. One that is gone is no error. It goes on after an error, and returns the first.
func RemoveAll(folder *os.Root, name string) error {
	parent, err := folder.Open(filepath.Dir(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	if err := removeAt(int(parent.Fd()), filepath.Base(name)); err != nil {
		return fmt.Errorf("remove %q in %q: %w", name, folder.Name(), err)
	}

	return nil
}

// removeAt removes what has the name in the open folder parent.
func removeAt(parent int, name string) error {
	err := unix.Unlinkat(parent, name, 0)
	if !isFolder(err) {
		return ignoreGone(err)
	}
	top, err := openFolder(parent, name)
	if err != nil {
		return ignoreGone(err)
	}
	defer top.Close()

	r := remover{
		top:  int(top.Fd()),
		open: openFolder,
		stop: func() error { return nil },
	}
	r.emptyTop(top)
	r.note(unix.Unlinkat(parent, name, unix.AT_REMOVEDIR))

	return r.first
}

// Empty removes all that is in a folder, as RemoveAll does, and leaves the folder. It goes into nothing that is
// mounted there, and ends with ctx. It returns how many entries it has removed. A folder that is gone is no error; a
// link in its place is one.
func Empty(ctx context.Context, folder *os.Root, name string) (int, error) {
	parent, err := folder.Open(filepath.Dir(name))
	if err != nil {
		return 0, ignoreGone(err)
	}
	defer parent.Close()
	top, err := openFolder(int(parent.Fd()), filepath.Base(name))
	if err != nil {
		return 0, ignoreGone(err)
	}

	defer top.Close()

	r := remover{
		top:  int(top.Fd()),
		open: openOnSameMount,
		stop: ctx.Err,
	}
	r.emptyTop(top)
	if r.first != nil {
		return r.removed, fmt.Errorf("empty %q in %q: %w", name, folder.Name(), r.first)
	}

	return r.removed, nil
}

// remover empties the folder top.
type remover struct {
	top     int
	open    func(parent int, name string) (*os.File, error)
	stop    func() error // an error ends the work
	moved   int          // how many folders were moved into top since it was read
	names   int          // how many were moved in all
	removed int
	first   error
}

// emptyTop empties the folder, however deep it is.
func (r *remover) emptyTop(top *os.File) {
	r.empty(top, 1)
	// What was too deep lies in top now, under names of its own.
	for r.moved > 0 && r.first == nil {
		if _, err := top.Seek(0, io.SeekStart); err != nil {
			r.note(err)
			return
		}
		r.moved = 0
		r.empty(top, 1)
	}
}

func (r *remover) note(err error) {
	if err == nil {
		r.removed++
	}
	if r.first == nil {
		r.first = ignoreGone(err)
	}
}

// empty removes what is in an open folder of that depth below top.
func (r *remover) empty(folder *os.File, depth int) {
	for {
		if err := r.stop(); err != nil {
			r.note(err)
			return
		}
		names, err := folder.Readdirnames(1000)
		for _, name := range names {
			r.remove(int(folder.Fd()), name, depth)
		}

		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.note(err)
			}
			return
		}
	}
}

func (r *remover) remove(parent int, name string, depth int) {
	err := unix.Unlinkat(parent, name, 0)
	if !isFolder(err) {
		r.note(err)
		return
	}
	if depth == deepest {
		r.move(parent, name)
		return
	}

	folder, err := r.open(parent, name)
	if err != nil {
		r.note(err)
		return
	}
	r.empty(folder, depth+1)
	_ = folder.Close()
	r.note(unix.Unlinkat(parent, name, unix.AT_REMOVEDIR))
}

// move moves a folder into top. It is found there at the next reading, after a crash too.
func (r *remover) move(parent int, name string) {
	for {
		r.names++
		err := unix.Renameat2(parent, name, r.top, fmt.Sprintf("deep-%d", r.names), unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EEXIST) {
			if err != nil {
				r.note(err)
			}
			r.moved++
			return
		}
	}
}

func openFolder(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// openOnSameMount is openFolder for a folder on which nothing is mounted.
func openOnSameMount(parent int, name string) (*os.File, error) {
	fd, err := unix.Openat2(parent, name, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// isFolder reports whether unlink failed because the name is a folder's (EISDIR on Linux, unlink(2)).
func isFolder(err error) bool { return errors.Is(err, unix.EISDIR) }

func ignoreGone(err error) error {
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}
