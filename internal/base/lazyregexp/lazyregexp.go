// Package lazyregexp has regular expressions that are compiled at their first use. A program that starts often, and
// uses few of the expressions it links, starts faster by what it does not compile.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is an expression that is compiled at its first use. It may be used by several goroutines at once.
type Regexp struct {
	compiled func() *regexp.Regexp
}

// New gives an expression. Its text is a literal: one that does not compile panics at its first use, and a test of
// internal/arch finds it before.
func New(text string) *Regexp {
	return &Regexp{compiled: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })}
}

// Match is that of package regexp.
func (re *Regexp) Match(b []byte) bool { return re.compiled().Match(b) }

// MatchString is that of package regexp.
func (re *Regexp) MatchString(s string) bool { return re.compiled().MatchString(s) }

// FindString does what that of package regexp does.
func (re *Regexp) FindString(s string) string { return re.compiled().FindString(s) }

// FindStringSubmatch does what that of package regexp does.
func (re *Regexp) FindStringSubmatch(s string) []string { return re.compiled().FindStringSubmatch(s) }

// FindAllString does what that of package regexp does.
func (re *Regexp) FindAllString(s string, n int) []string { return re.compiled().FindAllString(s, n) }

// FindAllStringSubmatch does what that of package regexp does.
func (re *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return re.compiled().FindAllStringSubmatch(s, n)
}

// FindAllStringIndex does what that of package regexp does.
func (re *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return re.compiled().FindAllStringIndex(s, n)
}

// FindIndex does what that of package regexp does.
func (re *Regexp) FindIndex(b []byte) []int { return re.compiled().FindIndex(b) }

// FindStringSubmatchIndex does what that of package regexp does.
func (re *Regexp) FindStringSubmatchIndex(s string) []int {
	return re.compiled().FindStringSubmatchIndex(s)
}

// ReplaceAll does what that of package regexp does.
func (re *Regexp) ReplaceAll(b, to []byte) []byte { return re.compiled().ReplaceAll(b, to) }

// ReplaceAllString does what that of package regexp does.
func (re *Regexp) ReplaceAllString(s, to string) string { return re.compiled().ReplaceAllString(s, to) }

// ReplaceAllStringFunc is regexp's.
func (re *Regexp) ReplaceAllStringFunc(s string, to func(string) string) string {
	return re.compiled().ReplaceAllStringFunc(s, to)
}

// ReplaceAllLiteralString does what that of package regexp does.
func (re *Regexp) ReplaceAllLiteralString(s, to string) string {
	return re.compiled().ReplaceAllLiteralString(s, to)
}

// String does what that of package regexp does.
func (re *Regexp) String() string { return re.compiled().String() }
