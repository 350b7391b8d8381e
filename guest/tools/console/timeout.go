package console

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/tools/program"
)

// maxTimeout is the longest that timeout waits, in seconds
// (https://learn.microsoft.com/windows-server/administration/windows-commands/timeout).
const maxTimeout = 99999

// Timeout waits some seconds, or for a key. As on Windows it needs a console: with other input it ends at once.
func Timeout(e program.Env, sys System, args []string) int {
	seconds, noBreak, code := parseTimeout(e, args)
	if code >= 0 {
		return code
	}
	if _, err := sys.Key(0); errors.Is(err, ErrNoConsole) {
		e.Complain("ERROR: Input redirection is not supported, exiting the process immediately.")
		return 1
	}
	return await(e, sys, seconds, noBreak)
}

// parseTimeout reads the arguments. The code is negative if there is something to wait for.
func parseTimeout(e program.Env, args []string) (seconds int, noBreak bool, code int) {
	var values []string
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case !is || args[i] == "-1":
			values = append(values, args[i])
		case name == "?":
			e.Print("TIMEOUT [/T] timeout [/NOBREAK]")
			return 0, false, 0

		case name == "nobreak":
			noBreak = true
		case name == "t" && i+1 < len(args):
			i++
			values = append(values, args[i])
		default:
			e.Unknown("timeout", args[i])
			return 0, false, 1
		}
	}
	if len(values) == 0 {
		e.Invalid("timeout", "Mandatory default option is missing.")
		return 0, false, 1
	}

	if len(values) > 1 {
		e.Invalid("timeout", "Default option is not allowed more than '1' time(s).")
		return 0, false, 1
	}
	seconds, err := strconv.Atoi(values[0])
	if err != nil || seconds < -1 || seconds > maxTimeout {
		e.Complain("ERROR: Invalid value for timeout (/T) specified. Valid range is -1 to 99999 seconds.")
		return 0, false, 1
	}

	return seconds, noBreak, -1
}

// await waits for seconds, -1 for ever, or until a key is pressed unless noBreak.
func await(e program.Env, sys System, seconds int, noBreak bool) int {
	what := "press a key to continue ..."
	if noBreak {
		what = "press CTRL+C to quit ..."
	}
	if seconds < 0 {
		fmt.Fprint(e.Stdout, "\r\nPress any key to continue ...")
	}

	end := time.Now().Add(time.Duration(seconds) * time.Second)
	digits := len(strconv.Itoa(seconds))
	for first := true; ; first = false {
		left := time.Until(end)
		if seconds >= 0 && first {
			fmt.Fprintf(e.Stdout, "\r\nWaiting for %*d seconds, %s", digits, seconds, what)
		} else if seconds >= 0 {
			fmt.Fprintf(e.Stdout, "%s%*d seconds, %s", strings.Repeat("\b", digits+len(" seconds, "+what)), digits,
				max(0, int(left.Round(time.Second)/time.Second)), what)
		}

		wait := min(left, time.Second)
		if seconds < 0 {
			wait = -1
		} else if left <= 0 {
			break
		}

		key, err := sys.Key(wait)
		if err != nil || (key != 0 && !noBreak) {
			break
		}
	}

	e.Print("")
	return 0
}
