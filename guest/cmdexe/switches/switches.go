// Package switches owns the command line of cmd.exe itself: its switches, and the quotes around the command after /c
// and /k, which it takes off by rules of its own
// (https://learn.microsoft.com/windows-server/administration/windows-commands/cmd).
package switches

import "strings"

// Options is what a command line asks for.
type Options struct {
	Command string // after /c, /k or /r
	Run     bool   // there is a command
	Keep    bool   // a prompt follows it: /k

	Quiet        bool // /q
	Delayed      bool // /v:on
	NoExtensions bool // /e:off
	Help         bool // /?
}

// Parse reads a command line, with the name of cmd.exe at its beginning. program reports whether a text names a
// program. What is no switch is passed over, as in Windows.
func Parse(line string, program func(name string) bool) Options {
	var o Options
	rest := afterName(line)

	strip := false
	for {
		at := strings.IndexByte(rest, '/')
		if at < 0 || at+1 == len(rest) {
			return o
		}

		rest = rest[at+1:]
		switch letter := rest[0] | 0x20; letter {
		case 'c', 'r', 'k':
			o.Run, o.Keep = true, letter == 'k'
			o.Command = unquote(strings.TrimLeft(rest[1:], " \t"), strip, program)
			return o

		case 's':
			strip = true
		case 'q':
			o.Quiet = true
		case 'v':
			o.Delayed = !off(rest[1:])
		case 'e', 'x':
			o.NoExtensions = letter == 'e' && off(rest[1:])
		case 'y':
			o.NoExtensions = true
		case '?' | 0x20:
			o.Help = true
			return o
		}

		rest = rest[1:]
	}
}

func off(text string) bool { return strings.HasPrefix(strings.ToLower(text), ":off") }

// afterName returns a command line without its program.
func afterName(line string) string {
	line = strings.TrimLeft(line, " \t")
	if rest, ok := strings.CutPrefix(line, `"`); ok {
		_, after, _ := strings.Cut(rest, `"`)
		return after
	}
	if end := strings.IndexAny(line, " \t/"); end >= 0 && !strings.ContainsAny(line[:end], `\`) {
		return line[end:]
	}
	if end := strings.IndexAny(line, " \t"); end >= 0 {
		return line[end:]
	}

	return ""
}

// Unquote takes quotes off a command as /c does, for the commands of FOR /F.
func Unquote(command string, program func(name string) bool) string {
	return unquote(command, false, program)
}

// unquote takes the first and the last quote off a command, unless there are just two, without special characters and
// with a blank between them, around the name of a program.
func unquote(command string, strip bool, program func(name string) bool) string {
	if !strings.HasPrefix(command, `"`) {
		return command
	}

	last := strings.LastIndexByte(command, '"')
	if last == 0 {
		return command[1:]
	}
	inside := command[1:last]
	if !strip && !strings.Contains(inside, `"`) && !strings.ContainsAny(command, "&<>()@^|") &&
		strings.ContainsAny(inside, " \t") && program(inside) {
		return command
	}

	return inside + command[last+1:]
}
