package powershell

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
)

// listing is what Get-ChildItem is to list.
type listing struct {
	filter           *regexp.Regexp // -Filter, or nil
	include, exclude []*regexp.Regexp
	files, folders   bool
	depth            int64 // how many folders deep, -1 without a bound
}

func getChildItem(c *call) error {
	l, err := c.listing()
	if err != nil {
		return err
	}
	if c.values[pathName] == nil && c.values[literalName] == nil && !c.piped {
		return l.list(c, target{name: c.f.in.dir, full: c.f.in.dir})
	}
	for v := range each(c.values[pathName]) {
		if l.depth != 0 && hasWildcard(text(v)) {
			return thrown("%s : wild cards in -Path together with -Recurse are not part of Mullion's PowerShell; "+
				"-Filter takes them.", c.name)
		}
	}
	return c.forEach(func(t target) error { return l.list(c, t) })
}

// listing reads the parameters of Get-ChildItem.
func (c *call) listing() (*listing, error) {
	l := &listing{files: !c.flags["directory"], folders: !c.flags["file"]}
	if c.flags["recurse"] {
		l.depth = -1
	}
	if v, ok := c.values["depth"]; ok {
		n, err := integer(v)
		if err != nil || n < 0 {
			return nil, thrown("%s : -Depth is a number, 0 or more, not %s.", c.name, text(v))
		}
		l.depth = n
	}
	if v, ok := c.values["filter"]; ok && text(v) != "*.*" {
		re, err := wildcard(strings.ReplaceAll(text(v), "[", "`["))
		if err != nil {
			return nil, err
		}
		l.filter = re
	}
	for name, to := range map[string]*[]*regexp.Regexp{"include": &l.include, "exclude": &l.exclude} {
		for v := range each(c.values[name]) {
			if l.depth == 0 {
				return nil, thrown("%s : -%s without -Recurse is not part of Mullion's PowerShell.", c.name, name)
			}
			re, err := wildcard(text(v))
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
	case len(l.include) > 0 && !slices.ContainsFunc(l.include, matches):
		return false
	}
	return !slices.ContainsFunc(l.exclude, matches)
}

// list lists a file, or what is in a folder.
func (l *listing) list(c *call, t target) error {
	if name, ok := environmentItem(t.name); ok {
		return c.variables(name)
	}
	if k, ok := t.key(); ok {
		return c.showSubkeys(k, "")
	}
	info, err := os.Stat(t.full)
	switch {
	case err != nil:
		return err
	case !info.IsDir() && l.depth != 0:
		return thrown("%s : -Recurse for %s, a file, is not part of Mullion's PowerShell.", c.name, t.name)
	case !info.IsDir():
		if !l.shows(info) {
			return nil
		}
		return c.showItem(t.full, info.Name(), info)
	case t.matched:
		return thrown("%s : wild cards that match a folder, %s, are not part of Mullion's PowerShell.", c.name, t.name)
	}
	return l.folder(c, t.full, "", l.depth)
}

// variables lists variables of the environment by their name, which may have wild cards; all without one.
func (c *call) variables(name string) error {
	re, err := wildcard(cmp.Or(name, "*"))
	if err != nil {
		return err
	}
	t := newTable(false)
	for _, n := range slices.Sorted(maps.Keys(c.f.in.env)) {
		if re.MatchString(n) {
			t.set(n, c.f.in.env[n])
		}
	}
	if len(t.keys) == 0 && name != "" && !hasWildcard(name) {
		return fs.ErrNotExist
	}
	for _, e := range t.entries() {
		if c.flags["name"] {
			e, _ = property(e, "name")
		}
		if err := c.show(e); err != nil {
			return err
		}
	}
	return nil
}

// folder lists what is in a folder, and then in its folders. A link to a folder is listed, not followed. under is the
// way from the first folder.
func (l *listing) folder(c *call, dir, under string, depth int64) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { // folders first
		if a.IsDir() != b.IsDir() {
			return map[bool]int{true: -1, false: 1}[a.IsDir()]
		}
		return cmp.Compare(lower(a.Name()), lower(b.Name()))
	})
	for _, e := range entries {
		if err := c.f.in.ctx.Err(); err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil || !l.shows(info) {
			continue // gone since, or not asked for
		}
		if err := c.showItem(filepath.Join(dir, e.Name()), under+e.Name(), info); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if depth == 0 || !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := l.folder(c, path, under+e.Name()+c.f.in.separator(), depth-1); err != nil {
			if err = c.unread(path, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// showItem passes on an item, or with -Name the way to it.
func (c *call) showItem(path, name string, info fs.FileInfo) error {
	if c.flags["name"] {
		return c.show(name)
	}
	return c.show(item(path, info))
}

// unread reports a folder that cannot be read; what ends the script does so.
func (c *call) unread(path string, err error) error {
	if _, ends := errors.AsType[*leaving](err); ends || c.f.in.ctx.Err() != nil {
		return err
	}
	return c.fail(because(path, err))
}
