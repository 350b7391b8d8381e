package cmdlet

import (
	_ "embed" // the names
	"strings"
)

// writtenNames are the names of parameters, and of their values, as Windows PowerShell writes them: a line each.
//
//go:embed written.txt
var writtenNames string

// Written returns the name of a parameter or of a value of one as Windows PowerShell writes it, where the tables have
// it in lower case; a name that is not known stays.
func Written(name string) string {
	for line := range strings.Lines(writtenNames) {
		if line = strings.TrimSuffix(line, "\n"); strings.EqualFold(line, name) {
			return line
		}
	}
	return name
}
