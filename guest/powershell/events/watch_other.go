//go:build !windows

package events

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// lookEvery is how often the folder is looked at.
const lookEvery = 20 * time.Millisecond

// state is what a file is like.
type state struct {
	size     int64
	modified time.Time
	folder   bool
}

// watch tells of what changes in a folder until stop is called: by looking at it, which sees no renames. It stands in
// for Windows' call in tests.
func watch(folder string, below bool, tell func([]change), _ func(error, bool)) (stop func(), err error) {
	before, err := look(folder, below)
	if err != nil {
		return nil, err
	}

	ended := make(chan struct{})
	go func() {
		clock := time.NewTicker(lookEvery)
		defer clock.Stop()

		for {
			select {
			case <-ended:
				return
			case <-clock.C:
			}

			now, err := look(folder, below)
			if err != nil {
				continue // it may come back
			}
			if all := differences(before, now); len(all) > 0 {
				tell(all)
			}

			before = now
		}
	}()

	return sync.OnceFunc(func() { close(ended) }), nil
}

func differences(before, now map[string]state) []change {
	var all []change
	for _, name := range slices.Sorted(maps.Keys(now)) {
		was, there := before[name]
		switch {
		case !there:
			all = append(all, change{kind: created, name: name})
		case was != now[name] && !was.folder:
			all = append(all, change{kind: changed, name: name})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := now[name]; !there {
			all = append(all, change{kind: deleted, name: name})
		}
	}
	return all
}

func look(folder string, below bool) (map[string]state, error) {
	all := map[string]state{}
	if _, err := os.ReadDir(folder); err != nil {
		return nil, err
	}
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return nil //nolint:nilerr // it has gone meanwhile
		}
		name, _ := filepath.Rel(folder, path) // it is below
		if info, err := d.Info(); err == nil {
			all[name] = state{info.Size(), info.ModTime(), d.IsDir()}
		}
		if d.IsDir() && !below {
			return fs.SkipDir
		}
		return nil
	})
	return all, err
}
