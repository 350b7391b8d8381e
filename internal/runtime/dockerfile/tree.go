package dockerfile

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// tree are the files of a stage, by their names. On C: names that differ by case alone are the same.
type tree struct {
	entries map[string]entry
	// in are the keys of what is in a folder, by its own; the root's is "".
	in map[string]map[string]struct{}
	// exact says that the tree is Linux': case counts, and links lead elsewhere on the way to a file.
	exact bool
	// room makes files for the bytes of what is packed.
	room func() (*os.File, error)
}

func newTree(exact bool, room func() (*os.File, error)) tree {
	return tree{
		entries: map[string]entry{},
		in:      map[string]map[string]struct{}{},
		exact:   exact,
		room:    room,
	}
}

// clone returns a tree that changes by itself.
func (t tree) clone() tree {
	t.entries, t.in = maps.Clone(t.entries), maps.Clone(t.in)
	for folder, files := range t.in {
		t.in[folder] = maps.Clone(files)
	}
	return t
}

// set gives a file its entry. The folder that it is in has one.
func (t tree) set(e entry) {
	key := t.key(e.Name)
	t.entries[key] = e

	folder := parentOf(key)
	if t.in[folder] == nil {
		t.in[folder] = map[string]struct{}{}
	}
	t.in[folder][key] = struct{}{}
}

// parentOf returns the name of the folder that a file is in; "" is the root.
func parentOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '/'))] }

// entry is a file of a tree.
type entry struct {
	imagebuild.File

	packed packed
}

// packed is where the bytes of a file are until somebody wants them: a layer, and the file's name there.
type packed struct {
	layer *imagebuild.Layer
	name  string
}

// key returns the name by which a file is found.
func (t tree) key(name string) string {
	if t.exact {
		return name
	}
	return strings.ToLower(name)
}

func (t tree) find(name string) (imagebuild.File, bool) {
	e, ok := t.entries[t.key(name)]
	return e.File, ok
}

// mostLinks bounds the links on the way to a file, as Linux does.
const mostLinks = 40

// mostName bounds a name, in bytes, as Linux does.
const mostName = 4096

// short refuses a name that no program could use.
func short(name string) error {
	if len(name) > mostName {
		return refuse(errdefs.ErrInvalidArgument, "a name has more than %d bytes", mostName)
	}
	return nil
}

// real returns the name of a file with the links on its way followed, and the file itself if it is one. It is an error
// if there are too many of them, as where a link leads to itself.
func (t tree) real(name string) (string, error) {
	if err := short(name); err != nil || !t.exact {
		return name, err
	}

	at, parts := "", strings.Split(name, "/")
	for links := 0; len(parts) > 0; {
		part := parts[0]
		parts = parts[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = strings.TrimPrefix(path.Dir("/"+at), "/")
			continue
		}

		next := path.Join(at, part)
		if err := short(next); err != nil {
			return "", err
		}
		e, ok := t.entries[next]
		if !ok || e.Kind != fs.ModeSymlink {
			at = next
			continue
		}

		if links++; links > mostLinks {
			return "", refuse(errdefs.ErrInvalidArgument, "more than %d links are on the way to %s", mostLinks, t.shown(name))
		}
		if path.IsAbs(e.Link) {
			at = ""
		}
		parts = append(strings.Split(e.Link, "/"), parts...)
	}

	return at, nil
}

// isFolder reports whether a name is a folder; "" is the root.
func (t tree) isFolder(name string) (bool, error) {
	name, err := t.real(name)
	f, ok := t.find(name)
	return err == nil && (name == "" || (ok && f.Kind == fs.ModeDir)), err
}

// glob implements source.
func (t tree) glob(pattern string) ([]string, error) {
	pattern = strings.Trim(pattern, "/")
	if pattern == "" || pattern == "." {
		return []string{""}, nil
	}

	if !hasWildcard(pattern) {
		name, err := t.real(pattern)
		f, ok := t.find(name)
		switch {
		case err != nil, !ok:
			return nil, err
		case t.exact:
			return []string{pattern}, nil
		}
		return []string{f.Name}, nil
	}

	// Only folders above the first wildcard can be links to be followed.
	above, below := "", pattern
	for {
		part, rest, more := strings.Cut(below, "/")
		if !more || hasWildcard(part) {
			break
		}
		above, below = path.Join(above, part), rest
	}

	above, err := t.real(above)
	if err != nil {
		return nil, err
	}
	pattern = t.key(path.Join(above, below))

	var found []string
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		match, err := path.Match(pattern, key)
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w: %w", pattern, err, errdefs.ErrInvalidArgument)
		}
		if match {
			found = append(found, t.entries[key].Name)
		}
	}

	return found, nil
}

// list implements source.
func (t tree) list(ctx context.Context, name string) (files []imagebuild.File, folder bool, err error) {
	if err := t.unpack(ctx, name); err != nil {
		return nil, false, err
	}

	name, err = t.real(name)
	if err != nil {
		return nil, false, err
	}
	folder, err = t.isFolder(name)
	if err != nil {
		return nil, false, err
	}
	if !folder {
		f, ok := t.find(name)
		if !ok {
			return nil, false, fs.ErrNotExist
		}
		f.Name = ""
		return []imagebuild.File{f}, false, nil
	}

	below := t.below(name)
	above := strings.Count(below, "/") // a name has not always as many bytes as its key
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		if strings.HasPrefix(key, below) {
			f := t.entries[key].File
			f.Name = strings.SplitN(f.Name, "/", above+1)[above]
			files = append(files, f)
		}
	}

	return files, true, nil
}

