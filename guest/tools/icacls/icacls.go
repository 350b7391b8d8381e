// Package icacls owns icacls.exe, which shows and changes who may do what with files.
package icacls

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"mullion.dev/mullion/guest/filesec"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
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

// Run shows or changes the lists of access of files.
func Run(e program.Env, sys System, args []string) int {
	a, code := parseIcacls(e, sys, args)
	if code >= 0 {
		return code
	}

	paths := []string{a.path}
	if wildcard.Has(a.path) {
		paths = expandAll(a.path)
	}
	if len(paths) == 0 {
		a.fail(e, a.path, fs.ErrNotExist)
	}

	for _, path := range paths {
		if !a.file(e, sys, path) {
			break
		}
	}

	if a.quiet && a.failed == 0 {
		return 0
	}
	e.Print("Successfully processed %d files; Failed processing %d files", a.processed, a.failed)
	return a.lastError
}

// expandAll returns the files and folders that match a path with * and ? in its last part.
func expandAll(path string) []string {
	dir, pattern := wildcard.Split(path)
	var found []string
	for _, entry := range wildcard.Entries(dir) {
		if wildcard.Match(pattern, entry.Name()) {
			found = append(found, dir+entry.Name())
		}
	}
	return found
}

// file shows or changes one file, and with /T what lies below; false: it ends here.
func (a *access) file(e program.Env, sys System, path string) bool {
	info, err := os.Stat(path)
	if err == nil {
		err = a.one(e, sys, path, info.IsDir())
	}
	if err != nil {
		a.fail(e, path, err)
		return a.goOn
	}

	a.processed++
	if !a.below || !info.IsDir() {
		return true
	}
	for _, entry := range wildcard.Entries(path) {
		if entry.Type()&fs.ModeSymlink == 0 && !a.file(e, sys, filepath.Join(path, entry.Name())) {
			return false
		}
	}

	return true
}

// fail tells that a file could not be processed.
func (a *access) fail(e program.Env, path string, err error) {
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

	e.Complain("%s: %v", path, err)
}

// one shows or changes one file.
func (a *access) one(e program.Env, sys System, path string, folder bool) error {
	list, err := sys.Access(path)
	if err != nil {
		return err
	}
	if len(a.changes) == 0 {
		printAccess(e, sys, path, list)
		return nil
	}

	for _, c := range a.changes {
		if c.verb == "setowner" {
			if err := sys.SetOwner(path, c.sid); err != nil {
				return err
			}
			list.Owner = c.sid
			continue
		}

		if err := c.apply(sys, path, folder, &list); err != nil {
			return err
		}
	}

	list.Sort()
	if err := sys.SetAccess(path, list); err != nil {
		return err
	}
	if folder {
		if err := filesec.HandOn(sys, path, list); err != nil {
			return err
		}
	}

	if !a.quiet {
		e.Print("processed file: %s", path)
	}
	return nil
}

// apply makes the change in a list.
func (c change) apply(sys System, path string, folder bool, list *filesec.List) error {
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
		list.Entries = append(list.Entries, filesec.Entry{
			Flags: flags,
			Mask:  c.mask,
			SID:   c.sid,
		})

	case "grant":
		add(list, filesec.Entry{
			Flags: flags,
			Mask:  c.mask,
			SID:   c.sid,
		})

	case "deny":
		for i, e := range list.Entries { // what is denied is no longer granted
			if mine(false)(e) {
				list.Entries[i].Mask &^= c.mask
			}
		}

		nothing := func(e filesec.Entry) bool { return mine(false)(e) && e.Mask == 0 }
		list.Entries = slices.DeleteFunc(list.Entries, nothing)
		add(list, filesec.Entry{
			Deny:  true,
			Flags: flags,
			Mask:  c.mask,
			SID:   c.sid,
		})

	case "remove", "remove:g":
		list.Entries = slices.DeleteFunc(list.Entries, mine(false))
		if c.verb == "remove" {
			list.Entries = slices.DeleteFunc(list.Entries, mine(true))
		}
	case "remove:d":
		list.Entries = slices.DeleteFunc(list.Entries, mine(true))
	default:
		return c.inheritance(sys, path, folder, list)
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
func (c change) inheritance(sys System, path string, folder bool, list *filesec.List) error {
	inherited := func(e filesec.Entry) bool { return !e.Explicit() }
	switch {
	case c.verb == "reset", c.mode == "e":
		if c.verb == "reset" {
			list.Entries = nil
		}
		list.Protected = false
		list.Entries = slices.DeleteFunc(list.Entries, inherited)
		above, err := sys.Access(filepath.Dir(path))
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
