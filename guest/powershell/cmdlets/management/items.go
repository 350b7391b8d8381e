package management

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/junction"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// makeFolder carries out mkdir: it makes a folder and its parents.
func makeFolder(c *cmdlet.Call) error {
	c.Values["itemtype"] = "directory"
	return newItem(c)
}

// joinName makes the paths of New-Item, if it has -Name: each of -Path, or the current folder, with the name.
func joinName(c *cmdlet.Call) error {
	name, given := c.Values["name"]
	if !given {
		return nil
	}
	if object.Text(name) == "" {
		return object.Thrown("%s : Cannot bind argument to parameter 'Name' because it is an empty string.", c.Name)
	}

	paths := slices.Collect(object.Each(c.Values[cmdlet.PathName]))
	if c.Values[cmdlet.PathName] == nil {
		paths = []object.Value{c.State.Location()}
	}
	for i, path := range paths {
		paths[i] = strings.TrimRight(object.Text(path), `/\`) + c.State.Separator() + object.Text(name)
	}

	c.Values[cmdlet.PathName] = paths
	return nil
}

// copyItem copies files, and with -Recurse folders.
func copyItem(c *cmdlet.Call) error {
	destination := c.Text("destination")
	if err := c.KnownPath(destination); err != nil {
		return err
	}
	if provider.HasWildcard(destination) {
		return object.Thrown("%s : wild cards in -Destination are not part of Mullion's PowerShell.", c.Name)
	}

	to := c.State.Dir
	if destination != "" {
		to = c.State.Path(destination)
	}
	if info, err := os.Stat(to); strings.HasSuffix(filepath.ToSlash(destination), "/") &&
		(err != nil || !info.IsDir()) {
		return c.Fail(provider.Because(destination, fs.ErrNotExist))
	}

	picks, err := newPicks(c)
	if err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		if !picks.taken(filepath.Base(t.Full)) {
			return nil
		}
		at := to
		if there, err := os.Stat(to); err == nil && there.IsDir() {
			at = filepath.Join(to, filepath.Base(t.Full))
		}
		return errors.Join(copyTo(c, t.Full, to, picks), passOn(c, at))
	})
}

// passOn outputs an item that is new at a path, if -PassThru wants it.
func passOn(c *cmdlet.Call, path string) error {
	info, err := os.Lstat(path)
	if !c.Flags["passthru"] || err != nil {
		return nil //nolint:nilerr // what has failed has been said
	}
	return c.Output(provider.Item(path, info))
}

// picks are the names that -Filter, -Include and -Exclude leave.
// The first is for all files, the others are for what the path names.
type picks struct{ filter, include, exclude []*regexp.Regexp }

func newPicks(c *cmdlet.Call) (*picks, error) {
	p := &picks{}
	for name, to := range map[string]*[]*regexp.Regexp{"filter": &p.filter, "include": &p.include, "exclude": &p.exclude} {
		for v := range object.Each(c.Values[name]) {
			re, err := pattern.Wildcard(object.Text(v))
			if err != nil {
				return nil, err
			}
			*to = append(*to, re)
		}
	}
	return p, nil
}

// shows reports whether a file of a name is copied.
func (p *picks) shows(name string) bool {
	fits := func(re *regexp.Regexp) bool { return re.MatchString(name) }
	return len(p.filter) == 0 || slices.ContainsFunc(p.filter, fits)
}

// taken reports whether an item that the path names is copied.
func (p *picks) taken(name string) bool {
	matches := func(re *regexp.Regexp) bool { return re.MatchString(name) }
	return (len(p.include) == 0 || slices.ContainsFunc(p.include, matches)) && !slices.ContainsFunc(p.exclude, matches)
}

// copyTo copies a file or folder to a path, or into the path if it is a folder. Of a folder, only -Recurse copies the
// content too.
func copyTo(c *cmdlet.Call, from, to string, picks *picks) error {
	recurse := c.Flags["recurse"]
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if there, err := os.Stat(to); err == nil && there.IsDir() {
		to = filepath.Join(to, filepath.Base(from))
	}

	if !info.IsDir() {
		return provider.CopyFile(from, to, info.Mode().Perm(), c.Flags["force"])
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
		if !e.IsDir() && !picks.shows(e.Name()) {
			continue
		}
		err = errors.Join(err, copyTo(c, filepath.Join(from, e.Name()), to, picks))
	}

	return err
}

// outFile writes to a file what would be shown; oem is refused for text beyond ASCII.
func outFile(c *cmdlet.Call) error {
	newline := c.State.Newline
	if c.Flags["nonewline"] {
		newline = ""
	}
	content, err := format.Formatted(c.Items(cmdlet.ObjectName), newline)
	if err != nil {
		return err
	}

	encoding := strings.ToLower(c.Text("encoding"))
	if encoding == "oem" && !object.IsASCII(content) {
		return object.Thrown("%s : -Encoding %s of text beyond ASCII is not part of Mullion's PowerShell.", c.Name, encoding)
	}
	path := c.Text("filepath")
	if err := c.KnownPath(path); err != nil {
		return err
	}

	if path == "" || provider.HasWildcard(path) {
		return object.Thrown("%s : a path without wild cards is missing.", c.Name)
	}
	how := os.O_TRUNC
	if c.Flags["append"] {
		how = os.O_APPEND
	}

	full := c.State.Path(path)
	restore, err := provider.Writable(full, c.Flags["force"])
	if err == nil {
		err = errors.Join(provider.WriteShown(c.State, full, content, encoding, how), restore())
	}
	if err != nil {
		return c.Fail(provider.Because(path, err))
	}

	return nil
}

// The kinds of links that New-Item makes.
const (
	symbolicLink = "symboliclink"
	junctionLink = "junction"
	hardLink     = "hardlink"
)

// itemTypes are the kinds of what New-Item makes.
var itemTypes = []string{"file", "directory", symbolicLink, junctionLink, hardLink}

// newLink makes a link of a kind to a file or folder, which has to be there. With -Force it takes the place of an empty
// folder or a file, a junction that of an empty folder alone. A symbolic link leads on from its own folder, the others
// from where the session is. Errors are those of NewItem
// (https://github.com/PowerShell/PowerShell/blob/v7.4.0/src/System.Management.Automation/namespaces/FileSystemProvider.cs).
func newLink(c *cmdlet.Call, kind, path, to string) error {
	if to == "" {
		return object.Thrown("%s : Cannot bind argument to parameter 'Value' because it is an empty string.", c.Name)
	}
	full := c.State.Path(to)
	if kind == symbolicLink && !filepath.IsAbs(to) {
		full = filepath.Join(filepath.Dir(path), to)
	}

	if err := linkable(kind, path, full, to); err != nil {
		return err
	}
	if err := noPlace(kind, path, c.Flags["force"]); err != nil {
		return err
	}
	if _, err := os.Stat(path); err == nil || c.Flags["force"] {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	switch kind {
	case junctionLink:
		return junction.Make(path, filepath.Clean(full))
	case hardLink:
		return os.Link(full, path)
	}
	return os.Symlink(strings.TrimRight(to, `/\`), path)
}

// linkable returns the error of what a link is to lead to: to, which lies at full. nil if a link may.
func linkable(kind, path, full, to string) error {
	info, err := os.Stat(full)
	switch {
	case err != nil:
		return &object.Exception{
			Class: object.NotFoundException, ID: "PathNotFound", Category: object.ObjectNotFound, Target: to,
			Message: "Cannot find path '" + to + "' because it does not exist.",
		}
	case kind == junctionLink && !info.IsDir():
		return noFolder(to)
	case kind == hardLink && info.IsDir():
		return &object.Exception{
			Class: invalidOperation, ID: "ItemNotFile", Category: object.InvalidOperating, Target: to,
			Message: "A file is required for the operation. The item '" + to + "' is not a file.",
		}
	case sameEntry(full, path): // what -Force removes is what it leads to
		return &object.Exception{
			Class: invalidOperation, ID: "TargetIsSameAsLink", Category: object.InvalidOperating, Target: path,
			Message: "The target and path cannot be the same.",
		}
	}
	return nil
}

const (
	invalidOperation = "System.InvalidOperationException"
	ioException      = "System.IO.IOException"
)

// sameEntry reports whether two paths are of one entry of a folder.
func sameEntry(a, b string) bool {
	one, err := os.Stat(filepath.Dir(a))
	other, err2 := os.Stat(filepath.Dir(b))
	return err == nil && err2 == nil && os.SameFile(one, other) && strings.EqualFold(filepath.Base(a), filepath.Base(b))
}

// noFolder is the error of a junction to what is no folder, or in its place.
func noFolder(path string) *object.Exception {
	return &object.Exception{
		Class: invalidOperation, ID: "ItemNotDirectory", Category: object.InvalidOperating, Target: path,
		Message: "A directory is required for the operation. The item '" + path + "' is not a directory.",
	}
}

// noPlace returns the error of a link where something is already, nil if it may be made.
func noPlace(kind, path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil //nolint:nilerr // nothing is there, or it shows when the link is made
	case kind != junctionLink && !force:
		return &object.Exception{
			Class: ioException, ID: "SymLinkExists", Category: "ResourceExists", Target: path,
			Message: "Cannot create link because the path already exists: " + path + ".",
		}
	case kind == junctionLink && !info.IsDir():
		return noFolder(path)
	case kind == junctionLink && !force:
		if there, err := os.ReadDir(path); err != nil || len(there) > 0 {
			return &object.Exception{
				Class: ioException, ID: "DirectoryNotEmpty", Category: "WriteError", Target: path,
				Message: "Directory " + path + " cannot be removed because it is not empty.",
			}
		}
	}
	return nil
}

// itemThere is the error of New-Item for a file or folder where something is already.
func itemThere(kind, path string) error {
	if kind == "directory" {
		return &object.Exception{
			Class: ioException, ID: "DirectoryExist", Category: "ResourceExists", Target: path,
			Message: "An item with the specified name " + path + " already exists.",
		}
	}
	return &object.Exception{
		Class: ioException, ID: "NewItemIOError", Category: "WriteError", Target: path,
		Message: "The file '" + path + "' already exists.",
	}
}
