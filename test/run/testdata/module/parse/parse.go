// Package parse has something to be tested, on Windows.
package parse

import "strings"

// Words are the words of a text.
func Words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Fields(text)
}
