// Package exit owns how mullion ends: its exit codes, and the errors that carry one with a remedy to the person. It
// prints nothing.
package exit

import (
	"errors"

	"mullion.dev/mullion/internal/check/command"
)

// Exit codes of mullion; docs/guide/start.md lists them. `mullion kubectl` and `mullion node exec` pass on the exit
// code of the program that they ran.
const (
	OK          = 0
	Internal    = 1 // something went wrong that has no code of its own
	Usage       = 2 // wrong flags, or a cluster.yaml that is not right
	Requirement = 3 // the machine lacks something: root, Wine, a kernel feature
	Conflict    = 4 // a port, a subnet or a data folder is in use
	// the cluster is not ready, or not in time, or `mullion status` found a problem
	NotReady   = 5
	NotFound   = 6                      // no cluster is up, or no such node, image or component
	Different  = 7                      // a test found something that is not as documented
	Findings   = command.CodeFindings   // 8: `mullion check` found something at or over --fail-on; `mullion diagnose` found something
	Unreadable = command.CodeUnreadable // 9: `mullion check` could not read some of its input
	// a cluster does not accept the token, or is not the one that was to be joined
	Refused = 10
)

// Error is an error that a person sees: what happened, what to do, and the exit code.
type Error struct {
	Code   int
	Err    error
	Remedy string
}

// Error returns the cause's text; the remedy is printed on a line of its own.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Silent is the exit code of a program that has printed its own message, or of a command that has.
type Silent int

// Error returns a text that nobody is shown.
func (Silent) Error() string { return "the program ended with an error" }

// Code returns the exit code of the process for err.
func Code(err error) int {
	var own *Error
	var silent Silent
	switch {
	case err == nil:
		return OK
	case errors.As(err, &silent):
		return int(silent)
	case errors.As(err, &own):
		return own.Code
	default:
		return Internal
	}
}

// Misuse returns the error of wrong flags, arguments or files.
func Misuse(err error, remedy string) error {
	return &Error{
		Code:   Usage,
		Err:    err,
		Remedy: remedy,
	}
}
