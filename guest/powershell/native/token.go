package native

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"mullion.dev/mullion/internal/base/lazyregexp"
)

// mostSource bounds the length of a source, in bytes: it is read as a whole.
const mostSource = 1 << 20

// tokenKind is the kind of a token.
type tokenKind int

const (
	endToken tokenKind = iota
	wordToken
	numberToken
	textToken // a text without its quotes
	signToken
)

// token is a word, a number, a text or a sign, and its line.
type token struct {
	kind tokenKind
	text string
	line int
}

// Error says what of a source is not here, or is no C#, and where.
type Error struct {
	Line int
	What string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.What) }

// tokensOf parts a source into tokens. Comments and lines of the preprocessor are left out.
func tokensOf(source string) ([]token, error) {
	if len(source) > mostSource {
		return nil, &Error{1, fmt.Sprintf("more than %d bytes of C#", mostSource)}
	}

	s := scanner{rest: source, line: 1}
	var all []token
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		if t.kind == endToken {
			return all, nil
		}
	}
}

// scanner reads a source from its beginning.
type scanner struct {
	rest string
	line int
}

// take takes n bytes and counts their lines.
func (s *scanner) take(n int) string {
	text := s.rest[:n]
	s.rest = s.rest[n:]
	s.line += strings.Count(text, "\n")
	return text
}

// skip leaves out white space, comments and lines of the preprocessor.
func (s *scanner) skip() error {
	for s.rest != "" {
		blank := len(s.rest) - len(strings.TrimLeftFunc(s.rest, unicode.IsSpace))
		s.take(blank)
		switch {
		case strings.HasPrefix(s.rest, "//"), strings.HasPrefix(s.rest, "#"):
			line, _, _ := strings.Cut(s.rest, "\n")
			s.take(len(line))
		case strings.HasPrefix(s.rest, "/*"):
			end := strings.Index(s.rest, "*/")
			if end < 0 {
				return &Error{s.line, "a comment that does not end"}
			}
			s.take(end + len("*/"))
		default:
			return nil
		}
	}

	return nil
}

func (s *scanner) next() (token, error) {
	if err := s.skip(); err != nil {
		return token{}, err
	}
	t := token{line: s.line}
	if s.rest == "" {
		return t, nil
	}

	c := rune(s.rest[0])
	switch {
	case c == '"' || strings.HasPrefix(s.rest, `@"`):
		return s.quoted(t)
	case c == '\'':
		return s.character(t)
	case unicode.IsDigit(c):
		n := while(s.rest, func(r rune) bool { return unicode.IsDigit(r) || unicode.IsLetter(r) })
		t.kind, t.text = numberToken, s.take(n)
	case startsWord(c):
		s.rest = strings.TrimPrefix(s.rest, "@")
		n := while(s.rest, func(r rune) bool { return r == '_' || unicode.IsDigit(r) || unicode.IsLetter(r) })
		if n == 0 {
			return t, &Error{s.line, "a character that is no C#"}
		}
		t.kind, t.text = wordToken, s.take(n)
	default:
		t.kind, t.text = signToken, s.take(signBytes(s.rest))
	}

	return t, nil
}

// startsWord says whether a byte begins a word; those of other alphabets are looked at when it is read.
func startsWord(c rune) bool { return c == '_' || c == '@' || c >= 0x80 || unicode.IsLetter(c) }

// signBytes returns how long the sign at the beginning of a text is.
func signBytes(text string) int {
	for _, sign := range []string{"<<", ">>", "=>"} {
		if strings.HasPrefix(text, sign) {
			return len(sign)
		}
	}
	return 1
}

// while returns how many bytes at the beginning of a text are of a kind.
func while(text string, is func(r rune) bool) int {
	n := strings.IndexFunc(text, func(r rune) bool { return !is(r) })
	if n < 0 {
		return len(text)
	}
	return n
}

// quoted reads a text in quotes, with escapes or, after @, without them.
func (s *scanner) quoted(t token) (token, error) {
	t.kind = textToken
	if strings.HasPrefix(s.rest, "@") {
		s.take(len(`@"`))
		for {
			part, after, closed := strings.Cut(s.rest, `"`)
			if !closed {
				return t, &Error{t.line, "a text that does not end"}
			}
			s.take(len(part) + 1)
			t.text += part
			if !strings.HasPrefix(after, `"`) {
				return t, nil
			}
			t.text += s.take(1)
		}
	}

	for n := 1; n < len(s.rest) && s.rest[n] != '\n'; n++ {
		switch s.rest[n] {
		case '\\':
			n++
		case '"':
			text, err := strconv.Unquote(escapes(s.rest[:n+1], `"`))
			if err != nil {
				return t, &Error{t.line, "a text with an escape that is not here"}
			}
			s.take(n + 1)
			t.text = text
			return t, nil
		}
	}

	return t, &Error{t.line, "a text that does not end"}
}

// character reads one in single quotes, as its number.
func (s *scanner) character(t token) (token, error) {
	line, _, _ := strings.Cut(s.rest, "\n")
	end := 1
	for end < len(line) && line[end] != '\'' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(line) {
		return t, &Error{t.line, "a character that does not end"}
	}
	r, _, rest, err := strconv.UnquoteChar(escapes(line[1:end], "'"), '\'')
	if err != nil || rest != "" {
		return t, &Error{t.line, "a character that is none"}
	}
	s.take(end + 1)
	t.kind, t.text = numberToken, strconv.Itoa(int(r))
	return t, nil
}

// escapeForm matches the escapes of C# that Go reads in another way, and \\, which begins none.
var escapeForm = lazyregexp.New(`\\\\|\\x[0-9A-Fa-f]{1,4}|\\0|\\['"]`)

// escapes returns what is in quotes with Go's escapes for those of C#: \x41B is one character, \0 another one, and
// either quotation mark may be escaped within the other ones
// (https://learn.microsoft.com/dotnet/csharp/programming-guide/strings/#string-escape-sequences).
func escapes(text, quote string) string {
	return escapeForm.ReplaceAllStringFunc(text, func(one string) string {
		switch digits := one[2:]; {
		case one[1] == 'x':
			return `\u` + strings.Repeat("0", 4-len(digits)) + digits
		case one == `\0`:
			return `\u0000`
		case one != `\\` && one[1:] != quote:
			return one[1:]
		}
		return one
	})
}
