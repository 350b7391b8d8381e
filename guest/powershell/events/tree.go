package events

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
)

// mostBelow is how many of the folders that are there already are watched below a folder: each costs a thread and a
// buffer.
const mostBelow = 64

const separator = string(filepath.Separator)

// watchFunc tells of what changes in a folder until stop is called. fails gets an error; over says that nothing more
// comes.
type watchFunc func(
	folder string, below bool, tell func([]change), fails func(err error, over bool),
) (stop func(), err error)

// tree is a folder that is watched with those below it. Wine tells of what changes in folders that are made later, but
// not in those that are there already: each of these has a watch of its own.
type tree struct {
	folder string
	watch  watchFunc
	tell   func([]change)
	fails  func(err error, over bool)

	mu    sync.Mutex
	stops map[string]func() // by folder, below the first
	over  bool
}

// watchTree watches a folder, and those below it if that is asked for.
func watchTree(
	watch watchFunc, folder string, below bool, tell func([]change), fails func(err error, over bool),
) (stop func(), err error) {
	if !below {
		return watch(folder, false, tell, fails)
	}
	t := &tree{
		folder: folder,
		watch:  watch,
		tell:   tell,
		fails:  fails,
		stops:  map[string]func(){},
	}
	first, err := watch(folder, true, t.from(""), func(err error, over bool) {
		if over {
			t.remove("") // nobody would stop them any more
		}
		fails(err, over)
	})
	if err != nil {
		return nil, err
	}

	names, more := foldersBelow(folder)
	for _, name := range names {
		t.add(name)
	}
	if more {
		fails(fmt.Errorf("%s has more than %d folders below it: changes in the others are not told", folder, mostBelow), false)
	}

	return func() {
		first()
		t.remove("")
	}, nil
}

// foldersBelow returns the folders below a folder, by their paths from it, and whether there are more than mostBelow.
// Links are not followed.
func foldersBelow(folder string) (names []string, more bool) {
	stop := errors.New("enough")
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be read cannot be watched
		}
		if !d.IsDir() || path == folder {
			return nil
		}
		if len(names) == mostBelow {
			return stop
		}
		if name, err := filepath.Rel(folder, path); err == nil {
			names = append(names, name)
		}
		return nil
	})
	return names, errors.Is(err, stop)
}

// add watches a folder below the first. One that is gone by now is left out.
func (t *tree) add(name string) {
	stop, err := t.watch(filepath.Join(t.folder, name), true, t.from(name), func(err error, over bool) {
		if over {
			t.remove(name) // it was removed, or comes no more: the watch above it tells then
			return
		}
		t.fails(err, false)
	})
	if err != nil {
		return
	}

	t.mu.Lock()
	over := t.over
	if !over {
		t.stops[name] = stop
	}
	t.mu.Unlock()
	if over {
		stop()
	}
}

// remove ends the watches of a folder and of those below it; "" means all.
func (t *tree) remove(name string) {
	t.mu.Lock()
	var stops []func()
	for one, stop := range t.stops {
		if name == "" || one == name || strings.HasPrefix(one, name+separator) {
			stops = append(stops, stop)
			delete(t.stops, one)
		}
	}
	t.over = t.over || name == ""
	t.mu.Unlock()

	for _, stop := range stops {
		stop()
	}
}

// from returns who takes the changes that the watch of a folder tells: with their paths from the first folder, and
// without those that the watch of a folder below it tells too.
func (t *tree) from(folder string) func([]change) {
	return func(all []change) {
		var told []change
		for _, one := range all {
			if folder != "" {
				one.name = folder + separator + one.name
				if one.old != "" {
					one.old = folder + separator + one.old
				}
			}
			if t.toldBelow(folder, one.name) {
				continue
			}
			told = append(told, one)

			switch one.kind {
			case deleted:
				t.remove(one.name)
			case renamed:
				t.remove(one.old)
			}
		}
		if len(told) > 0 {
			t.tell(told)
		}
	}
}

// toldBelow reports whether a folder below another one has a watch that tells of a name too.
func (t *tree) toldBelow(folder, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	parent := name
	for {
		at := strings.LastIndexByte(parent, filepath.Separator)
		if at < 0 {
			return false
		}
		parent = parent[:at]
		if parent == folder {
			return false
		}
		if _, watched := t.stops[parent]; watched {
			return true
		}
	}
}
