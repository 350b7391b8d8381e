package engine

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
)

// errorStream is where errors go.
type errorStream struct {
	w      io.Writer           // where they are printed: Stderr of the session, or nowhere
	merged *object.Sink        // the output that they are a part of by 2>&1, nil: they are printed
	kept   []*object.ArrayList // the variables of -ErrorVariable of what runs
}

// show prints an error, or makes it a part of the output.
func (in *Interpreter) show(r *object.ErrorRecord) error {
	if in.errs.merged != nil {
		return in.errs.merged.Put(&object.Instance{Of: object.RecordClass(), V: r})
	}
	if in.errs.w == io.Discard {
		return nil
	}
	return in.printError(in.errs.w, r)
}

// printError prints an error in the colours that the host of Windows PowerShell has for errors
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_special_characters,
// $Host.PrivateData).
func (in *Interpreter) printError(to io.Writer, r *object.ErrorRecord) error {
	defer in.Paint("red", "black")()
	_, err := fmt.Fprintf(in.Shown(to), "%s%s", r.Lines(in.Newline, in.errorView()), in.Newline)
	return err
}

// errorView returns $ErrorView, in lower case.
func (in *Interpreter) errorView() string {
	return strings.ToLower(object.Text(in.Top.Vars["errorview"]))
}

// Report prints an error that ends the script, and puts it into $Error.
func (in *Interpreter) Report(err error) {
	if !object.Catchable(err) {
		fmt.Fprintf(in.Stderr, "%v%s", err, in.Newline)
		return
	}
	in.OK = false
	r := in.recordHere(err)
	in.note(r)
	_ = in.printError(in.Stderr, r) // nobody reads errors
}

// keep puts an error into the variables of -ErrorVariable.
func (s errorStream) keep(r *object.ErrorRecord) {
	for _, list := range s.kept {
		is := func(v object.Value) bool { return object.Own[*object.ErrorRecord](v) == r }
		if !slices.ContainsFunc(list.Items, is) { // it may end several calls
			list.Items = append(list.Items, &object.Instance{Of: object.RecordClass(), V: r})
		}
	}
}

// apart returns a sink for the output of what has errors of its own: those of what takes the output go where they go
// now.
func (in *Interpreter) apart(out *object.Sink) *object.Sink {
	outer := in.errs
	return &object.Sink{Direct: out.Direct, Ranges: out.Ranges, Put: func(v object.Value) error {
		inner := in.errs
		in.errs = outer
		defer func() { in.errs = inner }()
		return out.Put(v)
	}}
}

// keeping runs what has -ErrorVariable.
func (f *frame) keeping(list *object.ArrayList, do func() error) error {
	if list == nil {
		return do()
	}
	in := f.in
	before := in.errs
	in.errs.kept = slices.Concat(before.kept, []*object.ArrayList{list})
	err := do()
	if err != nil && object.Catchable(err) {
		(errorStream{kept: []*object.ArrayList{list}}).keep(in.recordHere(err))
	}
	in.errs = before
	return err
}

// complain reports a command's error. The script goes on unless an action, or $ErrorActionPreference, is Stop.
func (f *frame) complain(action string, by *object.Invoked, err error) error {
	f.in.OK = false
	object.Blame(err, by)
	r := f.in.recordHere(err)
	if r.By == nil && object.PlaceOf(err) == nil { // an error of Go
		r.By, r.At = by, by.At
	}

	return f.reported(action, r)
}

func (f *frame) Report(c *cmdlet.Call, r *object.ErrorRecord) error {
	f.in.OK = false
	if r.Trace == "" {
		r.Trace = f.in.trace()
	}
	return f.reported(c.Action, r)
}

func (f *frame) Caller() *object.Invoked { return object.Own[*object.Invoked](f.Get("myinvocation")) }

func (f *frame) Complain(c *cmdlet.Call, err error) error { return f.complain(c.Action, c.By, err) }

// reported does with an error what an action says.
func (f *frame) reported(action string, r *object.ErrorRecord) error {
	if action != "ignore" && action != "stop" { // what stops is noted where it is caught
		f.in.note(r)
		f.in.errs.keep(r)
	}

	switch action {
	case "stop":
		return &object.Leaving{Word: "throw", What: &object.Instance{Of: object.RecordClass(), V: r}}
	case "silentlycontinue", "ignore":
		return nil
	}

	return f.in.show(r)
}

// ended returns what becomes of a statement's error: one that ends only the statement is printed, unless a try waits
// for it or $ErrorActionPreference is Stop.
func (f *frame) ended(err error) error {
	f.in.mark(err)
	if err == nil || f.in.tries > 0 || !object.EndsStatement(err) {
		return err
	}
	f.in.OK = false
	r := f.in.recordHere(err)
	action := f.Preference("erroractionpreference")
	if action == "stop" {
		f.in.note(r)
	}
	return f.reported(action, r)
}

// Divert gives what the session outputs, its errors and its messages to functions in place of showing them. stream is
// the one of a message.
func (in *Interpreter) Divert(message func(stream rune, v object.Value) error, output func(v object.Value) error) {
	in.Screen = &object.Sink{Put: output}
	in.errs.merged = &object.Sink{Put: func(v object.Value) error { return message(object.ErrorStream, v) }}
	in.messages = map[rune]*object.Sink{}
	for _, stream := range []rune{
		object.WarningStream, object.VerboseStream, object.DebugStream, object.InformationStream,
	} {
		in.messages[stream] = &object.Sink{Put: func(v object.Value) error { return message(stream, v) }}
	}
}
