// Package position says where in a script something stands: the extent of a statement or command in its source, and
// that as Windows PowerShell 5.1 shows it in errors.
package position

import (
	"fmt"
	"slices"
	"strings"
)

// Source is a text that is read as a script.
type Source struct {
	File string // its path, or "" if it is in none
	Text []rune

	ends []int // of its lines, nil before they are asked for
}

// line returns the number of the line, from 1, that a character is in, and where that line begins and ends.
func (s *Source) line(at int) (n, begin, end int) {
	if s.ends == nil {
		s.ends = []int{}
		for i, r := range s.Text {
			if r == '\n' {
				s.ends = append(s.ends, i)
			}
		}
	}

	at = min(at, len(s.Text))
	i, _ := slices.BinarySearch(s.ends, at)
	end = len(s.Text)
	if i < len(s.ends) {
		end = s.ends[i]
	}
	if i > 0 {
		begin = s.ends[i-1] + 1
	}

	return i + 1, begin, end
}

// Extent is a part of a source: the characters from From to before To. The zero value is nowhere.
type Extent struct {
	Source   *Source
	From, To int
}

// Known reports whether it is anywhere.
func (e Extent) Known() bool { return e.Source != nil }

// Line returns the number of the line that it begins in, from 1; 0 if it is nowhere.
func (e Extent) Line() int {
	if e.Source == nil {
		return 0
	}
	n, _, _ := e.Source.line(e.From)
	return n
}

// Column returns the number of its first character in the line, from 1; 0 if it is nowhere.
func (e Extent) Column() int {
	if e.Source == nil {
		return 0
	}
	_, begin, _ := e.Source.line(e.From)
	return min(e.From, len(e.Source.Text)) - begin + 1
}

// File returns the path of the file that it is in, or "".
func (e Extent) File() string {
	if e.Source == nil {
		return ""
	}
	return e.Source.File
}

// Text returns the text of the extent, and Whole the line that it begins in.
func (e Extent) Text() string {
	if e.Source == nil {
		return ""
	}
	from := min(e.From, len(e.Source.Text))
	return string(e.Source.Text[from:max(from, min(e.To, len(e.Source.Text)))])
}

// Whole returns the line that the extent begins in, without its end.
func (e Extent) Whole() string {
	if e.Source == nil {
		return ""
	}
	_, begin, end := e.Source.line(e.From)
	return strings.TrimRight(string(e.Source.Text[begin:end]), " \t\r\n")
}

// mostShown is how many characters of a line are shown: it fits into a window of 80 with what stands around it.
const mostShown = 69

// Message returns the extent as errors show it:
//
//	At C:\file.ps1:2 char:6
//	+ $x = Get-Item none
//	+      ~~~~~~~~~~~~~
//
// Of a long line only a part is shown, with dots. It is "" if the extent is nowhere (PositionMessage of
// https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.invocationinfo).
func (e Extent) Message(newline string) string {
	if e.Source == nil {
		return ""
	}
	name := e.Source.File
	if name == "" {
		name = "line"
	}

	at := fmt.Sprintf("At %s:%d char:%d", name, e.Line(), e.Column())
	line := []rune(e.Whole())
	if len(line) == 0 {
		return at + newline + "+ "
	}

	before := min(e.Column()-1, len(line))
	width := min(max(e.To-e.From, 0), len(line)-before)
	whole := expand(line)
	before, width = len(expand(line[:before])), len(expand(line[before:before+width]))

	shown := string(whole)
	left, right := "", ""
	if len(whole) > mostShown {
		var begin int
		begin, width = window(len(whole), before, width)
		shown = string(whole[begin:min(begin+mostShown, len(whole))])
		if begin > 0 {
			left = "... "
		}
		if begin+mostShown < len(whole) {
			right = " ..."
		}

		before -= begin
	}

	return strings.Join([]string{
		at,
		"+ " + left + shown + right,
		"+ " + strings.Repeat(" ", before+len(left)) + strings.Repeat("~", max(width, 1)),
	}, newline)
}

// expand puts four spaces in place of each tab.
func expand(line []rune) []rune {
	return []rune(strings.ReplaceAll(string(line), "\t", "    "))
}

// window returns where the mostShown characters of a long line begin that are shown, of a part of width characters
// after before others: as much of that as there is room for, with at most 12 characters before it and 8 after it if
// there is no room for more.
func window(length, before, width int) (begin, shown int) {
	prefix, suffix := min(before, 12), min(length-before-width, 8)
	if prefix+width+suffix >= mostShown {
		return before - prefix, min(width, mostShown-prefix)
	}

	prefix = min(before, mostShown-width-suffix)
	return before - prefix, width
}
