// Package wildcard owns names with * and ?, which the programs of Windows expand themselves: no shell does it for them.
package wildcard

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Has reports whether a name has wild cards.
func Has(name string) bool { return strings.ContainsAny(name, "*?") }

// Match reports whether a name fits a pattern of * and ?, without regard to case. As on Windows, *.* also fits names
// without a dot.
func Match(pattern, name string) bool {
	if pattern == "*.*" {
		return true
	}
	return fits([]rune(strings.ToLower(pattern)), []rune(strings.ToLower(name)))
}

func fits(pattern, name []rune) bool {
	// star is the place of the last *; from it the match is tried again, with one more character for the *.
	p := 0
	n := 0
	star := -1
	from := 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == name[n]):
			p++
			n++
		case star >= 0:
			from++
			p, n = star+1, from

		default:
			return false
		}
	}

	for p < len(pattern) && pattern[p] == '*' {
		p++
	}

	return p == len(pattern)
}

// Expand returns the files that match a path with * and ? in its last part, sorted; with below also those in the
// folders below. If nothing matches, it returns nothing.
func Expand(path string, below bool) []string {
	dir, pattern := Split(path)
	var found []string
	for _, entry := range Entries(dir) {
		if !entry.IsDir() && Match(pattern, entry.Name()) {
			found = append(found, dir+entry.Name())
		}
	}

	if below {
		for _, entry := range Entries(dir) {
			if entry.IsDir() {
				found = append(found, Expand(dir+entry.Name()+string(filepath.Separator)+pattern, true)...)
			}
		}
	}

	return found
}

// Split cuts a path before its last part; the folder ends in a separator, or is empty.
func Split(path string) (dir, last string) {
	ends := func(r rune) bool { return (r < 0x80 && os.IsPathSeparator(uint8(r))) || r == ':' }
	i := strings.LastIndexFunc(path, ends)
	return path[:i+1], path[i+1:]
}

// Entries returns what is in a folder, by name; nothing if the folder cannot be read.
func Entries(dir string) []os.DirEntry {
	if dir == "" {
		dir = "."
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	slices.SortFunc(list, func(a, b os.DirEntry) int {
		return strings.Compare(strings.ToLower(a.Name()), strings.ToLower(b.Name()))
	})
	return list
}
