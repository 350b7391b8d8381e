package events

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/session"
)

// watcher is a System.IO.FileSystemWatcher.
type watcher struct {
	changes [4]source // of created, deleted, changed, renamed
	fails   source

	mu      sync.Mutex
	path    string // as it was given
	folder  string // the whole path
	filter  string
	below   bool // IncludeSubdirectories
	notify  object.Value
	enabled bool
	stop    func()
	turn    int // how often it has begun
}

// index returns the place of a kind's listeners.
func index(kind int64) int {
	for i, one := range []int64{created, deleted, changed, renamed} {
		if one == kind {
			return i
		}
	}
	return 0
}

// setPath gives the watcher a folder.
func (w *watcher) setPath(s *session.State, v object.Value) error {
	path := object.Text(v)
	folder := path
	if s != nil {
		folder = s.Path(path)
	}
	if info, err := os.Stat(folder); path == "" || err != nil || !info.IsDir() {
		return object.Raise("System.ArgumentException", "The directory name "+path+" is invalid.")
	}
	w.mu.Lock()
	w.path, w.folder = path, folder
	w.mu.Unlock()
	return w.again()
}

// again watches anew, after what it watches has changed.
func (w *watcher) again() error {
	w.mu.Lock()
	enabled := w.enabled
	w.mu.Unlock()
	if !enabled {
		return nil
	}
	w.end()
	return w.begin()
}

// begin watches the folder.
func (w *watcher) begin() error {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.enabled = true
	if w.stop != nil || w.folder == "" {
		return nil
	}

	w.turn++
	turn := w.turn
	stop, err := watchTree(watch, w.folder, w.below, func(all []change) {
		for _, one := range all {
			w.tell(one)
		}
	}, func(err error, over bool) {
		if over {
			w.over(turn)
		}
		w.fails.tell(object.New("error event").Set("Message", err.Error()))
	})
	if err != nil {
		return object.Raise("System.IO.FileNotFoundException", "Error reading the "+w.path+" directory.")
	}

	w.stop = stop
	return nil
}

// over notes that a watch has ended by an error, unless another one has begun since: EnableRaisingEvents is false then,
// as in .NET, and begins anew.
func (w *watcher) over(turn int) {
	go func() { // who has this error may hold the lock
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.turn == turn {
			w.stop, w.enabled = nil, false
		}
	}()
}

