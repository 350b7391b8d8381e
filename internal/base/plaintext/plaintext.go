// Package plaintext owns how text from others is shown to people: without what would draw on their terminal.
package plaintext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable replaces control characters and those that change the direction of text. Line ends stay.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) ||
			r == utf8.RuneError) {
			return '·'
		}
		return r
	}, s)
}

// OneLine is printable text without line ends, so that what others wrote cannot print lines that look like the
// program's own.
func OneLine(s string) string { return strings.ReplaceAll(Printable(s), "\n", "·") }

// Shortened is text of at most so many bytes, and of longer text its beginning, … and how long it was: a name of 30 MB
// is nobody's to read.
func Shortened(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return fmt.Sprintf("%s… (of %d bytes)", s[:end], len(s))
}
