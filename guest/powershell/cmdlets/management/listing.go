package management

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/provider"
)

// listing is what Get-ChildItem is to list.
type listing struct {
	filter           *regexp.Regexp // -Filter, or nil
	include, exclude []*regexp.Regexp
	files, folders   bool
	depth            int64 // how many folders deep, -1 without a bound
	attributes       wantedAttributes
	hides            bool // hidden items, which only -Force, -Hidden and an -Attributes with Hidden show
}

func getChildItem(c *cmdlet.Call) error {
	here := c.Values[cmdlet.PathName] == nil && c.Values[cmdlet.LiteralName] == nil && !c.Piped
	if here && c.State.Elsewhere != "" {
		c.Values[cmdlet.PathName] = c.State.Elsewhere
	}
	if done, err := ofCertificates(c, listNode(c), "recurse"); done || err != nil {
		return err
	}
	if done, err := c.ForSession(putItem(c)); done || err != nil {
		return err
	}
	l, err := newListing(c)
	if err != nil {
		return err
	}

	if here && c.State.Elsewhere == "" {
		return l.list(c, cmdlet.Target{Name: c.State.Dir, Full: c.State.Dir})
	}
	if l.depth != 0 {
		if err := l.deep(c); err != nil {
			return err
		}
	}
	return c.ForEach(func(t cmdlet.Target) error { return l.list(c, t) })
}

// deep lists the paths of -Path that name no folder, together with those below: -Recurse takes the last part of such a
// path as -Include for the folder above. The other paths remain, and so do all if there is an -Include: it is for what
// is in the folders that they name
// (https://github.com/PowerShell/PowerShell/blob/v7.4.6/src/System.Management.Automation/engine/SessionStateContainer.cs).
func (l *listing) deep(c *cmdlet.Call) error {
	if len(l.include) > 0 {
		return nil
	}
	rest := []object.Value{}
	for v := range object.Each(c.Values[cmdlet.PathName]) {
		path := c.State.Placed(object.Text(v))
		info, err := os.Stat(c.State.Path(path))
		_, environment := provider.EnvironmentItem(path)
		if environment || provider.OnRegistry.MatchString(path) || (err == nil && info.IsDir()) {
			rest = append(rest, v)
			continue
		}

		at := strings.LastIndexAny(path, `\/`) + 1
		above, name := path[:at], path[at:]
		if provider.HasWildcard(above) {
			return object.Thrown("%s : wild cards in a folder of -Path together with -Recurse are not part of Mullion's "+
				"PowerShell; -Filter takes those of names.", c.Name)
		}
		re, err := pattern.Wildcard(name)
		if err != nil {
			return err
		}

		one := *l
		one.include = []*regexp.Regexp{re}
		above = cmp.Or(above, ".")
		if err := one.list(c, cmdlet.Target{Name: above, Full: filepath.Clean(c.State.Path(above))}); err != nil {
			if err = unread(c, c.State.Path(above), err); err != nil {
				return err
			}
		}
	}
	if c.Values[cmdlet.PathName] != nil {
		c.Values[cmdlet.PathName] = rest
		if len(rest) == 0 {
			delete(c.Values, cmdlet.PathName)
		}
	}
	return nil
}

// newListing reads the parameters of Get-ChildItem.
func newListing(c *cmdlet.Call) (*listing, error) {
	l := &listing{files: !c.Flags["directory"], folders: !c.Flags["file"]}
	if c.Flags["recurse"] {
		l.depth = -1
	}

	var err error
	if l.attributes, err = newWanted(c); err != nil {
		return nil, err
	}
	l.hides = !c.Flags["force"] && !l.attributes.mention(attributeHidden)
	if v, ok := c.Values["depth"]; ok {
		n, err := object.Integer(v)
		if err != nil || n < 0 {
			return nil, object.Thrown("%s : -Depth is a number, 0 or more, not %s.", c.Name, object.Text(v))
		}
		l.depth = n
	}

	if v, ok := c.Values["filter"]; ok && object.Text(v) != "*.*" {
		re, err := pattern.Wildcard(strings.ReplaceAll(object.Text(v), "[", "`["))
		if err != nil {
			return nil, err
		}
		l.filter = re
	}

	for name, to := range map[string]*[]*regexp.Regexp{"include": &l.include, "exclude": &l.exclude} {
		for v := range object.Each(c.Values[name]) {
			re, err := pattern.Wildcard(object.Text(v))
			if err != nil {
				return nil, err
			}
			*to = append(*to, re)
		}
	}

	return l, nil
}

