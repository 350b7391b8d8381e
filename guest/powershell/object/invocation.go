package object

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"

	"mullion.dev/mullion/guest/powershell/position"
	"mullion.dev/mullion/guest/powershell/session"
)

// Place is where an error was made.
type Place struct {
	Trace string // the calls within which it was made, "" if it is not known yet
	At    position.Extent
	By    *Invoked // the command that made it, nil for an error of a statement
}

// Invoked is a command that was called.
type Invoked struct {
	Name string // as it is written: an alias, a path
	// Command is its own name, and Kind one of Cmdlet, Function, ExternalScript and Script; both are empty for one that
	// is not there.
	Command, Kind string
	File, Text    string // of a script
	// At is where it was called: nowhere for a script that nothing calls.
	At position.Extent
}

// PlaceOf returns where an error notes its place, nil for one that is no error of a script.
func PlaceOf(err error) *Place {
	if left, ok := errors.AsType[*Leaving](err); ok {
		if left.Word != "throw" {
			return nil
		}
		if r := Own[*ErrorRecord](left.What); r != nil {
			return &r.Place
		}
		return &left.Place
	}

	if e, ok := errors.AsType[*Exception](err); ok {
		return &e.Place
	}

	return nil
}

// Blame says which command made an error, unless that, or where it was made, is known already.
func Blame(err error, by *Invoked) {
	at := PlaceOf(err)
	if at == nil || at.Trace != "" || at.By != nil {
		return
	}

	at.By = by
	if !at.At.Known() {
		at.At = by.At
	}

	prefix := by.Command + " : " // which is shown before the message
	if left, ok := errors.AsType[*Leaving](err); ok {
		if r := Own[*ErrorRecord](left.What); r != nil {
			r.Message = strings.TrimPrefix(r.Message, prefix)
		} else if text, is := left.What.(string); is && left.own {
			left.What = strings.TrimPrefix(text, prefix)
		}
	} else if e, ok := errors.AsType[*Exception](err); ok {
		e.Message = strings.TrimPrefix(e.Message, prefix)
	}
}

// prefix returns the name of the command before an error's message.
func (i *Invoked) prefix() string {
	name := i.Name
	switch {
	case i.Kind == "ExternalScript":
		name = i.File
	case i.Kind == "Script":
		name = i.Text
	case name == "" || name == "&" || name == ".":
		name = i.Command
	}

	if name == "" {
		return ""
	}

	return name + " : "
}

// implementing returns what FullyQualifiedErrorId says of the command: a cmdlet's type, or the name of a function or
// file.
func (i *Invoked) implementing() string {
	verb, noun, isCmdlet := strings.Cut(i.Command, "-")
	switch {
	case i.Command == "" || i.Kind == "":
		return ""
	case i.Kind == "Cmdlet" && isCmdlet:
		return ",Microsoft.PowerShell.Commands." + verb + noun + "Command"
	}
	return "," + i.Command
}

// Value returns the command as $MyInvocation or an error's InvocationInfo
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.invocationinfo).
func (i *Invoked) Value() Value { return &Instance{invocationClass(), i} }

// lineEnd ends lines of texts that are made without a session.
func lineEnd() string {
	if runtime.GOOS == "windows" {
		return "\r\n"
	}
	return "\n"
}

func invocationClass() *Class {
	of := func(name string, get func(i *Invoked) Value) Field {
		return Field{
			Name: name,
			Get: func(_ *session.State, v Value) (Value, error) {
				return get(Own[*Invoked](v)), nil
			},
		}
	}

	known := func(name string, v Value) Field { return of(name, func(*Invoked) Value { return v }) }
	return &Class{
		Name:         "System.Management.Automation.InvocationInfo",
		Text:         func(any) string { return "System.Management.Automation.InvocationInfo" },
		ByProperties: true,
		Props: []Field{
			of("MyCommand", (*Invoked).command),
			of("BoundParameters", func(*Invoked) Value { return NewTable(false) }),
			of("UnboundArguments", func(*Invoked) Value { return []Value{} }),
			of("ScriptLineNumber", func(i *Invoked) Value { return int64(i.At.Line()) }),
			of("OffsetInLine", func(i *Invoked) Value { return int64(i.At.Column()) }),
			known("HistoryId", int64(1)),
			of("ScriptName", func(i *Invoked) Value { return i.At.File() }),
			of("Line", func(i *Invoked) Value { return i.At.Whole() }),
			of("PositionMessage", func(i *Invoked) Value { return i.At.Message(lineEnd()) }),
			of("PSScriptRoot", func(i *Invoked) Value {
				if i.At.File() == "" {
					return ""
				}
				return filepath.Dir(i.At.File())
			}),
			of("PSCommandPath", func(i *Invoked) Value { return i.At.File() }),
			of("InvocationName", func(i *Invoked) Value { return i.Name }),
			known("PipelineLength", int64(0)),
			known("PipelinePosition", int64(0)),
			known("ExpectingInput", false),
			known("CommandOrigin", "Internal"),
		},
	}
}

// command returns MyCommand: nothing for a statement, or a command that is not there.
func (i *Invoked) command() Value {
	if i.Kind == "" {
		return nil
	}

	of := New("command").Set("CommandType", i.Kind).Set("Name", i.Command).Set("Version", "").Set("Source", i.File)
	of.Shown = func(*Object) string { return i.Command }
	of.Props["definition"] = i.Text
	of.Props["displayname"] = i.Command
	of.Props["path"] = nil
	if i.File != "" {
		of.Props["definition"], of.Props["path"] = i.File, i.File
	}

	return of
}
