package findstr

import (
	"bytes"
	"errors"
	"regexp"
	"strings"
)

// pattern is one string that findstr searches for.
type pattern struct {
	expr *regexp.Regexp
	// returned says that the line must end in CR LF: for findstr only that is the end of a line that $ means, so $
	// matches no line of a Linux text.
	returned bool
}

const meta = `.*^$[\`

// hasMeta reports whether a string has a character with a special meaning in a regular expression, without a \ before
// it.
func hasMeta(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if text[i+1] == '<' || text[i+1] == '>' {
				return true
			}
			i++
			continue
		}
		if text[i] != '\\' && strings.IndexByte(meta, text[i]) >= 0 {
			return true
		}
	}
	return false
}

func newPattern(text string, regular bool, s *search) (pattern, error) {
	var p pattern
	var expr string
	if regular {
		expr, p.returned = translate(text)
	} else {
		expr = regexp.QuoteMeta(strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(text))
	}

	expr = "(?:" + expr + ")"
	if s.begin || s.whole {
		expr = `\A` + expr
	}
	if s.end || s.whole {
		expr += `\z`
	}

	flags := "(?s)"
	if s.ignoreCase {
		flags = "(?si)"
	}
	var err error
	if p.expr, err = regexp.Compile(flags + expr); err != nil {
		return p, errors.New("the search string " + text + " is no regular expression")
	}

	return p, nil
}

func (p pattern) fits(line []byte, returned bool) bool {
	return (returned || !p.returned) && p.expr.Match(bytes.ToValidUTF8(line, []byte("?")))
}

// translate turns a regular expression of findstr's into Go's syntax: . * ^ $ [class] [^class] \< \> and \ before any
// other character (https://learn.microsoft.com/windows-server/administration/windows-commands/findstr). There are no
// groups and no alternatives.
func translate(text string) (expr string, atEnd bool) {
	var out strings.Builder
	rest := []rune(text)
	repeatable := false
	for i := 0; i < len(rest); i++ {
		r := rest[i]
		switch {
		case r == '^' && i == 0:
			out.WriteString(`\A`)
			continue
		case r == '$' && i == len(rest)-1:
			out.WriteString(`\z`)
			atEnd = true
			continue

		case r == '*' && repeatable:
			out.WriteByte('*')
			repeatable = false
			continue

		case r == '.':
			out.WriteByte('.')
		case r == '\\' && i+1 < len(rest):
			i++
			if rest[i] == '<' || rest[i] == '>' {
				out.WriteString(`\b`)
				repeatable = false
				continue
			}
			out.WriteString(regexp.QuoteMeta(string(rest[i])))

		case r == '[':
			class, length := translateClass(rest[i:])
			if length == 0 {
				out.WriteString(`\[`)
				break
			}
			out.WriteString(class)
			i += length - 1

		default:
			out.WriteString(regexp.QuoteMeta(string(r)))
		}

		repeatable = true
	}

	return out.String(), atEnd
}

// translateClass turns the class at the beginning of rest into Go's syntax, and returns its length in rest; 0 if it is
// no class because it has no end.
func translateClass(rest []rune) (class string, length int) {
	var out strings.Builder
	out.WriteByte('[')
	i := 1
	if i < len(rest) && rest[i] == '^' {
		out.WriteByte('^')
		i++
	}

	for first := i; i < len(rest); i++ {
		switch r := rest[i]; {
		case r == ']' && i > first:
			return out.String() + "]", i + 1
		case r == '-' && i > first && i+1 < len(rest) && rest[i+1] != ']' && rest[i-1] <= rest[i+1]:
			out.WriteByte('-')
		case r == '\\' && i+1 < len(rest):
			i++
			out.WriteString(quoteInClass(rest[i]))
		default:
			out.WriteString(quoteInClass(r))
		}
	}

	return "", 0
}

func quoteInClass(r rune) string {
	if strings.ContainsRune(`\]^-[&~`, r) {
		return `\` + string(r)
	}
	return string(r)
}
