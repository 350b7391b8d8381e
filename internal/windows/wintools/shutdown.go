package wintools

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// The exit codes of shutdown are the numbers of errors of Windows.
const (
	errorAccessDenied     = 5
	errorNotSupported     = 50
	errorNoShutdownRuns   = 1116
	longestShutdown       = 315360000
	defaultShutdownWait   = 30
	shutdownUsageExitCode = 1
)

// shutdown ends the container; a host is not ended by a program in it.
func shutdown(e Env, args []string) int {
	s, code := parseShutdown(e, args)
	if code >= 0 {
		return code
	}
	switch s.verb {
	case "a":
		e.complain("Unable to abort the system shutdown because no shutdown was in progress.(%d)", errorNoShutdownRuns)
		return errorNoShutdownRuns
	case "s", "r", "p", "sg", "g":
	default:
		e.complain("The request is not supported.(%d)", errorNotSupported)
		return errorNotSupported
	}
	err := e.System.MayEnd()
	if err == nil {
		<-time.After(time.Duration(s.seconds) * time.Second)
		err = e.System.End()
	}
	switch {
	case errors.Is(err, ErrHost):
		e.complain("The request is not supported.(%d)", errorNotSupported)
		e.complain("A node's host is ended and started from the machine: mullion down, mullion up.")
		return errorNotSupported
	case err != nil:
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
