// Package disk owns cmd.exe's view of files: Windows' names for them, and the few things that it does with them, with
// errors that have Windows' numbers and words. On Windows the names are used as they are. On another system, for tests,
// drive X: is the folder X of Root, and letters of either size name the same file.
package disk

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/guest/junction"
	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Attributes of files, as Windows numbers them.
const (
	ReadOnly  = 0x1
	Hidden    = 0x2
	System    = 0x4
	Directory = 0x10
	Archive   = 0x20
	Link      = 0x400 // a reparse point
)

// The errors that callers tell apart.
const (
	FileNotFound  winerr.Code = 2
	PathNotFound  winerr.Code = 3
	AccessDenied  winerr.Code = 5
	InvalidHandle winerr.Code = 6
	NotEmpty      winerr.Code = 145
	BadName       winerr.Code = 123
	Exists        winerr.Code = 183
	BadFolder     winerr.Code = 267
	Sharing       winerr.Code = 32
	FileExists    winerr.Code = 80
)

// Disk is the files of a machine.
type Disk struct {
	Root string // empty on Windows
}

// Info is what a folder says of a file.
type Info struct {
	Name       string
	Size       int64
	Modified   time.Time
	Attributes uint32
	Junction   bool // it is a link of that kind
}

// Folder reports whether it is a folder.
func (i Info) Folder() bool { return i.Attributes&Directory != 0 }

// How says what a file is opened for.
type How int

// The ways to open a file.
const (
	Read How = iota
	Write
	Append
)

// Open opens a file, a device or a pipe.
func (d Disk) Open(path string, how How) (*os.File, error) {
	if err := valid(path); err != nil {
		return nil, err
	}
	flags := map[How]int{
		Read: os.O_RDONLY, Write: os.O_WRONLY | os.O_CREATE | os.O_TRUNC,
		Append: os.O_WRONLY | os.O_CREATE | os.O_APPEND,
	}[how]

	if strings.HasPrefix(path, `\\.\`) { // a device or a pipe is there, or not
		flags &^= os.O_CREATE | os.O_TRUNC | os.O_APPEND
	}

	f, err := os.OpenFile(d.device(path, how), flags, 0o666)
	if err != nil {
		return nil, d.code(err, path)
	}
	if info, err := f.Stat(); how == Read && err == nil && info.IsDir() {
		_ = f.Close() // it was only looked at
		return nil, AccessDenied
	}

	return f, nil
}

// Stat looks at a file or folder itself, not at what a link leads to.
func (d Disk) Stat(path string) (Info, error) {
	if err := valid(path); err != nil {
		return Info{}, err
	}
	i, err := os.Lstat(d.host(strings.TrimRight(path, `\`) + trailing(path)))
	if err != nil {
		return Info{}, d.code(err, path)
	}
	return info(i), nil
}

// trailing returns the backslash that the root of a drive keeps.
func trailing(path string) string {
	if (len(path) == 3 && path[1] == ':') || path == `\` {
		return `\`
	}
	return ""
}

// Exists reports whether there is a file or folder of that name.
func (d Disk) Exists(path string) bool {
	_, err := d.Stat(path)
	return err == nil
}

// IsFolder reports whether a path leads to a folder, perhaps by a link.
func (d Disk) IsFolder(path string) bool {
	if valid(path) != nil {
		return false
	}
	i, err := os.Stat(d.host(path))
	return err == nil && i.IsDir()
}

// List returns what is in a folder, by name.
func (d Disk) List(folder string) ([]Info, error) {
	if err := valid(folder); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(d.host(folder))
	if err != nil {
		return nil, d.code(err, folder)
	}

	var all []Info
	for _, e := range entries {
		if i, err := e.Info(); err == nil { // gone since, else
			all = append(all, info(i))
		}
	}

	return all, nil
}

// MakeFolder makes a folder, and those above it.
func (d Disk) MakeFolder(path string) error {
	if err := valid(path); err != nil {
		return err
	}
	if d.Exists(path) {
		return Exists
	}
	err := os.MkdirAll(d.host(strings.TrimRight(path, `\`)), 0o777)
	return d.code(err, path)
}

// RemoveFolder removes an empty folder, or a link to one.
func (d Disk) RemoveFolder(path string) error {
	i, err := d.Stat(path)
	if err != nil {
		return err
	}
	if !i.Folder() {
		return BadFolder
	}
	return d.code(os.Remove(d.host(path)), path)
}

// RemoveFile removes a file.
func (d Disk) RemoveFile(path string) error {
	i, err := d.Stat(path)
	switch {
	case err != nil:
		return err
	case i.Folder(), i.Attributes&ReadOnly != 0:
		return AccessDenied
	}
	return d.code(os.Remove(d.host(path)), path)
}

// Rename gives a file or folder another name, which must be free unless replace is set.
func (d Disk) Rename(from, to string, replace bool) error {
	if err := valid(to); err != nil {
		return err
	}
	if !replace && !strings.EqualFold(from, to) && d.Exists(to) {
		return Exists
	}
	return d.code(os.Rename(d.host(from), d.host(to)), from)
}

// Touch sets the time of a file's last change.
func (d Disk) Touch(path string, at time.Time) error {
	return d.code(os.Chtimes(d.host(path), at, at), path)
}

// Kind is a kind of link.
type Kind int

// The kinds of links.
const (
	FileLink   Kind = iota // a symbolic link to a file
	FolderLink             // one to a folder
	HardLink               // another name of a file
	Junction               // a link to a folder of this computer
)

// Link makes a link.
func (d Disk) Link(name, target string, kind Kind) error {
	if d.Exists(name) {
		return Exists
	}
	switch kind {
	case HardLink:
		return d.code(os.Link(d.host(target), d.host(name)), target)
	case Junction:
		return d.code(junction.Make(d.host(name), d.host(target)), name)
	}
	return d.code(d.symlink(target, name, kind == FolderLink), name)
}

// Target returns what a link leads to; empty if it is none.
func (d Disk) Target(path string) string {
	target, err := os.Readlink(d.host(path))
	if err != nil {
		return ""
	}
	return target
}

// valid says which names no file can have.
func valid(path string) error {
	rest := path
	for _, prefix := range []string{`\\?\`, `\\.\`} {
		rest = strings.TrimPrefix(rest, prefix)
	}
	if strings.ContainsAny(rest, "*?<>|\"\x00") {
		return BadName
	}
	if len(rest) > 2 && strings.Contains(rest[2:], ":") && !strings.HasPrefix(path, `\\`) {
		return nil // a stream of a file: the system says what it thinks of it
	}
	return nil
}

// code returns an error with a number of Windows.
func (d Disk) code(err error, path string) error {
	if err == nil {
		return nil
	}
	if code, ok := errors.AsType[winerr.Code](err); ok {
		return code
	}
	if number := systemCode(err); number != 0 {
		return number
	}

	switch {
	case errors.Is(err, fs.ErrNotExist):
		if up := strings.LastIndexByte(strings.TrimRight(path, `\`), '\\'); up > 2 && !d.IsFolder(path[:up]) {
			return PathNotFound
		}
		return FileNotFound
	case errors.Is(err, fs.ErrExist):
		return Exists
	case errors.Is(err, fs.ErrPermission):
		return AccessDenied
	}

	return err
}
