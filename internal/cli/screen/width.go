package screen

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// cells returns how many columns of a terminal a character takes.
func cells(r rune) int {
	switch {
	case r < 0x20, r == 0x7f, unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x300:
		return 1
	}

	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// Width returns how many columns of a terminal a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += cells(r)
	}
	return n
}

// Cut returns the text, or as much of its beginning as has room in so many columns, with an ellipsis at the end.
func Cut(text string, columns int) string {
	if Width(text) <= columns {
		return text
	}
	if columns < 1 {
		return ""
	}

	used := 0
	for i, r := range text {
		if used += cells(r); used > columns-1 {
			return text[:i] + "…"
		}
	}

	return text
}

// Pad returns the text with blanks up to so many columns.
func Pad(text string, columns int) string {
	return text + strings.Repeat(" ", max(columns-Width(text), 0))
}

// Wrap breaks a text into lines of at most so many columns, between words. A word that is longer has a line of its own.
func Wrap(text string, columns int) []string {
	var lines []string
	line, used := "", 0
	for word := range strings.FieldsSeq(text) {
		n := Width(word)
		if line != "" && used+1+n > columns {
			lines = append(lines, line)
			line, used = "", 0
		}
		if line != "" {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+n
	}

	if line != "" || len(lines) == 0 {
		lines = append(lines, line)
	}

	return lines
}

// Paragraphs breaks a text whose paragraphs are parted by empty lines. A line that begins with a blank is an example or
// a row of a table, and stays a line of its own; of a row that is too long, the last column is broken.
func Paragraphs(text string, columns int) string {
	var out, paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			out = append(out, Wrap(strings.Join(paragraph, " "), columns)...)
			paragraph = nil
		}
	}

	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			flush()
			out = append(out, row(line, columns))
			continue
		}
		paragraph = append(paragraph, line)
	}

	flush()
	return strings.Join(out, "\n")
}

// Hang returns a text beside a column that is so wide already: broken at the width, each further line below the first.
func Hang(text string, indent, columns int) string {
	const least = 24 // narrower than that is worse than a terminal's own breaks
	return strings.Join(Wrap(text, max(columns-indent, least)), "\n"+strings.Repeat(" ", indent))
}

// row returns a row of a table, whose columns are parted by two blanks and more.
func row(line string, columns int) string {
	gap := strings.LastIndex(strings.TrimRight(line, " "), "  ") + len("  ")
	if Width(line) <= columns || strings.TrimSpace(line[:gap]) == "" {
		return line
	}
	return line[:gap] + Hang(line[gap:], Width(line[:gap]), columns)
}
