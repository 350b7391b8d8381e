// Package program owns what the small programs of Windows in guest/tools share: what each of them gets to run with, the
// words in which Windows' programs refuse their arguments, and the calls of Windows that several of them make. What a
// single program needs of Windows is in its own package.
package program

import (
	"fmt"
	"io"
	"strings"
)

// Env is the environment of a program: variables and standard streams.
type Env struct {
	Getenv func(name string) string
	// Environ returns all variables, NAME=value.
	Environ func() []string
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
}

// Print writes a line, as Windows ends lines.
func (e Env) Print(format string, args ...any) { fmt.Fprintf(e.Stdout, format+"\r\n", args...) }

// Complain writes a line to standard error.
func (e Env) Complain(format string, args ...any) { fmt.Fprintf(e.Stderr, format+"\r\n", args...) }

// Unknown prints that an option is unknown, in the words that the newer programs of Windows share.
func (e Env) Unknown(program, option string) {
	e.Complain("ERROR: Invalid argument/option - '%s'.", option)
	e.Complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// Invalid prints that the arguments do not fit together.
func (e Env) Invalid(program, what string) {
	e.Complain("ERROR: Invalid syntax. %s", what)
	e.Complain("Type \"%s /?\" for usage.", strings.ToUpper(program))
}

// Option returns the name of an option in lower case, and whether the argument is an option.
func Option(arg string) (string, bool) {
	if len(arg) < 2 || (arg[0] != '/' && arg[0] != '-') {
		return "", false
	}
	return strings.ToLower(arg[1:]), true
}

// Quoted returns a row of a table as the programs with /FO CSV print it.
func Quoted(fields []string) string { return `"` + strings.Join(fields, `","`) + `"` }
