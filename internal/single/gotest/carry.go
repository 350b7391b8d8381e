package gotest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/beneath"
)

// owner is who has the files that the program writes: a user without rights, whose files are the container's user's
// there. Root's would be read-only.
const owner = 65534

// The most of a folder that is carried: a program that fills its folder without end is not followed.
const (
	mostFiles = 100_000
	mostDepth = 64
)

// version tells a file from what a program has made of it.
type version struct {
	size int64
	time time.Time
}

// begin makes the folders of the outputs in scratch, with what is there already.
func (c *Call) begin() error {
	c.given = map[string]version{}
	if err := give(c.scratch); err != nil {
		return err
	}

	for _, o := range c.outputs {
		if o.kind != folder {
			continue
		}
		into := filepath.Join(c.scratch, o.name)
		if err := os.Mkdir(into, 0o777); err != nil {
			return err
		}

		if err := give(into); err != nil {
			return err
		}
		if !o.isRead() {
			continue
		}
		if err := c.fill(o); err != nil {
			return fmt.Errorf("copy %q: %w", o.path, err)
		}
	}

	return nil
}

// give gives a folder or a file to the program. Others do not get to it: scratch is in a folder of root's.
func give(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	mode := os.FileMode(0o666)
	if info.IsDir() {
		mode = 0o777
	}
	return errors.Join(os.Chmod(path, mode), os.Lchown(path, owner, owner))
}

// fill copies the files of a folder for the program. One that is not there has none.
func (c *Call) fill(o output) error {
	from, err := c.open(o.path, false)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenRoot(filepath.Join(c.scratch, o.name))
	if err != nil {
		return err
	}

	defer to.Close()

	return each(from, func(name string, info fs.FileInfo) error {
		if err := copyFile(from, to, name, 0o666); err != nil {
			return err
		}
		if err := c.giveAll(o.name, name); err != nil {
			return err
		}

		copied, err := to.Stat(name)
		if err != nil {
			return err
		}
		c.given[filepath.Join(o.name, name)] = version{copied.Size(), copied.ModTime()}
		return nil
	})
}

// giveAll gives a file and the folders that it is in, below one of scratch.
func (c *Call) giveAll(top, name string) error {
	path := filepath.Join(c.scratch, top)
	for part := range strings.SplitSeq(name, "/") {
		path = filepath.Join(path, part)
		if err := give(path); err != nil {
			return err
		}
	}
	return nil
}

// Finish puts what the program has written in its place. It has ended, and nothing writes any more.
func (c *Call) Finish() error {
	if len(c.outputs) == 0 {
		return nil
	}
	from, err := os.OpenRoot(c.scratch)
	if err != nil {
		return err
	}
	defer from.Close()

	var errs []error
	for _, o := range c.outputs {
		if err := c.put(from, o); err != nil {
			errs = append(errs, fmt.Errorf("put what the tests wrote in %q: %w", o.path, err))
		}
	}

	return errors.Join(errs...)
}

// put puts an output in its place.
func (c *Call) put(scratch *os.Root, o output) error {
	if o.path == os.DevNull {
		return nil
	}
	if o.kind == file {
		return c.putFile(scratch, o)
	}

	from, err := scratch.OpenRoot(o.name)
	if err != nil {
		return err
	}
	defer from.Close()
	return each(from, func(name string, info fs.FileInfo) error {
		if c.given[filepath.Join(o.name, name)] == (version{info.Size(), info.ModTime()}) {
			return nil
		}
		to, err := c.open(o.path, true)
		if err != nil {
			return err
		}
		defer to.Close()
		return copyFile(from, to, name, 0o644)
	})
}

// open opens a folder of this machine, which it makes if that is asked for. Below a folder that containers write to,
// which may have put links in the place of its folders, nothing leads out of that one.
func (c *Call) open(path string, missing bool) (*os.Root, error) {
	base := path
	for _, folder := range c.written {
		if isBelow(path, folder) && len(folder) < len(base) {
			base = folder
		}
	}
	if base == path && missing {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return nil, err
		}
	}

	root, err := os.OpenRoot(base)
	if err != nil || base == path {
		return root, err
	}
	defer root.Close()

	below, err := filepath.Rel(base, path)
	if err == nil && missing {
		err = makeFolders(root, below)
	}
	if err != nil {
		return nil, err
	}

	return root.OpenRoot(below)
}

// putFile puts a file in its place. One that the program has not written is no error: it may have failed before.
func (c *Call) putFile(scratch *os.Root, o output) error {
	if _, err := scratch.Lstat(o.name); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	from, _, err := beneath.Open(scratch, o.name)
	if err != nil {
		return err
	}
	defer from.Close()
	dir, err := c.open(filepath.Dir(o.path), false)
	if err != nil {
		return err
	}

	defer dir.Close()
	return write(from, dir, filepath.Base(o.path), 0o644)
}

// each calls do for each regular file of a folder, with its path below it.
func each(root *os.Root, do func(name string, info fs.FileInfo) error) error {
	files := 0
	return fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; files > mostFiles || strings.Count(name, "/") > mostDepth {
			return fmt.Errorf("it has more than %d files, or more than %d folders in each other", mostFiles, mostDepth)
		}
		if !entry.Type().IsRegular() {
			return nil
		}

		info, err := entry.Info()
		if err != nil {
			return err
		}
		return do(name, info)
	})
}

// copyFile copies a regular file from a folder to the same place in another.
func copyFile(from, to *os.Root, name string, mode os.FileMode) error {
	in, _, err := beneath.Open(from, name)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := makeFolders(to, filepath.Dir(name)); err != nil {
		return err
	}
	return write(in, to, name, mode)
}

// makeFolders makes the folders that are missing, as their parents' owner.
func makeFolders(root *os.Root, path string) error {
	if path == "." {
		return nil
	}
	if _, err := root.Stat(path); err == nil {
		return nil
	}
	if err := makeFolders(root, filepath.Dir(path)); err != nil {
		return err
	}

	if err := root.Mkdir(path, 0o755); err != nil {
		return err
	}
	uid, gid, ok := ownerOf(root, filepath.Dir(path))
	if !ok {
		return nil
	}
	return root.Lchown(path, uid, gid)
}

// write writes a file of a folder. A new one belongs to the folder's owner.
func write(from io.Reader, folder *os.Root, name string, mode os.FileMode) error {
	_, missing := folder.Lstat(name)
	to, err := beneath.Create(folder, name, mode)
	if err != nil {
		return err
	}
	if uid, gid, ok := ownerOf(folder, filepath.Dir(name)); ok && errors.Is(missing, os.ErrNotExist) {
		err = to.Chown(uid, gid)
	}
	if err == nil {
		_, err = io.Copy(to, from)
	}
	return errors.Join(err, to.Close())
}

// ownerOf is whom a folder belongs to, if this process may give files away.
func ownerOf(root *os.Root, folder string) (uid, gid int, ok bool) {
	info, err := root.Stat(folder)
	if err != nil || os.Geteuid() != 0 {
		return 0, 0, false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}
