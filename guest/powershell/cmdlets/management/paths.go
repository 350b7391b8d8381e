package management

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/provider"
	"mullion.dev/mullion/guest/powershell/words"
)

func isSeparator(c byte) bool { return c == '/' || c == '\\' }

// joinPath puts a separator between two parts of a path, once.
func joinPath(c *cmdlet.Call) error {
	in := c.State
	child := c.Text("childpath")
	for _, v := range c.Items(cmdlet.PathName) {
		parent := object.Text(v)
		if parent == "" {
			return object.Thrown("%s : Cannot bind argument to parameter 'Path' because it is an empty string.", c.Name)
		}
		if parent != in.Separator() || !in.Windows() {
			parent = strings.TrimRight(parent, `/\`)
		}

		if err := c.Out.Put(in.Separated(parent + in.Separator() + strings.TrimLeft(child, `/\`))); err != nil {
			return err
		}
	}

	return nil
}

// splitPath returns a part of a path: all but the last name, unless a flag says otherwise.
func splitPath(c *cmdlet.Call) error {
	if len(c.Flags) > 1 {
		return object.Thrown("%s : Parameter set cannot be resolved using the specified named parameters.", c.Name)
	}
	paths := c.Input
	for _, name := range []string{cmdlet.PathName, cmdlet.LiteralName} {
		for v := range object.Each(c.Values[name]) {
			paths = append(paths, v)
		}
	}

	for _, v := range paths {
		got, err := partOfPath(c, c.State.Separated(object.Text(v)))
		if err != nil {
			if err := c.Fail(err); err != nil {
				return err
			}
			continue
		}

		if err := c.Out.Put(got); err != nil {
			return err
		}
	}

	return nil
}

// partOfPath returns the part of one path that the flags ask for.
func partOfPath(c *cmdlet.Call, path string) (object.Value, error) {
	qualifier := ""
	if len(path) > 1 && path[1] == ':' {
		qualifier = path[:2]
	}
	switch {
	case c.Flags["isabsolute"]:
		return dotnet.Rooted(path), nil
	case c.Flags["qualifier"] && qualifier == "":
		return nil, words.Errorf("Cannot parse path because path '%s' does not have a qualifier specified.", path)
	case c.Flags["qualifier"]:
		return qualifier, nil
	case c.Flags["noqualifier"]:
		return path[len(qualifier):], nil
	}

	root := qualifier
	if len(path) > len(root) && isSeparator(path[len(root)]) {
		root = path[:len(root)+1]
	}

	rest := strings.TrimRight(path[len(root):], `/\`)
	cut := strings.LastIndexAny(rest, `/\`)
	if c.Flags["leaf"] {
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
func resolvePath(c *cmdlet.Call) error {
	_, missed, err := c.Targets()
	if err != nil {
		return err
	}
	for _, p := range missed {
		if err := c.Fail(provider.Because(p, fs.ErrNotExist)); err != nil {
			return err
		}
	}

	return c.ForEach(func(t cmdlet.Target) error {
		if _, err := os.Lstat(t.Full); err != nil {
			return err
		}
		return c.Output(provider.Location(filepath.Clean(t.Full)))
	})
}

// convertPath carries out Convert-Path: the full paths of items as texts.
func convertPath(c *cmdlet.Call) error {
	if err := c.ReportMissed(); err != nil {
		return err
	}
	return c.ForEach(func(t cmdlet.Target) error {
		if _, err := os.Lstat(t.Full); err != nil {
			return err
		}
		return c.Output(filepath.Clean(t.Full))
	})
}

// errThere is the error for a new name that is taken.
var errThere = words.Errorf("Cannot create a file when that file already exists.")

// moveItem moves files and folders into a folder, or to a new name.
func moveItem(c *cmdlet.Call) error {
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
	return c.ForEach(func(t cmdlet.Target) error {
		if _, err := os.Lstat(t.Full); err != nil {
			return err
		}
		at := to
		if info, err := os.Stat(to); err == nil && info.IsDir() {
			at = filepath.Join(to, filepath.Base(t.Full))
		}
		return errors.Join(moveTo(c, t.Full, at), passOn(c, at))
	})
}

// moveTo gives an item another path.
func moveTo(c *cmdlet.Call, from, to string) error {
	if rel, err := filepath.Rel(from, to); err == nil && rel != ".." &&
		!strings.HasPrefix(rel, ".."+string(filepath.Separator)) && !strings.EqualFold(rel, ".") {
		return words.Errorf("The destination %s is inside of the item that is moved.", to)
	}
	before, err := os.Lstat(from)
	if err != nil {
		return err
	}

	restore := func() error { return nil }
	if info, err := os.Lstat(to); err == nil && !os.SameFile(before, info) {
		if !c.Flags["force"] || info.IsDir() {
			return errThere
		}
		if restore, err = provider.Writable(to, true); err != nil {
			return err
		}
	}

	err = os.Rename(from, to)
	if err != nil && otherVolume(err, to) {
		err = copyAway(c, from, to, before)
	}
	if err != nil {
		return errors.Join(cause(to, err), restore())
	}

	return nil
}

// cause returns why an item cannot be moved to a path, in words of its own: a missing folder there must not look like a
// missing item.
func cause(to string, err error) error {
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	return words.Errorf("the destination %s: %v", to, err)
}

// otherVolume reports whether a name could not be changed because the new one is on another volume: a container's
// volumes are folders of drive C: here, and file systems of their own.
func otherVolume(err error, to string) bool {
	info, missing := os.Stat(filepath.Dir(to))
	return missing == nil && info.IsDir() && crossesVolumes(err)
}

// copyAway moves an item to another volume.
func copyAway(c *cmdlet.Call, from, to string, info fs.FileInfo) error {
	c.Flags["recurse"] = true
	switch {
	case info.IsDir():
		if err := copyTo(c, from, to, &picks{}); err != nil {
			return err
		}
		return os.RemoveAll(from)
	case !info.Mode().IsRegular():
		return words.Errorf("a link is not moved to another volume")
	}

	if err := provider.CopyFile(from, to, info.Mode().Perm(), c.Flags["force"]); err != nil {
		return err
	}
	return os.Remove(from)
}

// renameItem gives items a new name in their folder. A block is asked for the name of each.
func renameItem(c *cmdlet.Call) error {
	block, asked := c.Values["newname"].(*object.ScriptBlock)
	input := c.Input
	names := map[string]string{}
	if asked {
		if !c.Piped {
			return object.Thrown("%s : a block for -NewName without a pipeline is not part of Mullion's PowerShell.",
				c.Name)
		}

		for _, v := range input {
			var got []object.Value
			if err := c.WithBlock(block, v, object.Collect(&got)); err != nil {
				return err
			}
			names[c.State.Path(object.Text(v))] = object.Text(object.One(got))
		}
	}

	return c.ForEach(func(t cmdlet.Target) error {
		name := c.Text("newname")
		if asked {
			name = names[t.Full]
		}
		switch {
		case name == "":
			return words.Errorf("Cannot bind argument to parameter 'NewName' because it is an empty string.")
		case strings.ContainsAny(name, `/\:`):
			return words.Errorf("Cannot rename the specified target, because it represents a path or device name.")
		}

		if _, err := os.Lstat(t.Full); err != nil {
			return err
		}
		at := filepath.Join(filepath.Dir(t.Full), name)
		return errors.Join(moveTo(c, t.Full, at), passOn(c, at))
	})
}

// teeObject passes its input on, and writes it to a file or a variable too.
func teeObject(c *cmdlet.Call) error {
	if c.Values["filepath"] != nil && c.Values["variable"] != nil {
		return object.Thrown("%s : -FilePath and -Variable exclude each other.", c.Name)
	}

	if name, ok := c.Values["variable"]; ok {
		if err := c.Scope.SetNamed(object.Text(name), object.One(c.Input)); err != nil {
			return err
		}
	} else {
		if err := outFile(c); err != nil {
			return err
		}
	}

	for _, v := range c.Input {
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}

	return nil
}

func pathCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Join-Path",
			About:     "a path of two parts",
			Run:       joinPath,
			Values:    []string{cmdlet.PathName, "childpath"},
			Positions: []string{cmdlet.PathName, "childpath"},
			Takes:     cmdlet.PathName,
			Needs:     []string{cmdlet.PathName, "childpath"},
		},
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:  "Split-Path",
			About: "the folder of a path, or its last name, drive or rest",
			Run:   splitPath,
			Flags: []string{"parent", "leaf", "qualifier", "noqualifier", "isabsolute"},
			Needs: []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Resolve-Path",
			Wild:    true,
			Aliases: []string{"rvpa"},
			About:   "full paths of files and folders that are there",
			Run:     resolvePath,
			Needs:   []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:    "Convert-Path",
			Wild:    true,
			Aliases: []string{"cvpa"},
			About:   "full paths of files and folders that are there, as texts",
			Run:     convertPath,
			Needs:   []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Move-Item",
			Wild:      true,
			Aliases:   []string{"mv", "move", "mi"},
			About:     "moves files and folders",
			Run:       moveItem,
			Values:    []string{"destination"},
			Flags:     []string{"force", "passthru"},
			Positions: []string{"destination"},
			Needs:     []string{cmdlet.PathName},
		}),
		cmdlet.OfPath(cmdlet.Cmdlet{
			Name:      "Rename-Item",
			Aliases:   []string{"ren", "rni"},
			About:     "gives a file or folder a new name",
			Run:       renameItem,
			Values:    []string{"newname"},
			Flags:     []string{"force", "passthru"},
			Positions: []string{"newname"},
			Needs:     []string{cmdlet.PathName, "newname"},
		}),
		{
			Name:      "Tee-Object",
			Aliases:   []string{"tee"},
			About:     "passes objects on, and writes them to a file or variable",
			Run:       teeObject,
			Values:    []string{"filepath", cmdlet.ObjectName, "variable"},
			Flags:     []string{"append"},
			Positions: []string{"filepath"},
			Takes:     cmdlet.ObjectName,
			Needs:     []string{"filepath|variable", cmdlet.ObjectName},
		},
	}
}
