// Package wintools owns the small console programs of Windows that scripts, probes and tests call and that Wine has
// only empty, or not at all. They take the options that Windows documents, say what Windows says and end as Windows'
// programs end (https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands); an option
// that is not there is refused in the words in which Windows refuses one that it does not know. They are one program,
// which goes by its name.
//
// What they need of Windows itself is System; all the rest is plain Go, and is tested anywhere.
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

// Env is what a program has of the process that runs it.
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
	// Host is what net works on.
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

// Host is what net works on.
type Host interface {
	// Name is the computer's name.
	Name() string
	// Groups is the path of the file of the local groups.
	Groups() string
	// Alone runs f while no other process changes the groups.
	Alone(f func() error) error
	// Net runs Wine's own net, which has what is not here, and gives its exit code.
	Net(e Env, args []string) (int, error)
}

// Task is a process.
type Task struct {
	PID, Session uint32
	Image        string
	// Memory is the size of the working set in bytes.
	Memory uint64
}

// Machine is what systeminfo tells. Sizes are in bytes.
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

// exitUnknown is the exit code of a name that is no program here.
const exitUnknown = 1

// Run runs the program that goes by the name of the file self, and gives its exit code.
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

// complain writes a line of the errors.
func (e Env) complain(format string, args ...any) { fmt.Fprintf(e.Stderr, format+"\r\n", args...) }

// unknown says that an option is unknown, in the words that the newer programs of Windows share.
func (e Env) unknown(program, option string) {
	e.complain("ERROR: Invalid argument/option - '%s'.", option)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// invalid says that the arguments do not fit together.
func (e Env) invalid(program, what string) {
	e.complain("ERROR: Invalid syntax. %s", what)
	e.complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// option tells whether an argument is an option, and gives its name in lower case.
func option(arg string) (string, bool) {
	if len(arg) < 2 || arg[0] != '/' && arg[0] != '-' {
		return "", false
	}
	return strings.ToLower(arg[1:]), true
}
