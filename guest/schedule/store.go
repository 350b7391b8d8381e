package schedule

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Store is where tasks are kept.
type Store struct {
	// Tasks has the tasks, a file each, in folders as their paths are; State what the engine notes of them, and what it
	// is asked to do.
	Tasks, State string
	// Ensure sees to it that the engine runs.
	Ensure func() error
}

// State is what became of a task.
type State struct {
	LastRun time.Time
	// Result is the exit code of its last run, Running whether it runs, Booted the start of Windows for which its
	// triggers at the start have been done.
	Result  uint32
	Running bool
	Booted  time.Time
}

// ErrNotFound is the error of a task that is not there, ErrExists that of one that is there already.
const (
	ErrNotFound = said("The system cannot find the file specified.")
	ErrExists   = said("Cannot create a file when that file already exists.")
)

// mostText bounds the XML of a task.
const mostText = 1 << 20

func (s *Store) file(t Task) string {
	return filepath.Join(s.Tasks, filepath.FromSlash(strings.ReplaceAll(strings.Trim(t.FullPath(), `\`), `\`, "/")))
}

// note returns the name of a file about a task. A path may have more characters than a name of a file.
func (s *Store) note(t Task, ending string) string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Trim(t.FullPath(), `\`))))
	return filepath.Join(s.State, hex.EncodeToString(sum[:])+ending)
}

// List returns all tasks, by their paths. A file that is no task is passed over, as one that this user may not read is.
func (s *Store) List() ([]Task, error) {
	var all []Task
	err := filepath.WalkDir(s.Tasks, func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && d.IsDir():
			return nil
		case err != nil:
			return err
		case len(all) == mostTasks:
			return fmt.Errorf("there are more than %d tasks", mostTasks)
		}

		t, err := load(path)
		if err != nil {
			return nil //nolint:nilerr // see above
		}
		name, err := filepath.Rel(s.Tasks, path)
		if err != nil {
			return err
		}
		t.SetPath(strings.ReplaceAll(filepath.ToSlash(name), "/", `\`))
		if t.Check() == nil {
			all = append(all, t)
		}
		return nil
	})
	slices.SortFunc(all, func(a, b Task) int {
		return strings.Compare(strings.ToLower(a.FullPath()), strings.ToLower(b.FullPath()))
	})
	return all, err
}

func load(path string) (Task, error) {
	f, err := os.Open(path)
	if err != nil {
		return Task{}, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, mostText))
	if err != nil {
		return Task{}, err
	}
	return Read(data)
}

// Find returns a task by its full path, in letters of either case.
func (s *Store) Find(full string) (Task, error) {
	all, err := s.List()
	if err != nil {
		return Task{}, err
	}
	var want Task
	want.SetPath(full)
	if at := slices.IndexFunc(all, want.isAt); at >= 0 {
		return all[at], nil
	}
	return Task{}, ErrNotFound
}

// isAt reports whether a task has the full path of another one, in letters of either case.
func (t Task) isAt(other Task) bool { return strings.EqualFold(t.FullPath(), other.FullPath()) }

// Put starts the engine and keeps a task, which is registered now unless it says when it was. One that is there is
// changed only if replace says so. The engine comes first: a task for the start of Windows that it finds as it starts
// was there before.
func (s *Store) Put(t Task, replace bool) error {
	if err := t.Check(); err != nil {
		return err
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	switch here := slices.ContainsFunc(all, t.isAt); {
	case here && !replace:
		return ErrExists
	case !here && len(all) >= mostTasks:
		return saidf("There are %d tasks, which are the most in Mullion.", mostTasks)
	}

	if err := s.Ensure(); err != nil {
		return err
	}
	if t.Registered.IsZero() {
		t.Registered = time.Now()
	}
	text, err := t.XML()
	if err != nil {
		return err
	}
	data := encoded(text)
	if len(data) > mostText {
		return saidf("The task has %d KiB of XML, of which %d are the most in Mullion.", len(data)>>10, mostText>>10)
	}

	if err := s.write(s.file(t), s.note(t, taskEnding), data); err != nil {
		return fmt.Errorf("keep the task %q: %w", t.FullPath(), err)
	}

	return nil
}

// write writes a file so that it is whole, or as it was. It comes to be beside the notes: among the tasks it would be a
// task itself until it has its name, and for good if whoever writes it is killed.
func (s *Store) write(file, temporary string, data []byte) error {
	for _, dir := range []string{filepath.Dir(file), s.State} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(temporary, data, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

// Delete removes a task. One that runs is not ended.
func (s *Store) Delete(t Task) error {
	if err := os.Remove(s.file(t)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return ErrNotFound
		}
		return fmt.Errorf("delete the task %q: %w", t.FullPath(), err)
	}
	for _, ending := range []string{stateEnding, startEnding, endEnding} {
		if err := os.Remove(s.note(t, ending)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete the task %q: %w", t.FullPath(), err)
		}
	}
	return nil
}

// The endings of the names of what is noted about a task: its state, and what the engine is asked to do with it; and of
// a task and a state that are being written.
const (
	stateEnding    = ".state"
	startEnding    = ".start"
	endEnding      = ".end"
	taskEnding     = ".new-task"
	newStateEnding = ".new-state"
)

// Start asks the engine to run a task, End to end it.
func (s *Store) Start(t Task) error { return s.ask(t, startEnding) }

// End asks the engine to end a task.
func (s *Store) End(t Task) error { return s.ask(t, endEnding) }

func (s *Store) ask(t Task, what string) error {
	if err := os.MkdirAll(s.State, 0o755); err != nil {
		return fmt.Errorf("ask the engine of tasks: %w", err)
	}
	if err := os.WriteFile(s.note(t, what), nil, 0o644); err != nil {
		return fmt.Errorf("ask the engine of tasks: %w", err)
	}
	return s.Ensure()
}

// asked takes a request, if there is one.
func (s *Store) asked(t Task, what string) bool { return os.Remove(s.note(t, what)) == nil }

// StateOf returns what became of a task; nothing, if it has not run.
func (s *Store) StateOf(t Task) State {
	var is State
	if data, err := os.ReadFile(s.note(t, stateEnding)); err == nil {
		_ = json.Unmarshal(data, &is) // what cannot be read is as good as not there
	}
	return is
}

func (s *Store) setState(t Task, is State) error {
	data, err := json.Marshal(is)
	if err != nil {
		return err
	}
	return s.write(s.note(t, stateEnding), s.note(t, newStateEnding), data)
}
