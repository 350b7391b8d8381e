//go:build !windows

package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// host returns the name of a file of a drive on this system.
func (d Disk) host(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if strings.EqualFold(filepath.Base(path), "nul") {
		return os.DevNull
	}

	path = strings.Replace(path, ":", "", 1)
	at := d.Root
	for name := range strings.SplitSeq(path, "/") {
		if name != "" {
			at = filepath.Join(at, spelling(at, name))
		}
	}

	return at
}

func (d Disk) device(path string, _ How) string { return d.host(path) }

// spelling returns a name as its folder has it.
func spelling(folder, name string) string {
	if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
		return name
	}

	entries, err := os.ReadDir(folder)
	if err != nil {
		return name
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			return e.Name()
		}
	}

	return name
}

// Begins reports whether a folder has any name that begins with the last part of a path.
func (d Disk) Begins(path string) bool {
	folder, beginning := Split(path)
	entries, _ := os.ReadDir(d.host(folder)) // none, if it cannot be read
	return slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return len(e.Name()) >= len(beginning) && strings.EqualFold(e.Name()[:len(beginning)], beginning)
	})
}

func info(i fs.FileInfo) Info {
	out := Info{
		Name:     i.Name(),
		Size:     i.Size(),
		Modified: i.ModTime(),
	}

	switch {
	case i.IsDir():
		out.Attributes = Directory
		out.Size = 0
	case i.Mode().IsRegular():
		out.Attributes = Archive
	case i.Mode()&fs.ModeSymlink != 0:
		out.Attributes = Link
	}

	if i.Mode()&0o200 == 0 && !i.IsDir() {
		out.Attributes |= ReadOnly
	}

	return out
}

// SetAttributes sets and clears attributes of a file: here the one for reading only, which alone has a counterpart.
func (d Disk) SetAttributes(path string, set, clearing uint32) error {
	mode := os.FileMode(0o666)
	if set&ReadOnly != 0 {
		mode = 0o444
	}
	if set&ReadOnly == 0 && clearing&ReadOnly == 0 {
		return nil
	}
	return d.code(os.Chmod(d.host(path), mode), path)
}

func (d Disk) symlink(target, name string, _ bool) error {
	if len(target) > 2 && target[1] == ':' {
		target = d.host(target)
	}
	return os.Symlink(strings.ReplaceAll(target, `\`, "/"), d.host(name))
}

func systemCode(err error) winerr.Code {
	switch {
	case errors.Is(err, syscall.ENOTEMPTY):
		return NotEmpty
	case errors.Is(err, syscall.ENOTDIR):
		return PathNotFound
	case errors.Is(err, syscall.EISDIR):
		return AccessDenied
	}
	return 0
}
