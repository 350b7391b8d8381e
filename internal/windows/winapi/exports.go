package winapi

import (
	_ "embed" // the list
	"strings"
)

// exports is a list that the test of guest/c writes from the definitions of the libraries: a library a line, and its
// functions.
//
//go:embed exports.txt
var exports string

// Exports lists what the libraries of guest/c export, by the library's name: pdh.dll. They take the place of Wine's.
func Exports() map[string][]string {
	libraries := map[string][]string{}
	for line := range strings.Lines(exports) {
		words := strings.Fields(line)
		libraries[words[0]] = words[1:]
	}
	return libraries
}
