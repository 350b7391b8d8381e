package invoke

import (
	"context"
	"io"
	"slices"
	"strings"
)

// Env is the environment of the process. Only main fills it from the real one.
type Env struct {
	In       io.Reader
	Out, Err io.Writer
	// Program is how this program was called: its name, or a path.
	Program string
	Args    []string // without the program's name
	Environ []string // KEY=value
	// Executable is the absolute path of this program; the other programs lie beside it.
	Executable string
	// Euid is the effective user id; 0 is root.
	Euid int
	// Terminal says that Out is a terminal whose lines can be rewritten.
	Terminal bool
	// Size is how many columns and rows the terminal has, 0 where that is not known; nil: it is not known.
	Size func() (columns, rows int)
	// Resized gives a channel that has something each time that the size changes, until ctx is over; nil: it does not.
	Resized func(ctx context.Context) <-chan struct{}
	// Quit gives a channel that the next SIGQUIT closes, which then does not end the process, until ctx is over; nil:
	// it ends it.
	Quit func(ctx context.Context) <-chan struct{}
	// Raw has the terminal that In is pass on every key, until restore is called; nil: In is no terminal.
	Raw func() (restore func(), err error)
	// ReleaseInterrupt has Ctrl-C end the process again, as it does one that does not ask for it: a program that was
	// started gets it from the terminal too. nil where nothing is to be released.
	ReleaseInterrupt func()
	// Exec replaces this process by a program; argv has the program's name first. It returns only where that fails.
	Exec func(program string, argv, environ []string) error
}

// LetInterruptEnd calls ReleaseInterrupt, if there is one.
func (e Env) LetInterruptEnd() {
	if e.ReleaseInterrupt != nil {
		e.ReleaseInterrupt()
	}
}

// Getenv returns the value of an environment variable, "" if it is not set.
func (e Env) Getenv(key string) string {
	for _, line := range slices.Backward(e.Environ) {
		if k, v, ok := strings.Cut(line, "="); ok && k == key {
			return v
		}
	}
	return ""
}
