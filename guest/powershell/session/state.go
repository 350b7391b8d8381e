package session

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/system"
)

// State is what the objects and cmdlets of a session share: its environment, its folder, its streams, and the calls of
// Windows.
type State struct {
	Context context.Context //nolint:containedctx // a session is one call of Run, and every statement of it ends with that
	// Whole is the context of the whole session: what a command leaves running ends with that. At a prompt, Context is
	// the command's, which Ctrl+C ends.
	Whole context.Context //nolint:containedctx // likewise
	// Newline ends lines: "\r\n" on Windows.
	Newline string
	// Core says that it is PowerShell 6 or later, which writes UTF-8 where Windows PowerShell writes UTF-16.
	Core bool
	// Self is the program's own file, with which jobs are run.
	Self   string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Console shows Stdout; nil: no console does.
	Console Console
	// Secret asks at the console for a line that is not shown; nil: nobody types at one, and lines come from Stdin.
	Secret func(question string) (string, error)

	Env map[string]string // by upper-case name
	Dir string
	// Elsewhere is where the session is if that is no folder: a path of the registry or another drive; "" in Dir.
	Elsewhere string
	System    *system.Calls
	// Closers end what the script has left open.
	Closers []func()
	// Read reads a text as a script block.
	Read func(text string) (any, error)
	// Invoke runs a script block with arguments, within what calls a method now, and returns what it outputs.
	Invoke func(block any, args []any) (any, error)
	// Settle ends the table that is being shown; nil: nothing shows one.
	Settle func()
	// Closure is a script block that keeps the variables of what calls a method now.
	Closure func(block any) any
	// Pulse runs what events ask for; nil: nothing does.
	Pulse func()
	alarm *Alarm
	// Steps is how many statements may run, and objects be output, before the session ends; 0: any number.
	Steps int
	kept  map[reflect.Type]any

	spelled map[string]string // names of the environment as they are spelled, by those in Env
}

// Keep returns what a group of cmdlets keeps in a session, of a type of its own: empty at first.
func Keep[T any](s *State) *T {
	kind := reflect.TypeFor[T]()
	if s.kept == nil {
		s.kept = map[reflect.Type]any{}
	}
	if s.kept[kind] == nil {
		s.kept[kind] = new(T)
	}
	return s.kept[kind].(*T)
}

// SetEnvironment sets a variable of the environment; an empty one is removed. One that is there keeps its spelling, as
// with SetEnvironmentVariable of Windows.
func (s *State) SetEnvironment(name, v string) {
	s.Inherit(name, v)
	if v == "" {
		name = strings.ToUpper(name)
		delete(s.Env, name)
		delete(s.spelled, name)
	}
}

// Inherit takes a variable of the environment, which may be empty.
func (s *State) Inherit(name, v string) {
	upper := strings.ToUpper(name)
	s.Env[upper] = v
	if s.spelled == nil {
		s.spelled = map[string]string{}
	}
	if _, there := s.spelled[upper]; !there {
		s.spelled[upper] = name
	}
}

// Spelled returns a name of Env as whoever made the variable has spelled it: names are compared without regard to case,
// and programs are shown them as they are.
func (s *State) Spelled(name string) string { return cmp.Or(s.spelled[name], name) }

// Close ends what the script has left open.
func (s *State) Close() {
	for _, end := range s.Closers {
		end()
	}
}

// Path resolves a path of a file: relative paths are relative to the session's own folder.
func (s *State) Path(p string) string {
	p = filepath.FromSlash(s.OnDrive(p))
	switch {
	case filepath.IsAbs(p):
		return p
	case strings.HasPrefix(p, string(filepath.Separator)): // of the drive on which the session is
		return filepath.VolumeName(s.Dir) + p
	}
	return s.volume(p)
}

// Windows reports whether the session is on Windows, by how lines end.
func (s *State) Windows() bool { return s.Newline == "\r\n" }

// Separator parts a path: \ on Windows, elsewhere /.
func (s *State) Separator() string {
	if s.Windows() {
		return `\`
	}
	return "/"
}

// Separated returns a path with the separator of this system, as the cmdlets for paths print it.
func (s *State) Separated(path string) string {
	if s.Windows() {
		return strings.ReplaceAll(path, "/", `\`)
	}
	return path
}

// Find finds a program by its path or in the folders of PATH; as in PowerShell never in the current folder.
func (s *State) Find(word string) (string, error) {
	if strings.ContainsAny(word, `/\`) {
		return s.Executable(s.Path(word))
	}
	for _, dir := range filepath.SplitList(s.Env["PATH"]) {
		if path, err := s.Executable(filepath.Join(strings.Trim(dir, `"`), word)); err == nil && dir != "" {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}

// Executable finds a program of a path, on Windows with one of the endings of PATHEXT.
func (s *State) Executable(path string) (string, error) {
	names := []string{path}
	if s.Windows() {
		for _, e := range s.extensions() {
			names = append(names, path+e)
		}
		if filepath.Ext(path) == "" {
			names = names[1:]
		}
	}

	for _, name := range names {
		if info, err := os.Stat(name); err == nil && !info.IsDir() {
			return name, nil
		}
	}

	return "", exec.ErrNotFound
}

// extensions returns the ends of programs' names on Windows.
func (s *State) extensions() []string {
	return strings.Split(cmp.Or(s.Env["PATHEXT"], ".COM;.EXE;.BAT;.CMD"), ";")
}

// Runs reports whether a file is a program by its name.
func (s *State) Runs(name string) bool {
	extension := filepath.Ext(name)
	return !s.Windows() || (extension != "" && slices.ContainsFunc(s.extensions(), func(e string) bool {
		return strings.EqualFold(e, extension)
	}))
}

// Environ returns the environment for a program, as name=value.
func (s *State) Environ() []string {
	var env []string
	for name, v := range s.Env {
		env = append(env, s.Spelled(name)+"="+v)
	}
	return env
}
