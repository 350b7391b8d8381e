package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mullion.dev/mullion/guest/filesec"
)

// access holds icacls' arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/icacls).
type access struct {
	path               string
	changes            []change
	below, goOn, quiet bool
	processed, failed  int
	lastError          int
}

// change is one of icacls' changes to a list.
type change struct {
	verb  string // grant, grant:r, deny, remove, remove:g, remove:d, inheritance, reset, setowner
	sid   string
	flags uint8
	mask  uint32
	mode  string // of inheritance: e, d, r
}

// icacls' exit codes are the numbers of errors of Windows.
const (
	errorFileNotFound     = 2
	errorInvalidParameter = 87
	errorNoneMapped       = 1332
)

// icacls shows or changes the lists of access of files.
func icacls(e Env, args []string) int {
	a, code := parseIcacls(e, args)
	if code >= 0 {
		return code
	}
	paths := []string{a.path}
	if wild(a.path) {
		paths = expandAll(a.path)
	}
	if len(paths) == 0 {
		a.fail(e, a.path, fs.ErrNotExist)
	}
	for _, path := range paths {
		if !a.file(e, path) {
			break
		}
	}
	if a.quiet && a.failed == 0 {
		return 0
	}
	e.print("Successfully processed %d files; Failed processing %d files", a.processed, a.failed)
	return a.lastError
}

// expandAll returns the files and folders that match a path with * and ? in its last part.
func expandAll(path string) []string {
	dir, pattern := split(path)
	var found []string
	for _, entry := range entries(dir) {
		if matches(pattern, entry.Name()) {
			found = append(found, dir+entry.Name())
		}
	}
	return found
}

// file shows or changes one file, and with /T what lies below; false: it ends here.
func (a *access) file(e Env, path string) bool {
	info, err := os.Stat(path)
	if err == nil {
		err = a.one(e, path, info.IsDir())
	}
	if err != nil {
		a.fail(e, path, err)
		return a.goOn
	}
	a.processed++
	if !a.below || !info.IsDir() {
		return true
	}
	for _, entry := range entries(path) {
		if entry.Type()&fs.ModeSymlink == 0 && !a.file(e, filepath.Join(path, entry.Name())) {
			return false
		}
	}
	return true
}

// fail tells that a file could not be processed.
func (a *access) fail(e Env, path string, err error) {
	a.failed++
	a.lastError = 1
	switch {
	case errors.Is(err, fs.ErrNotExist):
		a.lastError = errorFileNotFound
		err = errors.New("The system cannot find the file specified.") //nolint:revive,staticcheck // Windows' words
	case errors.Is(err, fs.ErrPermission):
		a.lastError = int(syscall.EACCES)
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			a.lastError = int(errno)
		}
		err = errors.New("Access is denied.") //nolint:revive,staticcheck // Windows' words
	}
	e.complain("%s: %v", path, err)
}

// one shows or changes one file.
func (a *access) one(e Env, path string, folder bool) error {
	list, err := e.System.Access(path)
	if err != nil {
		return err
	}
	if len(a.changes) == 0 {
		printAccess(e, path, list)
		return nil
	}
	for _, c := range a.changes {
		if c.verb == "setowner" {
			if err := e.System.SetOwner(path, c.sid); err != nil {
				return err
			}
			list.Owner = c.sid
			continue
		}
		if err := c.apply(e.System, path, folder, &list); err != nil {
			return err
		}
	}
	list.Sort()
	if err := e.System.SetAccess(path, list); err != nil {
		return err
	}
	if folder {
		if err := filesec.HandOn(e.System, path, list); err != nil {
			return err
		}
	}
	if !a.quiet {
		e.print("processed file: %s", path)
	}
	return nil
}

// apply makes the change in a list.
func (c change) apply(s Access, path string, folder bool, list *filesec.List) error {
	mine := func(deny bool) func(filesec.Entry) bool {
		return func(e filesec.Entry) bool { return e.Explicit() && e.SID == c.sid && e.Deny == deny }
	}
	flags := c.flags
	if !folder {
		flags = 0
	}
	switch c.verb {
	case "grant:r":
		list.Entries = slices.DeleteFunc(list.Entries, mine(false))
		list.Entries = append(list.Entries, filesec.Entry{Flags: flags, Mask: c.mask, SID: c.sid})
	case "grant":
		add(list, filesec.Entry{Flags: flags, Mask: c.mask, SID: c.sid})
	case "deny":
		for i, e := range list.Entries { // what is denied is no longer granted
			if mine(false)(e) {
				list.Entries[i].Mask &^= c.mask
			}
		}
		nothing := func(e filesec.Entry) bool { return mine(false)(e) && e.Mask == 0 }
		list.Entries = slices.DeleteFunc(list.Entries, nothing)
		add(list, filesec.Entry{Deny: true, Flags: flags, Mask: c.mask, SID: c.sid})
	case "remove", "remove:g":
		list.Entries = slices.DeleteFunc(list.Entries, mine(false))
		if c.verb == "remove" {
			list.Entries = slices.DeleteFunc(list.Entries, mine(true))
		}
	case "remove:d":
		list.Entries = slices.DeleteFunc(list.Entries, mine(true))
	default:
		return c.inheritance(s, path, folder, list)
	}
	return nil
}

// add adds rights to the file's own entry of the same kind, or a new entry.
func add(list *filesec.List, e filesec.Entry) {
	for i, old := range list.Entries {
		if old.Explicit() && old.SID == e.SID && old.Deny == e.Deny && old.Flags == e.Flags {
			list.Entries[i].Mask |= e.Mask
			return
		}
	}
	list.Entries = append(list.Entries, e)
}

// inheritance takes what is inherited away, makes it the file's own, or inherits it anew.
func (c change) inheritance(s Access, path string, folder bool, list *filesec.List) error {
	inherited := func(e filesec.Entry) bool { return !e.Explicit() }
	switch {
	case c.verb == "reset", c.mode == "e":
		if c.verb == "reset" {
			list.Entries = nil
		}
		list.Protected = false
		list.Entries = slices.DeleteFunc(list.Entries, inherited)
		above, err := s.Access(filepath.Dir(path))
		if err != nil {
			return fmt.Errorf("read the folder's list: %w", err)
		}
		list.Entries = append(list.Entries, above.Inherit(folder, list.Owner)...)
	case c.mode == "d":
		list.Protected = true
		for i := range list.Entries {
			list.Entries[i].Flags &^= filesec.Inherited
		}
	case c.mode == "r":
		list.Protected = true
		list.Entries = slices.DeleteFunc(list.Entries, inherited)
	}
	return nil
}
