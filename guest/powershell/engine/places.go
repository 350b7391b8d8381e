package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
)

// place is where a function, block or file is that runs.
type place struct {
	script  *lang.Script
	section string          // Begin, Process or End, if it has sections
	at      position.Extent // nowhere: before the first statement
}

// Enter says that a script runs, until the function that it returns is called.
func (in *Interpreter) Enter(s *lang.Script) (leave func()) {
	in.calls = append(in.calls, &place{script: s})
	n := len(in.calls)
	return func() { in.calls = in.calls[:n-1] }
}

// at says that a statement or command at a place runs.
func (in *Interpreter) at(where position.Extent) {
	if n := len(in.calls); n > 0 && where.Known() {
		in.calls[n-1].at = where
	}
}

// here returns where what runs now stands.
func (in *Interpreter) here() position.Extent {
	if n := len(in.calls); n > 0 {
		return in.calls[n-1].at
	}
	return position.Extent{}
}

// inSection says that one of the sections of a script runs.
func (in *Interpreter) inSection(s *lang.Script, name string) {
	if n := len(in.calls); n > 0 && in.calls[n-1].script == s && s.Sections && !s.Filter {
		in.calls[n-1].section = name
	}
}

// trace returns the calls that run, the innermost first, as PowerShell writes them
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.errorrecord.scriptstacktrace).
func (in *Interpreter) trace() string {
	var lines []string
	for _, p := range slices.Backward(in.calls) {
		name := cmp.Or(p.script.Name, "<ScriptBlock>")
		if p.section != "" {
			name += "<" + p.section + ">"
		}
		lines = append(lines, fmt.Sprintf("at %s, %s: line %d", name, cmp.Or(p.script.Source, "<No file>"), max(p.at.Line(), 1)))
	}

	return strings.Join(lines, in.Newline)
}

// mark notes in an error where it was made, if it is not noted yet. It is called before the calls end within which it
// was made.
func (in *Interpreter) mark(err error) {
	if at := object.PlaceOf(err); at != nil && at.Trace == "" {
		at.Trace = in.trace()
		if at.By == nil && !at.At.Known() {
			at.At = in.here()
		}
	}
}

// recordHere returns the record of an error that is made here, or was made within what has just been called.
func (in *Interpreter) recordHere(err error) *object.ErrorRecord {
	in.mark(err)
	r := object.RecordOf(err)
	if r.Trace == "" {
		r.Trace, r.At = in.trace(), in.here()
	}
	return r
}

// misfit returns an error of a call, and makes it the command's if the arguments do not fit.
func misfit(err error, by *object.Invoked) error {
	if at := object.PlaceOf(err); at != nil && object.RecordOf(err).Is(object.BindingException) {
		object.Blame(err, by)
	}
	return err
}
