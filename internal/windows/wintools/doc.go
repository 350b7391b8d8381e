// Package wintools owns the small console programs of Windows that scripts, probes and tests call and that Wine lacks,
// or has only as empty programs. They take the options that Windows documents, and have the output and exit codes of
// Windows' programs (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands); an
// option that is not implemented is refused in the words with which Windows refuses an unknown one. All of them are one
// program, which chooses by the name of its file.
//
// The interface System is all that they need of Windows; the rest is plain Go, and is tested on any system.
package wintools

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Env is the environment of a program: variables, standard streams and the system.
type Env struct {
	Getenv func(name string) string
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	System System
}

// ErrNoConsole says that a program's input is no console.
var ErrNoConsole = errors.New("not a console")

// System is the part of Windows that the programs need.
type System interface {
	// Tasks are the running processes.
	Tasks() ([]Task, error)
	// Describe describes the machine.
	Describe() (Machine, error)
	// Registry reads and writes environment variables in the registry.
	Registry
	// Console is the console of standard input and output.
	Console
	// Host is what net needs.
	Host
}

// Registry holds the variables of the user's or the machine's environment.
type Registry interface {
	// SetVariable writes a variable, and tells programs with windows of it.
	SetVariable(machine bool, name, value string) error
	// Value reads a value of the registry as text; the key begins with its root, as HKEY_LOCAL_MACHINE or HKLM.
	Value(key, name string) (string, error)
}

// Console is the console of standard input. Where there is none the error is ErrNoConsole.
type Console interface {
	// Key waits for a key. The key is 0 if none came in time; a negative wait has no end.
	Key(wait time.Duration) (key rune, err error)
}

// Host is what net needs of Windows: the computer's name, the local groups, and Wine's own net.
type Host interface {
	// Name is the computer's name.
	Name() string
	// Groups is the path of the file of the local groups.
	Groups() string
	// Alone runs f while it keeps other processes from changing the groups.
	Alone(f func() error) error
	// Net runs Wine's own net, for everything that net here does not do, and returns its exit code.
	Net(e Env, args []string) (int, error)
}

// Task is a process.
type Task struct {
	PID, Session uint32
	Image        string
	// Memory is the size of the working set in bytes.
	Memory uint64
}

// Machine is what systeminfo prints. Sizes are in bytes.
type Machine struct {
	Host, Product, Version, Installation, Owner, ProductID, WindowsDir, SystemDir, Domain string
	Processors                                                                            []string
	Boot                                                                                  time.Time
	Memory, MemoryFree, Commit, CommitFree                                                uint64
	Adapters                                                                              []Adapter
}

// Adapter is a network adapter with its addresses.
type Adapter struct {
	Name      string
	Addresses []string
}

func programs() map[string]func(Env, []string) int {
	return map[string]func(Env, []string) int{
		"fc": fc, "findstr": findstr, "net": network, "setx": setx, "systeminfo": systeminfo, "tasklist": tasklist,
		"timeout": timeout, "where": where,
	}
}

// Names are the programs, sorted.
func Names() []string { return slices.Sorted(maps.Keys(programs())) }

// File is the name of a program's file on Windows.
func File(name string) string { return name + ".exe" }

// exitUnknown is the exit code for a name that is no program of this package.
const exitUnknown = 1

// Run runs the program named by the file self, and returns its exit code.
func (e Env) Run(self string, args []string) int {
	name := strings.ToLower(self[strings.LastIndexAny(self, `\/`)+1:])
	name, _, _ = strings.Cut(name, ".")
	run, ok := programs()[name]
	if !ok {
		e.complain("%s: the programs here are %s", name, strings.Join(Names(), ", "))
		return exitUnknown
	}
	return run(e, args)
}

// print writes a line, as Windows ends lines.
func (e Env) print(format string, args ...any) { fmt.Fprintf(e.Stdout, format+"\r\n", args...) }

// complain writes a line to standard error.
func (e Env) complain(format string, args ...any) { fmt.Fprintf(e.Stderr, format+"\r\n", args...) }

// unknown prints that an option is unknown, in the words that the newer programs of Windows share.
func (e Env) unknown(program, option string) {
	e.complain("ERROR: Invalid argument/option - '%s'.", option)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// invalid prints that the arguments do not fit together.
func (e Env) invalid(program, what string) {
	e.complain("ERROR: Invalid syntax. %s", what)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// option returns the name of an option in lower case, and whether the argument is an option.
func option(arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '/' && arg[0] != '-' {
		return "", false
	}
	return strings.ToLower(arg[1:]), true
}