func (w *watcher) end() {
	w.mu.Lock()
	stop := w.stop
	w.stop = nil
	w.enabled = false
	w.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// wants reports whether the filter matches a name below the folder. *.* matches all names, as in the .NET Framework.
func (w *watcher) wants(name string) bool {
	w.mu.Lock()
	filter := w.filter
	w.mu.Unlock()
	if filter == "" || filter == "*" || filter == "*.*" {
		return true
	}
	re, err := pattern.Wildcard(filter)
	return err == nil && re.MatchString(filepath.Base(strings.ReplaceAll(name, `\`, "/")))
}

// tell tells a change to those who listen for its kind.
func (w *watcher) tell(one change) {
	if !w.wants(one.name) && (one.old == "" || !w.wants(one.old)) {
		return
	}
	w.mu.Lock()
	folder := w.folder
	w.mu.Unlock()

	full := func(name string) string { return strings.TrimRight(folder, `\/`) + string(filepath.Separator) + name }
	args := object.New("file event").Set("ChangeType", kindOf(one.kind)).Set("FullPath", full(one.name)).Set("Name", one.name)
	if one.kind == renamed {
		args.Set("OldFullPath", full(one.old)).Set("OldName", one.old)
	}
	w.changes[index(one.kind)].tell(args)
}

// waitForChanged waits for one change of kinds, or until a time in milliseconds is over
// (https://learn.microsoft.com/en-us/dotnet/api/system.io.filesystemwatcher.waitforchanged).
func waitForChanged(c *object.Call) (object.Value, error) {
	w := object.Own[*watcher](c.On)
	kinds, known := object.EnumOf(changesName).Parsed(c.Arg(0))
	if !known {
		return nil, object.CannotConvert(c.Arg(0), "System."+changesName)
	}
	wanted := kinds.N

	var late <-chan time.Time
	if len(c.Args) > 1 {
		millis, err := c.Whole(1)
		if err != nil {
			return nil, err
		}
		if millis >= 0 {
			clock := time.NewTimer(time.Duration(millis) * time.Millisecond)
			defer clock.Stop()
			late = clock.C
		}
	}

	var mu sync.Mutex
	var got *object.Object
	done := make(chan struct{})
	for _, kind := range []int64{created, deleted, changed, renamed} {
		if wanted&kind == 0 {
			continue
		}
		defer w.changes[index(kind)].listen(func(args object.Value) {
			mu.Lock()
			defer mu.Unlock()
			if got == nil {
				got = args.(*object.Object)
				close(done)
			}
		})()
	}

	w.mu.Lock()
	before := w.enabled
	w.mu.Unlock()
	if err := w.begin(); err != nil {
		return nil, err
	}
	if !before {
		defer w.end()
	}
	if err := c.State.Await(done, late); err != nil {
		return nil, err
	}

	mu.Lock()
	defer mu.Unlock()
	result := object.New("change")
	if got == nil {
		return result.Set("ChangeType", kindOf(0)).Set("Name", nil).Set("OldName", nil).Set("TimedOut", true), nil
	}
	return result.Set("ChangeType", got.Props["changetype"]).Set("Name", got.Props["name"]).
		Set("OldName", got.Props["oldname"]).Set("TimedOut", false), nil
}

// WatcherClass returns the class System.IO.FileSystemWatcher
// (https://learn.microsoft.com/en-us/dotnet/api/system.io.filesystemwatcher). All changes that Windows tells of are
// events, whatever NotifyFilter says.
func WatcherClass() *object.Class {
	own := func(v object.Value) *watcher { return object.Own[*watcher](v) }
	locked := func(w *watcher, do func()) {
		w.mu.Lock()
		defer w.mu.Unlock()
		do()
	}
	field := func(
		name string, get func(w *watcher) object.Value, set func(w *watcher, v object.Value) error,
	) object.Field {
		f := object.Field{Name: name, Get: func(_ *session.State, v object.Value) (got object.Value, err error) {
			locked(own(v), func() { got = get(own(v)) })
			return got, nil
		}}
		if set != nil {
			f.Set = func(of, v object.Value) error { return set(own(of), v) }
		}
		return f
	}
	event := func(name string, of func(w *watcher) *source) object.Event {
		return object.Event{Name: name, Listen: func(v object.Value, to func(args object.Value)) func() {
			return of(own(v)).listen(to)
		}}
	}
	kind := func(name string, kind int64) object.Event {
		return event(name, func(w *watcher) *source { return &w.changes[index(kind)] })
	}

	return &object.Class{
		Name: "System.IO.FileSystemWatcher",
		Make: &object.Method{Most: 2, Do: func(c *object.Call) (object.Value, error) {
			w := &watcher{filter: "*.*"}
			if len(c.Args) > 0 {
				if err := w.setPath(c.State, c.Arg(0)); err != nil {
					return nil, err
				}
			}
			if len(c.Args) > 1 {
				w.filter = c.Text(1)
			}
			c.State.Closers = append(c.State.Closers, w.end)
			return &object.Instance{Of: WatcherClass(), V: w}, nil
		}},
		Props: []object.Field{
			field("Path", func(w *watcher) object.Value { return w.path },
				func(w *watcher, v object.Value) error { return w.setPath(nil, v) }),
			field("Filter", func(w *watcher) object.Value { return w.filter }, func(w *watcher, v object.Value) error {
				locked(w, func() { w.filter = object.Text(v) })
				return nil
			}),
			field("IncludeSubdirectories", func(w *watcher) object.Value { return w.below },
				func(w *watcher, v object.Value) error {
					locked(w, func() { w.below = object.Truth(v) })
					return w.again()
				}),
			field("EnableRaisingEvents", func(w *watcher) object.Value { return w.enabled },
				func(w *watcher, v object.Value) error {
					if !object.Truth(v) {
						w.end()
						return nil
					}
					return w.begin()
				}),
			field("NotifyFilter", func(w *watcher) object.Value {
				if w.notify == nil {
					return "FileName, DirectoryName, LastWrite"
				}
				return w.notify
			}, func(w *watcher, v object.Value) error {
				locked(w, func() { w.notify = v })
				return nil
			}),
			field("InternalBufferSize", func(*watcher) object.Value { return int64(8192) },
				func(*watcher, object.Value) error { return nil }),
		},
		Methods: []object.Method{
			{Name: "WaitForChanged", Least: 1, Most: 2, Do: waitForChanged},
			{Name: "Dispose", Do: func(c *object.Call) (object.Value, error) {
				own(c.On).end()
				return nil, nil
			}},
		},
		Events: []object.Event{
			kind("Created", created), kind("Deleted", deleted), kind("Changed", changed), kind("Renamed", renamed),
			event("Error", func(w *watcher) *source { return &w.fails }),
		},
	}
}
