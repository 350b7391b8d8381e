package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// place is where a function, block or file is that runs.
type place struct {
	script  *lang.Script
	section string // Begin, Process or End, if it has sections
	line    int
}

// Enter says that a script runs, until the function that it returns is called.
func (in *Interpreter) Enter(s *lang.Script) (leave func()) {
	in.calls = append(in.calls, &place{script: s, line: 1})
	n := len(in.calls)
	return func() { in.calls = in.calls[:n-1] }
}

// at says that a statement of this line runs.
func (in *Interpreter) at(line int) {
	if n := len(in.calls); n > 0 && line > 0 {
		in.calls[n-1].line = line
	}
}

// inSection says that one of the sections of a script runs.
func (in *Interpreter) inSection(s *lang.Script, name string) {
	if n := len(in.calls); n > 0 && in.calls[n-1].script == s && s.Sections && !s.Filter {
		in.calls[n-1].section = name
	}
}

// trace is the calls that run, the innermost first, as PowerShell writes them
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.scriptstacktrace).
func (in *Interpreter) trace() string {
	var lines []string
	for _, p := range slices.Backward(in.calls) {
		name := cmp.Or(p.script.Name, "<ScriptBlock>")
		if p.section != "" {
			name += "<" + p.section + ">"
		}
		lines = append(lines, fmt.Sprintf("at %s, %s: line %d", name, cmp.Or(p.script.Source, "<No file>"), p.line))
	}
	return strings.Join(lines, in.Newline)
}

// mark notes in an error where it was made, if it is not noted yet. It is called before the calls end within which it
// was made.
func (in *Interpreter) mark(err error) {
	at := (*string)(nil)
	left, leaves := errors.AsType[*object.Leaving](err)
	if leaves && left.Word == "throw" {
		if at = &left.Trace; object.Own[*object.ErrorRecord](left.What) != nil {
			at = &object.Own[*object.ErrorRecord](left.What).Trace
		}
	}
	if e, ok := errors.AsType[*object.Exception](err); ok && !leaves {
		at = &e.Trace
	}
	if at != nil && *at == "" {
		*at = in.trace()
	}
}

// recordHere is the record of an error that is made here, or was made within what has just been called.
func (in *Interpreter) recordHere(err error) *object.ErrorRecord {
	in.mark(err)
	r := object.RecordOf(err)
	if r.Trace == "" {
		r.Trace = in.trace()
	}
	return r
}
