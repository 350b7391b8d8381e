// Package wild owns Windows' wild cards in the names of files: which names a pattern matches, and the new name that a
// pattern makes of an old one.
package wild

import (
	"strings"
	"unicode"
)

// Has reports whether a name has a wild card.
func Has(name string) bool { return strings.ContainsAny(name, "*?") }

// Match reports whether a pattern matches a name. Letters match in either size; *.* matches all names, and a name
// without a dot has an empty ending.
func Match(pattern, name string) bool {
	if pattern == "*" || pattern == "*.*" {
		return true
	}
	p, n := fold(pattern), fold(name)
	if match(p, n) {
		return true
	}
	return len(p) > 0 && !strings.Contains(name, ".") && strings.Contains(pattern, ".") && match(p, append(n, '.'))
}

func fold(text string) []rune {
	letters := []rune(text)
	for i, c := range letters {
		letters[i] = unicode.ToLower(c)
	}
	return letters
}

// match goes back only to the last *, so its time is bounded by the product of the lengths.
func match(p, n []rune) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for j < len(n) {
		switch {
		case i < len(p) && p[i] == '*':
			star, mark = i, j
			i++
		case i < len(p) && (p[i] == n[j] || (p[i] == '?' && n[j] != '.')):
			i++
			j++

		case i < len(p) && p[i] == '?' && n[j] == '.': // ? matches nothing before a dot
			i++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}

	for i < len(p) && (p[i] == '*' || p[i] == '?') {
		i++
	}

	return i == len(p)
}

// Rename returns the new name that a pattern makes of an old one: ? takes one letter of the old name, * the rest of it.
func Rename(old, pattern string) string {
	base, ending, dot := cut(pattern)
	oldBase, oldEnding, _ := cut(old)
	name := fill(oldBase, base)
	if !dot {
		return name
	}
	if end := fill(oldEnding, ending); end != "" {
		return name + "." + end
	}
	return name
}

// cut takes a name apart at its last dot.
func cut(name string) (base, ending string, dot bool) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:], true
	}
	return name, "", false
}

func fill(old, pattern string) string {
	var b strings.Builder
	letters := []rune(old)
	at := 0
	for _, c := range pattern {
		switch c {
		case '*':
			if at < len(letters) {
				b.WriteString(string(letters[at:]))
			}
			at = len(letters)

		case '?':
			if at < len(letters) {
				b.WriteRune(letters[at])
			}
			at++
		default:
			b.WriteRune(c)
			at++
		}
	}

	return b.String()
}
