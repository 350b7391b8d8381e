package cli

import "mullion.dev/mullion/internal/cli/exit"

// Exit codes of mullion, as package exit has them.
const (
	ExitOK          = exit.OK
	ExitInternal    = exit.Internal
	ExitUsage       = exit.Usage
	ExitRequirement = exit.Requirement
	ExitConflict    = exit.Conflict
	ExitNotReady    = exit.NotReady
	ExitNotFound    = exit.NotFound
	ExitDifferent   = exit.Different
	ExitFindings    = exit.Findings
	ExitUnreadable  = exit.Unreadable
	ExitRefused     = exit.Refused
)

// Error is an error that a person sees.
type Error = exit.Error

// silentError carries the exit code of a program that has printed its own message.
type silentError struct{ code int }

func (e *silentError) Error() string { return e.Unwrap().Error() }

// Unwrap returns the error that has the exit code.
func (e *silentError) Unwrap() error { return exit.Silent(e.code) }

// ExitCode returns the exit code of the process for err.
func ExitCode(err error) int { return exit.Code(err) }

func usage(err error, remedy string) error { return exit.Misuse(err, remedy) }
