package powershell

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// separated is a path with the separator of this system, as the cmdlets for paths print it.
func (in *interpreter) separated(path string) string {
	if in.windows() {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// joinPath puts a separator between two parts of a path, once.
func joinPath(c *call) error {
	in := c.f.in
	child := c.text("childpath")
	for _, v := range c.items(pathName) {
		parent := text(v)
		if parent == "" {
			return thrown("%s : Cannot bind argument to parameter 'Path' because it is an empty string.", c.name)
		}
		if parent != in.separator() || !in.windows() {
			parent = strings.TrimRight(parent, `/\`)
		}
		if err := c.out.put(in.separated(parent + in.separator() + strings.TrimLeft(child, `/\`))); err != nil {
			return err
		}
	}
	return nil
}

// splitPath returns a part of a path: all but the last name, unless a flag says otherwise.
func splitPath(c *call) error {
	if len(c.flags) > 1 {
		return thrown("%s : Parameter set cannot be resolved using the specified named parameters.", c.name)
	}
	paths := c.input
	for _, name := range []string{pathName, literalName} {
		for v := range each(c.values[name]) {
			paths = append(paths, v)
		}
	}
	for _, v := range paths {
		got, err := c.part(c.f.in.separated(text(v)))
		if err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
			continue
		}
		if err := c.out.put(got); err != nil {
			return err
		}
	}
	return nil
}

// part is the part of one path that the flags ask for.
func (c *call) part(path string) (value, error) {
	qualifier := ""
	if len(path) > 1 && path[1] == ':' {
		qualifier = path[:2]
	}
	switch {
	case c.flags["isabsolute"]:
		return rooted(path), nil
	case c.flags["qualifier"] && qualifier == "":
		return nil, itsWords("Cannot parse path because path '%s' does not have a qualifier specified.", path)
	case c.flags["qualifier"]:
		return qualifier, nil
	case c.flags["noqualifier"]:
		return path[len(qualifier):], nil
	}
	root := qualifier
	if len(path) > len(root) && isSeparator(path[len(root)]) {
		root = path[:len(root)+1]
	}
	rest := strings.TrimRight(path[len(root):], `/\`)
	cut := strings.LastIndexAny(rest, `/\`)
	if c.flags["leaf"] {
		if rest == "" {
			return path, nil
		}
		return rest[cut+1:], nil
	}
	if rest == "" {
		return "", nil
	}
	return root + strings.TrimRight(rest[:max(cut, 0)], `/\`), nil
}

// resolvePath returns the full paths of items, which must be there.
func resolvePath(c *call) error {
	_, missed, err := c.targets()
	if err != nil {
		return err
	}
	for _, p := range missed {
		if err := c.fail(because(p, fs.ErrNotExist)); err != nil {
			return err
		}
	}
	return c.forEach(func(t target) error {
		if _, err := os.Lstat(t.full); err != nil {
			return err
		}
		return c.show(location(filepath.Clean(t.full)))
	})
}

// errThere is the error for a new name that is taken.
var errThere = itsWords("Cannot create a file when that file already exists.")

// moveItem moves files and folders into a folder, or to a new name.
func moveItem(c *call) error {
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
	return c.forEach(func(t target) error {
		if _, err := os.Lstat(t.full); err != nil {
			return err
		}
		at := to
		if info, err := os.Stat(to); err == nil && info.IsDir() {
			at = filepath.Join(to, filepath.Base(t.full))
		}
		return c.moveTo(t.full, at)
	})
}

// moveTo gives an item another path.
func (c *call) moveTo(from, to string) error {
	if rel, err := filepath.Rel(from, to); err == nil && rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator)) && !strings.EqualFold(rel, ".") {
		return itsWords("The destination %s is inside of the item that is moved.", to)
	}
	before, err := os.Lstat(from)
	if err != nil {
		return err
	}
	restore := func() error { return nil }
	if info, err := os.Lstat(to); err == nil && !os.SameFile(before, info) {
		if !c.flags["force"] || info.IsDir() {
			return errThere
		}
		if restore, err = writable(to, true); err != nil {
			return err
		}
	}
	err = os.Rename(from, to)
	if err != nil && c.otherVolume(err, to) {
		err = c.copyAway(from, to, before)
	}
	if err != nil {
		return errors.Join(cause(to, err), restore())
	}
	return nil
}

// cause is why an item cannot be moved to a path, in words of its own: a missing folder there must not look like a
// missing item.
func cause(to string, err error) error {
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	return itsWords("the destination %s: %v", to, err)
}

// otherVolume reports whether a name could not be changed because the new one is on another volume: a container's
// volumes are folders of drive C: here, and file systems of their own.
func (c *call) otherVolume(err error, to string) bool {
	info, missing := os.Stat(filepath.Dir(to))
	return missing == nil && info.IsDir() && crossesVolumes(err)
}

// copyAway moves an item to another volume.
func (c *call) copyAway(from, to string, info fs.FileInfo) error {
	c.flags["recurse"] = true
	switch {
	case info.IsDir():
		if err := c.copyTo(from, to); err != nil {
			return err
		}
		return os.RemoveAll(from)
	case !info.Mode().IsRegular():
		return itsWords("a link is not moved to another volume")
	}
	if err := copyFile(from, to, info.Mode().Perm(), c.flags["force"]); err != nil {
		return err
	}
	return os.Remove(from)
}

// renameItem gives items a new name in their folder. A block is asked for the name of each.
func renameItem(c *call) error {
	block, asked := c.values["newname"].(*scriptBlock)
	input := c.input
	names := map[string]string{}
	if asked {
		if !c.piped {
			return thrown("%s : a block for -NewName without a pipeline is not part of Mullion's PowerShell.", c.name)
		}
		for _, v := range input {
			var got []value
			if err := c.withBlock(block, v, collect(&got)); err != nil {
				return err
			}
			names[c.f.in.path(text(v))] = text(one(got))
		}
	}
	return c.forEach(func(t target) error {
		name := c.text("newname")
		if asked {
			name = names[t.full]
		}
		switch {
		case name == "":
			return itsWords("Cannot bind argument to parameter 'NewName' because it is an empty string.")
		case strings.ContainsAny(name, `/\:`):
			return itsWords("Cannot rename the specified target, because it represents a path or device name.")
		}
		if _, err := os.Lstat(t.full); err != nil {
			return err
		}
		return c.moveTo(t.full, filepath.Join(filepath.Dir(t.full), name))
	})
}

// teeObject passes its input on, and writes it to a file or a variable too.
func teeObject(c *call) error {
	if c.values["filepath"] != nil && c.values["variable"] != nil {
		return thrown("%s : -FilePath and -Variable exclude each other.", c.name)
	}
	if name, ok := c.values["variable"]; ok {
		if err := c.f.setNamed(text(name), one(c.input)); err != nil {
			return err
		}
	} else {
		if err := outFile(c); err != nil {
			return err
		}
	}
	for _, v := range c.input {
		if err := c.out.put(v); err != nil {
			return err
		}
	}
	return nil
}

// setNamed sets a variable whose name is known only now.
func (f *frame) setNamed(name string, v value) error {
	if err := assignable(lower(name)); err != nil {
		return thrown("%v.", err)
	}
	return f.assign(variable{name: lower(name)}, v)
}

func pathCmdlets() []cmdlet {
	return []cmdlet{
		{
			name:      "Join-Path",
			about:     "a path of two parts",
			run:       joinPath,
			values:    []string{pathName, "childpath"},
			positions: []string{pathName, "childpath"},
			takes:     pathName,
			needs:     []string{pathName, "childpath"},
		},
		ofPath(cmdlet{
			name:  "Split-Path",
			about: "the folder of a path, or its last name, drive or rest",
			run:   splitPath,
			flags: []string{"parent", "leaf", "qualifier", "noqualifier", "isabsolute"},
			needs: []string{pathName},
		}),
		ofPath(cmdlet{
			name:    "Resolve-Path",
			aliases: []string{"rvpa"},
			about:   "full paths of files and folders that are there",
			run:     resolvePath,
			needs:   []string{pathName},
		}),
		ofPath(cmdlet{
			name:      "Move-Item",
			aliases:   []string{"mv", "move", "mi"},
			about:     "moves files and folders",
			run:       moveItem,
			values:    []string{"destination"},
			flags:     []string{"force"},
			positions: []string{"destination"},
			needs:     []string{pathName},
		}),
		ofPath(cmdlet{
			name:      "Rename-Item",
			aliases:   []string{"ren", "rni"},
			about:     "gives a file or folder a new name",
			run:       renameItem,
			values:    []string{"newname"},
			flags:     []string{"force"},
			positions: []string{"newname"},
			needs:     []string{pathName, "newname"},
		}),
		{
			name:      "Tee-Object",
			aliases:   []string{"tee"},
			about:     "passes objects on, and writes them to a file or variable",
			run:       teeObject,
			values:    []string{"filepath", objectName, "variable"},
			flags:     []string{"append"},
			positions: []string{"filepath"},
			takes:     objectName,
			needs:     []string{"filepath|variable", objectName},
		},
	}
}
