// Package plaintext owns how text from others is shown to people: without what would draw on their terminal.
package plaintext

import (
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
