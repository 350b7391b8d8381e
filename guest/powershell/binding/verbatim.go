package binding

import "strings"

// VerbatimWords returns the words of a text, parted by blanks that are not within quotation marks.
func VerbatimWords(s string) []string {
	var words []string
	var b strings.Builder
	inside, any := false, false
	for _, r := range s {
		switch {
		case r == '"':
			inside, any = !inside, true
		case !inside && (r == ' ' || r == '\t'):
			if any {
				words = append(words, b.String())
			}
			b.Reset()
			any = false

		default:
			b.WriteRune(r)
			any = true
		}
	}
	if any {
		words = append(words, b.String())
	}

	return words
}
