package tools

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// The exit codes of shutdown are the numbers of errors of Windows.
const (
	errorAccessDenied     = 5
	errorNotSupported     = 50
	errorNoShutdownRuns   = 1116
	errorShutdownPending  = 1190
	longestShutdown       = 315360000
	defaultShutdownWait   = 30
	shutdownUsageExitCode = 1
)

// shutdown ends the container, or the host.
func shutdown(e Env, args []string) int {
	s, code := parseShutdown(e, args)
	if code >= 0 {
		return code
	}
	err := e.System.MayEnd()
	if errors.Is(err, ErrHost) {
		return s.endHost(e)
	}
	switch s.verb {
	case "a":
		return noShutdown(e)
	case "s", "r", "p", "sg", "g":
	default:
		e.complain("The request is not supported.(%d)", errorNotSupported)
		return errorNotSupported
	}
	if err == nil {
		<-time.After(time.Duration(s.seconds) * time.Second)
		err = e.System.End()
	}
	return shutdownDenied(e, err)
}

func noShutdown(e Env) int {
	e.complain("Unable to abort the system shutdown because no shutdown was in progress.(%d)", errorNoShutdownRuns)
	return errorNoShutdownRuns
}

// endHost has the host of the program end, and returns at once. The cluster's supervisor does it.
func (s ending) endHost(e Env) int {
	switch s.verb {
	case "a":
		kept, err := e.System.KeepHost()
		if err == nil && !kept {
			return noShutdown(e)
		}
		return shutdownDenied(e, err)
	case "s", "p", "sg", "r", "g":
		err := e.System.EndHost(s.verb == "r" || s.verb == "g", time.Duration(s.seconds)*time.Second)
		if errors.Is(err, hostpower.ErrPending) {
			e.complain("A system shutdown has already been scheduled.(%d)", errorShutdownPending)
			return errorShutdownPending
		}
		return shutdownDenied(e, err)
	}
	e.complain("The request is not supported.(%d)", errorNotSupported)
	return errorNotSupported
}

// shutdownDenied is the exit code for an error, if there is one.
func shutdownDenied(e Env, err error) int {
	if err != nil {
		e.complain("Access is denied.(%d)", errorAccessDenied)
		return errorAccessDenied
	}
	return 0
}

// ErrHost says that the program runs in a host, and not in a container.
var ErrHost = errors.New("this is a host")

// parseShutdown reads the arguments. The code is negative if there is something to do.
func parseShutdown(e Env, args []string) (s ending, code int) {
	usage := func(code int) (ending, int) {
		e.print("Usage: shutdown [/s | /r | /p | /a] [/f] [/t xxx] [/d [p|u:]xx:yy] [/c \"comment\"]")
		return s, code
	}
	s.seconds = defaultShutdownWait
	for i := 0; i < len(args); i++ {
		name, is := option(args[i])
		if is && name == "?" {
			return usage(0)
		}
		value := ""
		if is && len(name) == 1 && strings.Contains("tcd", name) {
			if i++; i == len(args) {
				return usage(shutdownUsageExitCode)
			}
			value = args[i]
		}
		if !is || !s.take(name, value) {
			return usage(shutdownUsageExitCode)
		}
	}
	if s.verb == "" {
		return usage(0)
	}
	return s, -1
}

// take takes an option, if there is such a one.
func (s *ending) take(name, value string) bool {
	switch {
	case name == "f", name == "c", name == "d":
	case name == "t":
		seconds, err := strconv.Atoi(value)
		s.seconds = seconds
		return err == nil && seconds >= 0 && seconds <= longestShutdown
	case isShutdownWord(name) && s.verb == "":
		s.verb = name
		if name == "p" {
			s.seconds = 0
		}
	default:
		return false
	}
	return true
}