// below returns what the keys of files in a folder begin with.
func (t tree) below(name string) string {
	if name == "" {
		return ""
	}
	return t.key(name) + "/"
}

// unpack takes the bytes of files, and of those in folders, out of their layers. Each layer is read once.
func (t tree) unpack(ctx context.Context, names ...string) error {
	wanted := map[*imagebuild.Layer]map[string][]string{} // keys of files by their names in a layer
	want := func(key string) {
		e := t.entries[key]
		if e.packed.layer == nil || e.Kind != 0 || e.Source != "" {
			return
		}
		of := wanted[e.packed.layer]
		if of == nil {
			of = map[string][]string{}
			wanted[e.packed.layer] = of
		}

		of[e.packed.name] = append(of[e.packed.name], key)
	}

	for _, name := range names {
		name, err := t.real(name)
		if err != nil {
			return err
		}
		folder, err := t.isFolder(name)
		if err != nil {
			return err
		}
		if !folder {
			want(t.key(name))
			continue
		}

		for key := range t.entries {
			if strings.HasPrefix(key, t.below(name)) {
				want(key)
			}
		}
	}

	for layer, files := range wanted {
		if err := t.unpackLayer(ctx, layer, files); err != nil {
			return err
		}
	}

	return nil
}

// unpackLayer takes files out of a layer. Where it has a name twice the last one counts.
func (t tree) unpackLayer(ctx context.Context, layer *imagebuild.Layer, files map[string][]string) error {
	from, err := layer.Bytes().Uncompressed()
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()

	for r := tar.NewReader(interruptible(ctx, from)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		keys := files[path.Clean("/"+header.Name)]
		if len(keys) == 0 || header.Typeflag != tar.TypeReg {
			continue
		}
		source, size, err := t.keep(r)
		if err != nil {
			return err
		}

		for _, key := range keys {
			e := t.entries[key]
			e.Source, e.Size = source, size
			t.entries[key] = e
		}
	}
}

// keep writes bytes to a file of the build's own.
func (t tree) keep(from io.Reader) (name string, size int64, err error) {
	file, err := t.room()
	if err != nil {
		return "", 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err = io.Copy(file, from)
	return file.Name(), size, err
}

// remove removes what is below a name, and it itself if asked to.
func (t tree) remove(name string, itself bool) {
	key := t.key(name)
	t.empty(key)
	if itself {
		delete(t.entries, key)
		delete(t.in[parentOf(key)], key)
	}
}

// empty removes what is in the folder of a key. It looks at nothing else: a layer may remove as many files as it has.
func (t tree) empty(folder string) {
	for key := range t.in[folder] {
		t.empty(key)
		delete(t.entries, key)
	}
	delete(t.in, folder)
}

// take takes in what an instruction has added.
func (t tree) take(c *change) {
	for _, f := range c.files {
		t.set(entry{File: f})
	}
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
	// uid and gid are those of folders that are made; C: has none.
	uid, gid int
}

// The permissions of what is made where nobody says others; C: has none.
const (
	folderMode = 0o755
	fileMode   = 0o644
)

func (t tree) change() *change { return &change{on: t, files: map[string]imagebuild.File{}} }

// find looks among what was added, then in the tree.
func (c *change) find(name string) (imagebuild.File, bool) {
	if f, ok := c.files[c.on.key(name)]; ok {
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
	name, err := c.on.real(name)
	if err != nil || name == "" {
		return "", err
	}

	switch f, ok := c.find(name); {
	case ok && f.Kind == fs.ModeDir:
		return f.Name, nil
	case ok:
		return "", refuse(errdefs.ErrInvalidArgument, "%s is a file, and not a folder", c.on.shown(f.Name))
	}

	parent, err := c.folder(parentOf(name))
	if err != nil {
		return "", err
	}

	own := path.Join(parent, path.Base(name))
	c.files[c.on.key(own)] = imagebuild.File{
		Name: own,
		Kind: fs.ModeDir,
		Mode: folderMode,
		UID:  c.uid,
		GID:  c.gid,
	}

	return own, nil
}

// add adds a file, a link or a folder.
func (c *change) add(f imagebuild.File) error {
	if err := short(f.Name); err != nil {
		return err
	}
	if f.Kind == fs.ModeDir {
		_, err := c.folder(f.Name)
		return err
	}
	if c.isFolder(f.Name) || (!c.on.exact && ofWindows(f.Name)) {
		return refuse(errdefs.ErrInvalidArgument, "%s is a folder, and not a file", c.on.shown(f.Name))
	}

	parent, err := c.folder(parentOf(f.Name))
	if err != nil {
		return err
	}

	f.Name = path.Join(parent, path.Base(f.Name))
	c.files[c.on.key(f.Name)] = f
	return nil
}

// shown returns a name as a person writes it.
func (t tree) shown(name string) string {
	if t.exact {
		return "/" + name
	}
	return windowsPath(name)
}

// sorted returns the files, a folder before what is in it.
func (c *change) sorted() []imagebuild.File {
	return slices.SortedFunc(maps.Values(c.files), func(a, b imagebuild.File) int {
		return strings.Compare(a.Name, b.Name)
	})
}
