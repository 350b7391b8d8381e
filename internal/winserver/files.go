package winserver

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/winserver/journal"
)

// keptEnding is put after the name of a file that was there before, and comes back when the node leaves.
const keptEnding = ".before-mullion"

// change is one run that changes the host, with the journal that it writes.
type change struct {
	Host
	journal *journal.Journal
	say     Say
}

// folder makes a folder, or finds it. What comes into it later is the node's, and goes with it. A folder that was there
// keeps its access list, unless it has to be Private.
func (c change) folder(name string, access Access) error {
	at := c.file(name)
	entries, err := os.ReadDir(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	missing := err != nil
	top, err := c.topmost(name)
	if err != nil {
		return err
	}

	switch {
	case missing:
		if err := c.journal.Add(journal.Entry{
			Kind: journal.Folder,
			Name: top,
			Made: true,
		}); err != nil {
			return err
		}
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}

	case c.within(name) == "":
		if err := c.noteFolder(name, entries); err != nil {
			return err
		}
	}

	// A join that was killed after the folder was made has not protected it.
	if made := c.within(name); made != "" && !c.journal.Joined {
		if err := c.Protect(c.file(made), Readable); err != nil {
			return err
		}
	}
	if access == Readable {
		return nil
	}

	return c.Protect(at, access)
}

// topmost returns the topmost missing folder on the way to one: it is the one that is made, and removed. The error says
// which folder on the way is somebody's.
func (c change) topmost(name string) (string, error) {
	top := name
	for up := name; up != "/" && up != "."; up = path.Dir(up) {
		if err := c.trusted(up); err != nil {
			return "", err
		}
		if _, err := os.Stat(c.file(up)); errors.Is(err, fs.ErrNotExist) {
			top = up
		}
	}

	return top, nil
}

// noteFolder notes what was in a folder before.
func (c change) noteFolder(name string, entries []os.DirEntry) error {
	had := []string{}
	for _, e := range entries {
		had = append(had, e.Name())
	}
	return c.journal.Add(journal.Entry{
		Kind: journal.Folder,
		Name: name,
		Had:  had,
	})
}

// within returns the folder that was made and that a path lies in or is, "" if there is none.
func (c change) within(name string) string {
	for ; name != "/" && name != "."; name = path.Dir(name) {
		if e, ok := c.journal.Find(journal.Folder, name); ok && e.Made {
			return name
		}
	}
	return ""
}

// write writes a file, and reports whether it was another one before. private keeps it from all but administrators and
// the system.
func (c change) write(name string, data []byte, private bool) (changed bool, err error) {
	at := c.file(name)
	old, err := os.ReadFile(at)
	if err == nil && bytes.Equal(old, data) {
		return false, c.protect(at, private)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}

	if err := c.keep(name); err != nil {
		return false, err
	}
	if !private {
		return true, atomicfile.Write(at, data, 0o644)
	}

	// It is nobody else's before it has its text.
	fresh := at + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}

	empty, err := os.OpenFile(fresh, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(empty.Close(), c.Protect(fresh, Private))
	}
	if err == nil {
		err = os.WriteFile(fresh, data, 0o600)
	}
	if err == nil {
		err = os.Rename(fresh, at)
	}

	return true, err
}

func (c change) protect(at string, private bool) error {
	if private {
		return c.Protect(at, Private)
	}
	return nil
}

// keep puts a copy of a file aside that was there before the node.
func (c change) keep(name string) error {
	dir, base := path.Split(name)
	e, ok := c.journal.Find(journal.Folder, path.Clean(dir))
	if !ok || e.Made || !has(e.Had, base) {
		return nil // it is the node's own
	}
	kept := name + keptEnding
	if err := c.journal.Add(journal.Entry{
		Kind: journal.File,
		Name: name,
		Kept: kept,
	}); err != nil {
		return err
	}

	if _, err := os.Stat(c.file(kept)); err == nil {
		return nil // it was put aside before
	}
	// A copy: an upgrade that fails puts the file itself back.
	in, err := os.Open(c.file(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		return err
	}
	defer in.Close()
	half := c.file(kept) + ".new"
	out, err := os.Create(half)
	if err != nil {
		return err
	}

	_, err = io.Copy(out, in)
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Rename(half, c.file(kept))
}

// has reports whether a folder that had these names has that one. Windows does not look at the case of names.
func has(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// differs reports whether two files have other contents; a file that is not there differs.
func differs(a, b string) (bool, error) {
	one, err := sum(a)
	if err != nil {
		return false, err
	}
	other, err := sum(b)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return one != other, err
}

func sum(file string) (s [sha256.Size]byte, err error) {
	in, err := os.Open(file)
	if err != nil {
		return s, err
	}
	defer in.Close()
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return s, fmt.Errorf("read %s: %w", file, err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
