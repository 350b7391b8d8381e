package powershell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// place is where a function, block or file is that runs.
type place struct {
	script  *Script
	section string // Begin, Process or End, if it has sections
	line    int
}

// enter says that a script runs, until the function that it returns is called.
func (in *interpreter) enter(s *Script) (leave func()) {
	in.calls = append(in.calls, &place{script: s, line: 1})
	n := len(in.calls)
	return func() { in.calls = in.calls[:n-1] }
}

// at says that a statement of this line runs.
func (in *interpreter) at(line int) {
	if n := len(in.calls); n > 0 && line > 0 {
		in.calls[n-1].line = line
	}
}

// inSection says that one of the sections of a script runs.
func (in *interpreter) inSection(s *Script, name string) {
	if n := len(in.calls); n > 0 && in.calls[n-1].script == s && s.sections && !s.filter {
		in.calls[n-1].section = name
	}
}

// trace is the calls that run, the innermost first, as PowerShell writes them
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.scriptstacktrace).
func (in *interpreter) trace() string {
	var lines []string
	for _, p := range slices.Backward(in.calls) {
		name := cmp.Or(p.script.name, "<ScriptBlock>")
		if p.section != "" {
			name += "<" + p.section + ">"
		}
		lines = append(lines, fmt.Sprintf("at %s, %s: line %d", name, cmp.Or(p.script.source, "<No file>"), p.line))
	}
	return strings.Join(lines, in.session.Newline)
}

// mark notes in an error where it was made, if it is not noted yet. It is called before the calls end within which it
// was made.
func (in *interpreter) mark(err error) {
	at := (*string)(nil)
	left, leaves := errors.AsType[*leaving](err)
	if leaves && left.word == "throw" {
		if at = &left.trace; own[*record](left.what) != nil {
			at = &own[*record](left.what).trace
		}
	}
	if e, ok := errors.AsType[*exception](err); ok && !leaves {
		at = &e.trace
	}
	if at != nil && *at == "" {
		*at = in.trace()
	}
}

// recordHere is the record of an error that is made here, or was made within what has just been called.
func (in *interpreter) recordHere(err error) *record {
	in.mark(err)
	r := recordOf(err)
	if r.trace == "" {
		r.trace = in.trace()
	}
	return r
}
