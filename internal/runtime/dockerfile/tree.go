package dockerfile

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// tree are the files that a stage has put on C:, by their names in lower case: Windows takes names that differ by case
// alone for the same.
type tree map[string]imagebuild.File

func (t tree) find(name string) (imagebuild.File, bool) {
	f, ok := t[strings.ToLower(name)]
	return f, ok
}

// isFolder reports whether a name is a folder; "" is C:\.
func (t tree) isFolder(name string) bool {
	f, ok := t.find(name)
	return name == "" || (ok && f.Kind == fs.ModeDir)
}

// glob implements source.
func (t tree) glob(pattern string) ([]string, error) {
	pattern = strings.ToLower(strings.Trim(pattern, "/"))
	if pattern == "" || pattern == "." {
		return []string{""}, nil
	}

	if !hasWildcard(pattern) {
		f, ok := t[pattern]
		if !ok {
			return nil, nil
		}
		return []string{f.Name}, nil
	}

	var found []string
	for _, folded := range slices.Sorted(maps.Keys(t)) {
		match, err := path.Match(pattern, folded)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w: %w", pattern, err, errdefs.ErrInvalidArgument)
		}
		if match {
			found = append(found, t[folded].Name)
		}
	}

	return found, nil
}

// list implements source.
func (t tree) list(_ context.Context, name string) (files []imagebuild.File, folder bool, err error) {
	if !t.isFolder(name) {
		f, ok := t.find(name)
		if !ok {
			return nil, false, fs.ErrNotExist
		}
		f.Name = ""
		return []imagebuild.File{f}, false, nil
	}

	below := strings.ToLower(name) + "/"
	if name == "" {
		below = ""
	}

	for _, folded := range slices.Sorted(maps.Keys(t)) {
		if strings.HasPrefix(folded, below) {
			f := t[folded]
			f.Name = f.Name[len(below):]
			files = append(files, f)
		}
	}

	return files, true, nil
}

// ofWindows reports whether a name is a folder that every Windows has. It is in no layer, and so in no tree.
func ofWindows(name string) bool {
	switch strings.ToLower(name) {
	case "windows", "windows/system32", "windows/syswow64", "windows/temp", "windows/fonts", "windows/inf",
		"windows/system32/drivers", "windows/system32/drivers/etc", "windows/system32/wbem",
		"windows/system32/windowspowershell", "windows/system32/windowspowershell/v1.0",
		"users", "users/public", "users/containeradministrator", "users/containeruser", "users/default",
		"program files", "program files (x86)", "program files/common files", "programdata":
		return true
	}
	return false
}

// change are files that an instruction adds to a tree.
type change struct {
	on    tree
	files map[string]imagebuild.File
}

func (t tree) change() *change { return &change{on: t, files: map[string]imagebuild.File{}} }

// find looks among what was added, then in the tree.
func (c *change) find(name string) (imagebuild.File, bool) {
	if f, ok := c.files[strings.ToLower(name)]; ok {
		return f, true
	}
	return c.on.find(name)
}

func (c *change) isFolder(name string) bool {
	f, ok := c.find(name)
	return name == "" || (ok && f.Kind == fs.ModeDir)
}

// folder adds a folder and those that lead to it. It returns the name with the spelling that it has already.
func (c *change) folder(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	switch f, ok := c.find(name); {
	case ok && f.Kind == fs.ModeDir:
		return f.Name, nil
	case ok:
		return "", refuse(errdefs.ErrInvalidArgument, "%s is a file, and not a folder", windowsPath(f.Name))
	}

	parent := path.Dir(name)
	if parent == "." {
		parent = ""
	}
	parent, err := c.folder(parent)
	if err != nil {
		return "", err
	}

	own := path.Join(parent, path.Base(name))
	c.files[strings.ToLower(own)] = imagebuild.File{Name: own, Kind: fs.ModeDir}
	return own, nil
}

// add adds a file, a link or a folder.
func (c *change) add(f imagebuild.File) error {
	if f.Kind == fs.ModeDir {
		_, err := c.folder(f.Name)
		return err
	}
	if c.isFolder(f.Name) || ofWindows(f.Name) {
		return refuse(errdefs.ErrInvalidArgument, "%s is a folder, and not a file", windowsPath(f.Name))
	}

	parent := path.Dir(f.Name)
	if parent == "." {
		parent = ""
	}
	parent, err := c.folder(parent)
	if err != nil {
		return err
	}

	f.Name = path.Join(parent, path.Base(f.Name))
	c.files[strings.ToLower(f.Name)] = f
	return nil
}

// sorted returns the files, a folder before what is in it.
func (c *change) sorted() []imagebuild.File {
	return slices.SortedFunc(maps.Values(c.files), func(a, b imagebuild.File) int {
		return strings.Compare(a.Name, b.Name)
	})
}
