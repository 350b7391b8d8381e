package powershell

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// environmentItem is the variable that a path of the drive env: names.
func environmentItem(path string) (string, bool) {
	drive, name, ok := strings.Cut(path, ":")
	return strings.ToUpper(strings.TrimLeft(name, `\/`)), ok && lower(drive) == "env"
}

// makeFolder is mkdir: it makes a folder and its parents.
func makeFolder(c *call) error {
	c.values["itemtype"] = "directory"
	return newItem(c)
}

// joinName makes the paths of New-Item, if it has -Name: each of -Path, or the current folder, with the name.
func (c *call) joinName() error {
	name, given := c.values["name"]
	if !given {
		return nil
	}
	if text(name) == "" {
		return thrown("%s : Cannot bind argument to parameter 'Name' because it is an empty string.", c.name)
	}
	paths := slices.Collect(each(c.values[pathName]))
	if c.values[pathName] == nil {
		paths = []value{c.f.in.dir}
	}
	for i, path := range paths {
		paths[i] = strings.TrimRight(text(path), `/\`) + c.f.in.separator() + text(name)
	}
	c.values[pathName] = paths
	return nil
}

// copyItem copies files, and with -Recurse folders.
func copyItem(c *call) error {
	destination := c.text("destination")
	if err := c.knownPath(destination); err != nil {
		return err
	}
	if hasWildcard(destination) {
		return thrown("%s : wild cards in -Destination are not part of Mullion's PowerShell.", c.name)
	}
	to := c.f.in.dir
	if destination != "" {
		to = c.f.in.path(destination)
	}
	if info, err := os.Stat(to); strings.HasSuffix(filepath.ToSlash(destination), "/") &&
		(err != nil || !info.IsDir()) {
		return c.fail(because(destination, fs.ErrNotExist))
	}
	return c.forEach(func(t target) error { return c.copyTo(t.full, to) })
}

// copyTo copies a file or folder to a path, or into the path if it is a folder. Of a folder, only -Recurse copies the
// content too.
func (c *call) copyTo(from, to string) error {
	recurse := c.flags["recurse"]
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if there, err := os.Stat(to); err == nil && there.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}
	if !info.IsDir() {
		return copyFile(from, to, info.Mode().Perm(), c.flags["force"])
	}
	if rel, err := filepath.Rel(from, to); recurse && err == nil && rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return fmt.Errorf("a folder is not copied into itself, %s", to)
	}
	if err := os.MkdirAll(to, 0o755); err != nil || !recurse {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, c.copyTo(filepath.Join(from, e.Name()), to))
	}
	return err
}

func copyFile(from, to string, mode fs.FileMode, force bool) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if same, err := os.Stat(to); err == nil {
		if info, err := in.Stat(); err == nil && os.SameFile(info, same) {
			return errors.New("an item is not copied to itself")
		}
	}
	restore, err := writable(to, force)
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o200)
	if err != nil {
		// Not wrapped: a missing folder of the destination must not look like a missing source.
		err = fmt.Errorf("the destination %s: %v", to, errors.Unwrap(err)) //nolint:errorlint // see above
		return errors.Join(err, restore())
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close(), restore())
}

// outFile writes to a file what would be shown. It writes UTF-8 for every encoding that -Encoding allows; ascii and oem
// are refused for text beyond ASCII.
func outFile(c *call) error {
	newline := c.f.in.session.Newline
	if c.flags["nonewline"] {
		newline = ""
	}
	content, err := formatted(c.items(objectName), newline)
	if err != nil {
		return err
	}
	how := os.O_TRUNC
	if c.flags["append"] {
		how = os.O_APPEND
	}
	if e := lower(c.text("encoding")); (e == "ascii" || e == "oem") && !isASCII(content) {
		return thrown("%s : -Encoding %s of text beyond ASCII is not part of Mullion's PowerShell.", c.name, e)
	}
	path := c.text("filepath")
	if err := c.knownPath(path); err != nil {
		return err
	}
	if path == "" || hasWildcard(path) {
		return thrown("%s : a path without wild cards is missing.", c.name)
	}
	if err := writeFile(c.f.in.path(path), content, how, c.flags["force"]); err != nil {
		return c.fail(because(path, err))
	}
	return nil
}

// symbolicLink is the kind of New-Item that makes one.
const symbolicLink = "symboliclink"

// newLink makes a symbolic link to a file or folder, which has to be there. With -Force it takes the place of an empty
// folder or a file.
func (c *call) newLink(path, to string) error {
	if to == "" {
		return thrown("%s : Cannot bind argument to parameter 'Value' because it is an empty string.", c.name)
	}
	full := to
	if !filepath.IsAbs(to) {
		full = filepath.Join(filepath.Dir(path), to)
	}
	if _, err := os.Stat(full); err != nil {
		return itsWords("Cannot find path '%s' because it does not exist.", to)
	}
	if c.flags["force"] {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return os.Symlink(strings.TrimRight(to, `/\`), path)
}
