package expand

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// substring returns the part of a value that START or START,LENGTH name. Numbers below zero count from the end.
func substring(value, numbers string) string {
	first, second, both := strings.Cut(numbers, ",")
	letters := []rune(value)
	if !utf8.ValidString(value) { // bytes of another code page stay as they are
		letters = letters[:0]
		for _, c := range []byte(value) {
			letters = append(letters, rune(c))
		}
	}

	size := len(letters)
	start := number(first)
	if start < 0 {
		start = max(0, size+start)
	}

	start = min(start, size)
	end := size
	if both {
		if length := number(second); length < 0 {
			end = max(start, size+length)
		} else {
			end = min(size, start+min(length, size))
		}
	}

	if utf8.ValidString(value) {
		return string(letters[start:end])
	}

	return value[start:end]
}

// number reads a whole number as C does, decimal, octal or hexadecimal; what is none is 0.
func number(text string) int {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 32)
	if err != nil {
		return 0
	}
	return int(n)
}

// replace puts by in place of what is searched for, in letters of either size. *X stands for all up to the first X.
func replace(value, search, by string) string {
	if rest, ok := strings.CutPrefix(search, "*"); ok {
		if at := index(value, rest); at >= 0 {
			return by + value[at+len(rest):]
		}
		return value
	}

	var b strings.Builder
	for {
		at := index(value, search)
		if at < 0 {
			b.WriteString(value)
			return b.String()
		}
		b.WriteString(value[:at] + by)
		value = value[at+len(search):]
	}
}

// index finds a text in another one, whatever the size of its letters.
func index(in, what string) int {
	for at := 0; at+len(what) <= len(in); at++ {
		if strings.EqualFold(in[at:at+len(what)], what) {
			return at
		}
	}
	return -1
}
