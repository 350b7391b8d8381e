// Package winargs owns the command lines of Windows: how arguments become one, and how long one may be. It does not own
// which program a line names.
package winargs

import (
	"strings"
	"unicode/utf8"
)

// Most is how many characters a command line may have, its end included
// (https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-createprocessw, lpCommandLine).
// A character is a unit of UTF-16.
const Most = 32767

// TooLong is the error of Windows for a longer one (ERROR_FILENAME_EXCED_RANGE), and TooLongText its text for it.
const (
	TooLong     = 206
	TooLongText = "The filename or extension is too long."
)

// Line returns the line that Windows gets for a program and its arguments
// (https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments).
func Line(args []string) string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		words = append(words, word(arg))
	}
	return strings.Join(words, " ")
}

// Fits reports whether Windows takes the line of a program and its arguments.
func Fits(args []string) bool {
	units := 1
	for _, r := range Line(args) {
		units++
		if r != utf8.RuneError && r > 0xffff {
			units++ // a pair
		}
	}
	return units <= Most
}

// word returns an argument as it stands in a command line: in quotes if it has blanks, where backslashes count that a
// quote follows. It is what the loader does, and syscall.EscapeArg of Go.
func word(arg string) string {
	quoted := arg == "" || strings.ContainsAny(arg, " \t")
	var out strings.Builder
	slashes := 0
	for _, c := range []byte(arg) {
		switch c {
		case '\\':
			slashes++
		case '"':
			out.WriteString(strings.Repeat(`\`, slashes+1))
			slashes = 0
		default:
			slashes = 0
		}

		out.WriteByte(c)
	}

	if !quoted {
		return out.String()
	}
	return `"` + out.String() + strings.Repeat(`\`, slashes) + `"`
}
