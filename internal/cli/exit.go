package cli

import (
	"errors"

	"mullion.dev/mullion/internal/check/command"
)

// Exit codes of mullion; docs/guide/start.md lists them. `mullion kubectl` and `mullion node exec` pass on the exit
// code of the program that they ran.
const (
	ExitOK          = 0
	ExitInternal    = 1 // something went wrong that has no code of its own
	ExitUsage       = 2 // wrong flags, or a cluster.yaml that is not right
	ExitRequirement = 3 // the machine lacks something: root, Wine, a kernel feature
	ExitConflict    = 4 // a port, a subnet or a data folder is in use
	// the cluster is not ready, or not in time, or `mullion status` found a problem
	ExitNotReady   = 5
	ExitNotFound   = 6                      // no cluster is up, or no such node, image or component
	ExitDifferent  = 7                      // a test found something that is not as documented
	ExitFindings   = command.CodeFindings   // 8: `mullion check` found something at or over --fail-on; `mullion diagnose` found something
	ExitUnreadable = command.CodeUnreadable // 9: `mullion check` could not read some of its input
	// a cluster does not accept the token, or is not the one that was to be joined
	ExitRefused = 10
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

// silentError carries the exit code of a program that has printed its own message.
type silentError struct{ code int }

func (e *silentError) Error() string { return "the program ended with an error" }

// ExitCode returns the exit code of the process for err.
func ExitCode(err error) int {
	var own *Error
	var silent *silentError
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &silent):
		return silent.code
	case errors.As(err, &own):
		return own.Code
	default:
		return ExitInternal
	}
}

func usage(err error, remedy string) error {
	return &Error{
		Code:   ExitUsage,
		Err:    err,
		Remedy: remedy,
	}
}
