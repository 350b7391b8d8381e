package machine

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
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

// ending holds shutdown's arguments
// (https://learn.microsoft.com/windows-server/administration/windows-commands/shutdown).
type ending struct {
	verb    string // s, r, a, l
	seconds int
}

// shutdownWords returns the options that say what to do.
func shutdownWords() string { return "s sg r g p a l h hybrid fw o e i" }

func isShutdownWord(name string) bool {
	return strings.Contains(" "+shutdownWords()+" ", " "+name+" ")
}

// Shutdown ends the container, or the host.
func Shutdown(e program.Env, sys System, args []string) int {
	s, code := parseShutdown(e, args)
	if code >= 0 {
		return code
	}
	err := sys.MayEnd()
	if errors.Is(err, ErrHost) {
		return s.endHost(e, sys)
	}

	switch s.verb {
	case "a":
		return noShutdown(e)
	case "s", "r", "p", "sg", "g":
	default:
		e.Complain("The request is not supported.(%d)", errorNotSupported)
		return errorNotSupported
	}

	if err == nil {
		<-time.After(time.Duration(s.seconds) * time.Second)
		err = sys.End()
	}
	return shutdownDenied(e, err)
}

func noShutdown(e program.Env) int {
	e.Complain("Unable to abort the system shutdown because no shutdown was in progress.(%d)", errorNoShutdownRuns)
	return errorNoShutdownRuns
}

// endHost has the host of the program end, and returns at once. The cluster's supervisor does it.
func (s ending) endHost(e program.Env, sys System) int {
	switch s.verb {
	case "a":
		kept, err := sys.KeepHost()
		if err == nil && !kept {
			return noShutdown(e)
		}
		return shutdownDenied(e, err)

	case "s", "p", "sg", "r", "g":
		err := sys.EndHost(s.verb == "r" || s.verb == "g", time.Duration(s.seconds)*time.Second)
		if errors.Is(err, hostpower.ErrPending) {
			e.Complain("A system shutdown has already been scheduled.(%d)", errorShutdownPending)
			return errorShutdownPending
		}
		return shutdownDenied(e, err)
	}

	e.Complain("The request is not supported.(%d)", errorNotSupported)
	return errorNotSupported
}

// shutdownDenied returns the exit code for an error, if there is one.
func shutdownDenied(e program.Env, err error) int {
	if err != nil {
		e.Complain("Access is denied.(%d)", errorAccessDenied)
		return errorAccessDenied
	}
	return 0
}

// ErrHost says that the program runs in a host, and not in a container.
var ErrHost = errors.New("this is a host")

// parseShutdown reads the arguments. The code is negative if there is something to do.
func parseShutdown(e program.Env, args []string) (s ending, code int) {
	usage := func(code int) (ending, int) {
		e.Print("Usage: shutdown [/s | /r | /p | /a] [/f] [/t xxx] [/d [p|u:]xx:yy] [/c \"comment\"]")
		return s, code
	}

	s.seconds = defaultShutdownWait
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
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