// shows reports whether an item is listed.
func (l *listing) shows(e fs.FileInfo) bool {
	matches := func(re *regexp.Regexp) bool { return re.MatchString(e.Name()) }
	switch {
	case e.IsDir() && !l.folders, !e.IsDir() && !l.files, l.filter != nil && !matches(l.filter):
		return false
	case len(l.include) > 0 && !slices.ContainsFunc(l.include, matches), !l.attributes.met(provider.Attributes(e)):
		return false
	}
	return !slices.ContainsFunc(l.exclude, matches)
}

// list lists a file, or what is in a folder.
func (l *listing) list(c *cmdlet.Call, t cmdlet.Target) error {
	if name, ok := provider.EnvironmentItem(t.Name); ok {
		return variables(c, name)
	}
	if k, ok := t.Key(); ok {
		return showSubkeys(c, k, "")
	}

	info, err := os.Stat(t.Full)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		if !l.shows(info) {
			return nil
		}
		return showItem(c, t.Full, info.Name(), info)

	case t.Matched && l.depth == 0: // the folder itself, not what is in it
		if !l.shows(info) {
			return nil
		}
		return showItem(c, t.Full, info.Name(), info)
	case len(l.include) > 0 && l.depth == 0: // it is for what a path with wild cards names
		return nil
	}

	return l.folder(c, t.Full, "", l.depth)
}

// variables lists variables of the environment by their name, which may have wild cards; all without one.
func variables(c *cmdlet.Call, name string) error {
	re, err := pattern.Wildcard(cmp.Or(name, "*"))
	if err != nil {
		return err
	}

	t := object.NewTable(false)
	for _, n := range slices.Sorted(maps.Keys(c.State.Env)) {
		if re.MatchString(n) {
			t.Set(c.State.Spelled(n), c.State.Env[n])
		}
	}

	if len(t.Keys) == 0 && name != "" && !provider.HasWildcard(name) {
		return fs.ErrNotExist
	}

	for _, e := range t.Entries() {
		if c.Flags["name"] {
			e, _ = object.Property(e, "name")
		}
		if err := c.Output(e); err != nil {
			return err
		}
	}

	return nil
}

// folder lists what is in a folder, and then in its folders. A link to a folder is listed, not followed. under is the
// way from the first folder.
func (l *listing) folder(c *cmdlet.Call, dir, under string, depth int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}

	slices.SortFunc(entries, func(a, b fs.DirEntry) int { // folders first
		if a.IsDir() != b.IsDir() {
			return map[bool]int{true: -1, false: 1}[a.IsDir()]
		}
		return cmp.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})

	for _, e := range entries {
		if err := c.State.Context.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || !l.shows(info) || (l.hides && provider.Attributes(info)&attributeHidden != 0) {
			continue // gone since, or not asked for
		}

		if err := showItem(c, filepath.Join(dir, e.Name()), under+e.Name(), info); err != nil {
			return err
		}
	}

	for _, e := range entries {
		if depth == 0 || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := l.folder(c, path, under+e.Name()+c.State.Separator(), depth-1); err != nil {
			if err = unread(c, path, err); err != nil {
				return err
			}
		}
	}

	return nil
}

// showItem passes on an item, or with -Name the way to it.
func showItem(c *cmdlet.Call, path, name string, info fs.FileInfo) error {
	if c.Flags["name"] {
		return c.Output(name)
	}
	return c.Output(provider.Item(path, info))
}

// unread reports a folder that cannot be read; what ends the script does so.
func unread(c *cmdlet.Call, path string, err error) error {
	if _, ends := errors.AsType[*object.Leaving](err); ends || c.State.Context.Err() != nil {
		return err
	}
	return c.Fail(provider.Because(path, err))
}
