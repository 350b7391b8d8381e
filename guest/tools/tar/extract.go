package tar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// unpacker writes entries beneath folders, and no further.
type unpacker struct {
	*run
	root *os.Root
	// folders are those of the archive; they get their times at the end, since each new file changes its folder's.
	folders []folder
}

type folder struct {
	name string
	when time.Time
}

func (r *run) unpacker() (*unpacker, error) {
	dir := r.dir
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, says("could not chdir to '%s'", dir)
	}
	return &unpacker{run: r, root: root}, nil
}

func (u *unpacker) close() {
	for _, f := range slices.Backward(u.folders) {
		_ = u.root.Chtimes(f.name, f.when, f.when) // it may have been moved since
	}
	_ = u.root.Close()
}

// take unpacks one entry.
func (u *unpacker) take(e entry) error {
	name := u.shorten(e.name)
	if name == "" {
		return nil
	}
	if climbs(name) {
		return says("Path contains '..'")
	}

	name = legal(strings.TrimRight(path.Clean(u.relative(name)), "/"))
	if name == "" || name == "." {
		return nil
	}
	if u.verbose {
		fmt.Fprintf(u.Err, "x %s\n", e.name)
	}

	if dir := path.Dir(name); dir != "." {
		if err := u.root.MkdirAll(dir, 0o777); err != nil {
			return says("Can't create '%s': %v", dir, bare(err))
		}
	}
	if e.mode.IsDir() {
		return u.folder(name, e)
	}

	if info, err := u.root.Lstat(name); err == nil {
		if u.keep {
			return nil
		}
		if info.IsDir() {
			return says("Can't replace existing directory with non-directory")
		}
		if err := u.root.Remove(name); err != nil {
			return says("Can't unlink already-existing object: %v", bare(err))
		}
	}

	if err := u.make(name, e); err != nil {
		return says("Can't create '%s': %v", name, bare(err))
	}
	return nil
}

func (u *unpacker) folder(name string, e entry) error {
	if err := u.root.MkdirAll(name, 0o777); err != nil {
		return says("Can't create '%s': %v", name, bare(err))
	}
	if !u.touch {
		u.folders = append(u.folders, folder{name, e.when})
	}
	return nil
}

// make makes what is not a folder.
func (u *unpacker) make(name string, e entry) error {
	switch {
	case e.hard:
		target := legal(u.shorten(strings.TrimLeft(e.link, "/")))
		if climbs(target) {
			return says("Path contains '..'")
		}
		return u.root.Link(target, name)

	case e.mode&fs.ModeSymlink != 0:
		return u.root.Symlink(e.link, name)
	case !e.mode.IsRegular():
		return says("Only files, folders and links can be unpacked")
	}

	in, err := e.content()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := u.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil || u.touch {
		return err
	}
	return u.root.Chtimes(name, e.when, e.when)
}
