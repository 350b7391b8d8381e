// Package shell owns cmd.exe's running: it carries out the commands of package syntax, with variables, batch files,
// loops, redirections, pipes and the builtins that are part of the language. Builtins that only work on files are in
// package fileops. It starts programs through a Host and sees files through a Disk, so it runs, and is tested, on any
// system.
//
// A command has two results: its own code, which && and || and the end of "cmd /c" look at, and ERRORLEVEL, which not
// every command sets. A flow says where it goes on:
//
//	next   with the next command
//	jump   at another place of the batch file (GOTO)
//	leave  after this batch file or subroutine (EXIT /B, GOTO :EOF, a batch file started without CALL)
//	abort  after all batch files (a syntax error, Ctrl+C)
//	quit   nowhere: the shell ends (EXIT)
package shell

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/guest/cmdexe/disk"
	"mullion.dev/mullion/guest/cmdexe/fileops"
	"mullion.dev/mullion/guest/lineedit"
)

// Program is a program that is started.
type Program struct {
	File    string // the whole name of its file
	Line    string // its command line
	Dir     string
	Environ []string
	Files   [3]*os.File
	Apart   bool // in a console of its own, and not waited for
}

// Host is what the shell needs of its system beside files.
type Host interface {
	// Start starts a program. wait returns its exit code; it is to be called once.
	Start(ctx context.Context, p Program) (wait func() (uint32, error), err error)
	// Graphical reports whether a program has windows: a prompt does not wait for it.
	Graphical(file string) bool
	// Console does something with the console: "title TEXT", "cls", "key".
	Console(what, text string, out *os.File) error
	// ReadLine reads a line at a console with an editor. The error is errors.ErrUnsupported if in and out are none, and
	// lineedit.ErrInterrupted after Ctrl+C.
	ReadLine(e *lineedit.Editor, prompt string, in, out *os.File) (string, error)
}

// Options is what a shell begins with.
type Options struct {
	Host    Host
	System  fileops.System
	Disk    disk.Disk
	Environ []string
	Dir     string
	Files   [3]*os.File

	CommandLine string // %CMDCMDLINE%
	Now         func() time.Time
	Random      func() int
	// Interrupts returns whether Ctrl+C was pressed since it was asked last; nil: never.
	Interrupts func() bool

	Quiet      bool // ECHO is off
	Delayed    bool // !NAME! is expanded
	Extensions bool
}

type flow int

const (
	next flow = iota
	jump
	leave
	abort
	quit
)

// handles is how many handles can be redirected.
const handles = 10

// Shell is one flow of commands. The sides of a pipe have one each.
type Shell struct {
	o          *Options
	env        environment
	dir        string
	files      [handles]*os.File
	code       int32  // ERRORLEVEL
	exited     string // the exit code of the last program, as %=ExitCode% has it
	echo       bool
	delayed    bool
	extensions bool
	frame      *frame // the batch file that runs; nil: none
	follows    *frame // the batch file that takes its place
	depth      int    // batch files and subroutines in each other
	vars       map[byte]string
	loops      int // FORs that run in this batch file
	stack      []string
	calls      int // CALL, in each other

	redirections int // of commands of this batch file that run
	prompting    bool
	pressed      bool // Ctrl+C, which was not carried out yet
	verifying    bool // VERIFY is on
	history      *lineedit.History
	macros       *macros
	table        map[string]builtin
}

// New makes a shell.
func New(o Options) *Shell {
	s := &Shell{
		o: &o, env: newEnvironment(o.Environ), dir: o.Dir, echo: !o.Quiet, delayed: o.Delayed,
		extensions: o.Extensions, vars: map[byte]string{}, table: builtins(),
		history: &lineedit.History{}, macros: &macros{},
	}
	copy(s.files[:], o.Files[:])
	s.setDir(o.Dir)
	return s
}

// clone returns a shell for a side of a pipe or a command of FOR /F: what it changes stays its own.
func (s *Shell) clone() *Shell {
	c := *s
	c.env = s.env.clone()
	c.vars = maps.Clone(s.vars)
	c.stack = append([]string(nil), s.stack...)
	c.prompting = false
	if s.frame != nil {
		f := *s.frame
		f.locals, f.side = nil, true
		c.frame = &f
	}
	return &c
}

// out is standard output.
func (s *Shell) out() io.Writer { return s.writer(1) }

func (s *Shell) writer(handle int) io.Writer {
	if f := s.files[handle]; f != nil {
		return f
	}
	return io.Discard
}

func (s *Shell) print(format string, args ...any) { fmt.Fprintf(s.out(), format, args...) }

// say writes a line to standard error.
func (s *Shell) say(text string) { fmt.Fprint(s.writer(2), text+"\r\n") }

// full returns the whole name of a file that is named from the current folder on.
func (s *Shell) full(name string) string {
	return disk.Full(name, s.dir, s.driveDir)
}

// driveDir returns the current folder of a drive.
func (s *Shell) driveDir(drive byte) string {
	letter := strings.ToUpper(string([]byte{drive})) + ":"
	if dir, ok := s.env.get("=" + letter); ok {
		return dir
	}
	return letter + `\`
}

// setDir makes a folder the current one.
func (s *Shell) setDir(dir string) {
	s.dir = dir
	if len(dir) > 1 && dir[1] == ':' {
		s.env.set("="+strings.ToUpper(dir[:2]), dir)
	}
}

// unquoted returns a text without quotes.
func unquoted(text string) string { return strings.ReplaceAll(text, `"`, "") }

func delimiter(c byte) bool { return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '=' }

const delimiters = " \t,;="

// words takes a text apart at delimiters outside of quotes, which stay.
func words(text string) []string {
	var all []string
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && (delimiter(c) || c == '\n' || c == '\r') {
			if b.Len() > 0 {
				all = append(all, b.String())
				b.Reset()
			}
			continue
		}

		b.WriteByte(c)
	}

	if b.Len() > 0 {
		all = append(all, b.String())
	}

	return all
}
