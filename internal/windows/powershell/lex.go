package powershell

import (
	"fmt"
	"strings"
	"unicode"
)

// parser reads a script. PowerShell has no tokens of its own: what a character means hangs on whether a command's arguments or an
// expression is read, so the parser reads characters.
type parser struct {
	src []rune
	at  int
	// oneValue says that a comma ends an expression, as it does between parameters.
	oneValue bool
}

// Refusal says that a script uses what is not in this part of PowerShell.
type Refusal struct {
	Line int
	What string
}

// Error is a line for the user.
func (r *Refusal) Error() string {
	return fmt.Sprintf("line %d: %s", r.Line, r.What)
}

func lower(s string) string { return strings.ToLower(s) }

func (p *parser) line() int {
	n := 1
	for _, r := range p.src[:min(p.at, len(p.src))] {
		if r == '\n' {
			n++
		}
	}
	return n
}

func (p *parser) refuse(format string, args ...any) error {
	return &Refusal{Line: p.line(), What: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() rune { return p.peekAt(0) }

func (p *parser) peekAt(n int) rune {
	if p.at+n >= len(p.src) {
		return 0
	}
	return p.src[p.at+n]
}

func (p *parser) has(s string) bool {
	for i, r := range []rune(s) {
		if p.peekAt(i) != r {
			return false
		}
	}
	return true
}

// take goes over s if it is next.
func (p *parser) take(s string) bool {
	if !p.has(s) {
		return false
	}
	p.at += len([]rune(s))
	return true
}

// blanks goes over spaces, comments, and line ends that are escaped.
func (p *parser) blanks() {
	for {
		switch {
		case p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\uFEFF':
			p.at++
		case p.has("`\n"):
			p.at += 2
		case p.has("`\r\n"):
			p.at += 3
		case p.has("<#"):
			for p.at < len(p.src) && !p.take("#>") {
				p.at++
			}
		case p.peek() == '#':
			for p.at < len(p.src) && p.peek() != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// space goes over blanks and line ends.
func (p *parser) space() {
	for {
		p.blanks()
		if r := p.peek(); r != '\n' && r != '\r' {
			return
		}
		p.at++
	}
}

func (p *parser) expect(s string) error {
	p.space()
	if !p.take(s) {
		return p.refuse("%q is missing before %s", s, p.next())
	}
	return nil
}

// next names what is next, for messages.
func (p *parser) next() string {
	if p.at >= len(p.src) {
		return "the end"
	}
	end := p.at
	for end < len(p.src) && end < p.at+20 && p.src[end] != '\n' {
		end++
	}
	return fmt.Sprintf("%q", string(p.src[p.at:end]))
}

func isName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// word reads letters, digits and _.
func (p *parser) word() string {
	begin := p.at
	for isName(p.peek()) {
		p.at++
	}
	return string(p.src[begin:p.at])
}

// keyword goes over a word of the language if it is next, whole.
func (p *parser) keyword(words ...string) string {
	begin := p.at
	w := lower(p.word())
	if p.peek() != '-' { // if-then would be a command
		for _, k := range words {
			if w == k {
				return k
			}
		}
	}
	p.at = begin
	return ""
}

// variable reads what follows a $.
func (p *parser) variable() (expr, error) {
	p.at++
	switch r := p.peek(); r {
	case '(':
		p.at++
		body, err := p.statements(")")
		return &sub{body: body}, err
	case '{':
		end := p.at
		for end < len(p.src) && p.src[end] != '}' {
			end++
		}
		name := string(p.src[p.at+1 : end])
		p.at = min(end+1, len(p.src))
		return p.named(name)
	case '?', '_', '$', '^':
		if r != '_' || !isName(p.peekAt(1)) {
			p.at++
			return p.named(string(r))
		}
	}
	name := p.word()
	if p.peek() == ':' && isName(p.peekAt(1)) {
		p.at++
		name += ":" + p.word()
	}
	return p.named(name)
}

func (p *parser) named(name string) (expr, error) {
	scope, rest, scoped := strings.Cut(name, ":")
	switch {
	case name == "":
		return nil, p.refuse("a $ without a name")
	case scoped && lower(scope) == "env":
		return &variable{name: rest, env: true}, nil
	case scoped:
		return nil, p.refuse("variables of %s:", scope)
	}
	return &variable{name: lower(name)}, nil
}

// single reads a string in apostrophes.
func (p *parser) single() (expr, error) {
	p.at++
	var b strings.Builder
	for p.at < len(p.src) {
		if p.take("''") {
			b.WriteByte('\'')
			continue
		}
		if p.take("'") {
			return &literal{b.String()}, nil
		}
		b.WriteRune(p.peek())
		p.at++
	}
	return nil, p.refuse("a string without an end")
}

// double reads a string in quotation marks.
func (p *parser) double() (expr, error) {
	p.at++
	t := &template{}
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			t.parts = append(t.parts, &literal{b.String()})
			b.Reset()
		}
	}
	for p.at < len(p.src) {
		switch {
		case p.take(`""`):
			b.WriteByte('"')
		case p.take(`"`):
			flush()
			if len(t.parts) == 0 {
				return &literal{""}, nil
			}
			return t, nil
		case p.peek() == '`':
			b.WriteRune(p.escaped())
		case p.interpolates():
			flush()
			x, err := p.variable()
			if err != nil {
				return nil, err
			}
			t.parts = append(t.parts, x)
		default:
			b.WriteRune(p.peek())
			p.at++
		}
	}
	return nil, p.refuse("a string without an end")
}

// hereString reads the lines between @" and a line that begins with "@; in @' … '@ nothing is put in.
func (p *parser) hereString() (expr, error) {
	quote := p.peekAt(1)
	p.at += 2
	p.blanks()
	if !p.take("\r\n") && !p.take("\n") {
		return nil, p.refuse("a here-string that begins on its first line")
	}
	begin := p.at
	for end := begin; end < len(p.src); end++ {
		if (end == begin || p.src[end-1] == '\n') && p.src[end] == quote && end+1 < len(p.src) && p.src[end+1] == '@' {
			lines := strings.TrimSuffix(strings.TrimSuffix(string(p.src[begin:end]), "\n"), "\r")
			p.at = end + 2
			if quote == '\'' {
				return &literal{lines}, nil
			}
			inner := &parser{src: []rune(`"` + strings.ReplaceAll(lines, `"`, `""`) + `"`)}
			x, err := inner.double()
			if err != nil {
				return nil, p.refuse("%s", err)
			}
			return x, nil
		}
	}
	return nil, p.refuse("a here-string without an end")
}

// interpolates tells whether a variable begins here.
func (p *parser) interpolates() bool {
	r := p.peekAt(1)
	return p.peek() == '$' && (isName(r) || r == '(' || r == '{' || r == '?')
}

// escaped reads a character after a back quote.
func (p *parser) escaped() rune {
	p.at++
	r := p.peek()
	if p.at < len(p.src) {
		p.at++
	}
	if e, ok := map[rune]rune{'n': '\n', 'r': '\r', 't': '\t', '0': 0, 'a': 7, 'b': 8, 'f': 12, 'v': 11}[r]; ok {
		return e
	}
	return r
}
