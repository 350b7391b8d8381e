// Package text owns the small programs that print, sort, search and compare texts: fc, find, more and sort. The search
// for regular expressions is package findstr.
package text
