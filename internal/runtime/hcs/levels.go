package hcs

import (
	"io/fs"
	"os"
	"path/filepath"
)

// level is a layer below.
type level struct {
	folder *os.Root
	hidden *os.Root // nil: it hides nothing
}

// levels are the layers below one, top first.
type levels []level

// openBelow opens the layers below one.
func (l *layers) openBelow(parents []string) (all levels, err error) {
	defer func() {
		if err != nil {
			all.close()
			all = nil
		}
	}()

	for _, p := range parents {
		one := level{}
		if one.folder, err = l.openRoot(p); err != nil {
			return all, err
		}
		all = append(all, one)
		if all[len(all)-1].hidden, err = l.hide(one.folder); err != nil {
			return all, err
		}
	}

	return all, nil
}

func (l levels) close() {
	for _, one := range l {
		_ = one.folder.Close()
		if one.hidden != nil {
			_ = one.hidden.Close()
		}
	}
}

// found is an entry of the layers below, and which of them has it on top.
type found struct {
	name  string
	isDir bool
	level *os.Root
}

// merged returns the entries of a folder of all layers below, by their lower case.
func (l levels) merged(at string) map[string]found {
	all, hidden := map[string]found{}, map[string]bool{}
	for _, one := range l {
		if ends(one.folder, at) {
			break
		}
		for lower, e := range names(one.folder, at) {
			if _, above := all[lower]; !above && !hidden[lower] {
				all[lower] = found{
					name:  e.Name(),
					isDir: e.IsDir(),
					level: one.folder,
				}
			}
		}

		if one.hidden == nil {
			continue
		}
		if ends(one.hidden, at) {
			break
		}

		for lower, e := range names(one.hidden, at) {
			if e.Type()&fs.ModeCharDevice != 0 {
				hidden[lower] = true
			}
		}
	}

	return all
}

// ends reports whether a layer has something else in the place of a folder or of one above it, which hides the folder
// of the layers below. A link is something else: what it leads to is in another folder.
func ends(root *os.Root, at string) bool {
	for i, r := range at + "/" {
		if r != '/' {
			continue
		}
		info, err := root.Lstat(at[:i])
		if err != nil {
			return false
		}
		if !info.IsDir() {
			return true
		}
	}
	return false
}

// is reports whether a file of another layer is this one, by a further name. at is the file's path.
func (f found) is(at string, info fs.FileInfo) bool {
	if f.level == nil {
		return false
	}
	own, err := f.level.Lstat(filepath.Join(filepath.Dir(at), f.name))
	return err == nil && os.SameFile(own, info)
}
