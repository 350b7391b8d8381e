// Package expand owns what cmd.exe puts in place of variables: of percent signs, before a line is read (%NAME%, %1),
// of exclamation marks just before a command runs (!NAME!), and of the variables of FOR (%i, %~nxi). It knows neither
// files nor the environment: a Scope says what a name means.
package expand

import (
	"strings"
)

// Scope is what names mean.
type Scope struct {
	// Lookup returns the value of a variable of the environment.
	Lookup func(name string) (string, bool)
	// Argument returns an argument of the batch file, 0 is the file; nil on the command line, where there is none.
	Argument func(number int) string
	// Path returns the argument that %~f and the like look at: for 0 the whole name of the batch file.
	Path func(number int) string
	// All returns all arguments, as they were written.
	All func() string
	// Modify returns a value without its quotes, and what modifiers such as "dp" or "$PATH:" make of it.
	Modify func(value, modifiers string) string
}

// SyntaxError is a replacement that cannot be read: Windows ends a batch file there.
type SyntaxError struct{ At string }

func (e *SyntaxError) Error() string { return e.At + " was unexpected at this time." }

// Percent expands the percent signs of a line, as in a batch file if there are arguments, else as on the command line.
func Percent(line string, s Scope) (string, error) {
	if strings.IndexByte(line, '%') < 0 {
		return line, nil
	}

	var b strings.Builder
	batch := s.Argument != nil
	for at := 0; at < len(line); {
		if line[at] != '%' {
			b.WriteByte(line[at])
			at++
			continue
		}

		rest := line[at+1:]
		if batch {
			if text, length, ok := argument(rest, s); ok {
				b.WriteString(text)
				at += 1 + length
				continue
			}
		}

		text, length, found, err := variable(rest, '%', s, batch)
		if err != nil {
			return "", err
		}
		if found {
			b.WriteString(text)
			at += 1 + length
			continue
		}

		if !batch {
			b.WriteByte('%')
		}
		at++
	}

	return b.String(), nil
}

// argument reads what follows a percent sign as one of %%, %*, %1, %~dp0. length is how much of rest it takes.
func argument(rest string, s Scope) (text string, length int, ok bool) {
	switch {
	case rest == "":
		return "", 0, false
	case rest[0] == '%':
		return "%", 1, true
	case rest[0] == '*':
		return s.All(), 1, true
	case digit(rest[0]):
		return s.Argument(int(rest[0] - '0')), 1, true
	case rest[0] == '~':
		end := modifiersEnd(rest[1:]) + 1
		if end < len(rest) && digit(rest[end]) {
			value := s.Argument
			if end > 1 {
				value = s.Path
			}
			return s.Modify(value(int(rest[end]-'0')), rest[1:end]), end + 1, true
		}
	}

	return "", 0, false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// modifiersEnd returns where the modifiers of a path end: letters, and a variable with folders such as $PATH:.
func modifiersEnd(text string) int {
	at := 0
	for at < len(text) {
		switch c := text[at] | 0x20; {
		case strings.IndexByte("fdpnxsatz", c) >= 0 && text[at] != '$':
			at++
		case text[at] == '$':
			colon := strings.IndexByte(text[at:], ':')
			if colon < 2 || strings.ContainsAny(text[at:at+colon], "% \t\"") {
				return at
			}
			return at + colon + 1

		default:
			return at
		}
	}

	return at
}

// variable reads NAME%, NAME:~1,2% or NAME:a=b%, which follow a first sign. found says that it is to be replaced by
// text, and that length is how much of rest it takes.
func variable(rest string, sign byte, s Scope, drop bool) (text string, length int, found bool, err error) {
	end := strings.IndexAny(rest, string([]byte{sign, ':'}))
	if end < 0 {
		return "", 0, false, nil
	}
	if rest[end] == ':' && end+1 < len(rest) && rest[end+1] == sign {
		end++
	}

	name := rest[:end]
	value, defined := s.Lookup(name)
	if rest[end] == sign {
		if !defined {
			return "", end + 1, drop, nil
		}
		return value, end + 1, true, nil
	}

	if !defined {
		return "", end + 1, drop, nil
	}

	size := strings.IndexByte(rest[end+1:], sign)
	if size < 0 {
		return "", 0, false, nil
	}
	how := rest[end+1 : end+1+size]
	length = end + 1 + size + 1
	if from, cut := strings.CutPrefix(how, "~"); cut {
		return substring(value, from), length, true, nil
	}

	search, by, ok := strings.Cut(how, "=")
	if !ok || search == "" || search == "*" {
		return "", 0, false, &SyntaxError{At: how + string([]byte{sign})}
	}

	return replace(value, search, by), length, true, nil
}

// Delayed expands the exclamation marks of a command. A text without one keeps its carets.
func Delayed(text string, s Scope) string {
	if strings.IndexByte(text, '!') < 0 {
		return text
	}

	var b strings.Builder
	for at := 0; at < len(text); {
		switch c := text[at]; c {
		case '^':
			at++
			if at < len(text) {
				b.WriteByte(text[at])
				at++
			}

		case '!':
			for at+1 < len(text) && text[at+1] == '!' {
				at++
			}

			value, length, found, err := variable(text[at+1:], '!', s, true)
			at++
			if found && err == nil {
				b.WriteString(value)
				at += length
			}

		default:
			b.WriteByte(c)
			at++
		}
	}

	return b.String()
}

// Loop expands the variables of FOR in a command. get returns the value of a variable, if there is one.
func Loop(text string, get func(name byte) (string, bool), modify func(value, modifiers string) string) string {
	if strings.IndexByte(text, '%') < 0 {
		return text
	}

	var b strings.Builder
	for at := 0; at < len(text); {
		if text[at] == '%' && at+1 < len(text) {
			if value, length, ok := loopVariable(text[at+1:], get, modify); ok {
				b.WriteString(value)
				at += 1 + length
				continue
			}
		}
		b.WriteByte(text[at])
		at++
	}

	return b.String()
}

// loopVariable reads i or ~nxi. As many letters are modifiers as leave the name of a variable.
func loopVariable(rest string, get func(byte) (string, bool), modify func(string, string) string) (string, int, bool) {
	if rest[0] != '~' {
		value, ok := get(rest[0])
		return value, 1, ok
	}

	for end := modifiersEnd(rest[1:]) + 1; end >= 1; end-- {
		if end >= len(rest) {
			continue
		}
		if value, ok := get(rest[end]); ok {
			return modify(value, rest[1:end]), end + 1, true
		}
	}

	return "", 0, false
}
