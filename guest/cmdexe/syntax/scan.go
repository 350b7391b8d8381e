package syntax

import "strings"

// Lines gives one line after the other, without its end. A command takes several if a parenthesis is open, or if a line
// ends with a caret.
type Lines interface {
	Next() (line string, ok bool)
}

// Error is a command that cannot be read, in the words of Windows.
type Error struct{ Message string }

func (e *Error) Error() string { return e.Message }

// Incorrect is what Windows says of a command that ends too soon.
const Incorrect = "The syntax of the command is incorrect."

func incorrect() error { return &Error{Message: Incorrect} }

func unexpected(what string) error { return &Error{Message: what + " was unexpected at this time."} }

// deepest is how deep blocks, IF and FOR may stand in each other.
const deepest = 500

// parser reads the characters of a line, and the next line where a command goes on there.
type parser struct {
	lines  Lines
	text   string // the line, with a newline at its end
	at     int
	parens int // open parentheses
	ifs    int // IFs whose first command is being read: else may follow
	nested int
}

// cur returns the character that is read next; a newline at the end of the line.
func (p *parser) cur() byte { return p.text[p.at] }

// ahead returns the character after cur.
func (p *parser) ahead() byte {
	if p.at+1 < len(p.text) {
		return p.text[p.at+1]
	}
	return '\n'
}

// line begins the next line; false if there is none.
func (p *parser) line() bool {
	text, ok := p.lines.Next()
	if !ok {
		p.text, p.at = "\n", 0
		return false
	}
	p.text, p.at = strings.ReplaceAll(text, "\n", "")+"\n", 0
	return true
}

// delimiter reports whether a character stands between words.
func delimiter(c byte) bool {
	return c == ' ' || c == '\t' || c == ',' || c == ';' || c == '='
}

func blank(c byte) bool { return c == ' ' || c == '\t' }

// special reports whether a character ends a word outside of quotes. A closing parenthesis does so only in a block.
func (p *parser) special(c byte) bool {
	return c == '\n' || c == '&' || c == '|' || c == '<' || c == '>' || (c == ')' && p.parens > 0)
}

// skip goes over what stands between words.
func (p *parser) skip() {
	for delimiter(p.cur()) {
		p.at++
	}
}

// escaped takes a caret and the character after it, which has no meaning then. A caret at the end of a line joins the
// next one to it, whose first character has no meaning either: if that is the end of an empty line, it is a line feed
// in the text, which goes on with the line after it.
func (p *parser) escaped() string {
	p.at++
	if p.cur() == '\n' {
		if !p.line() {
			return ""
		}
		if p.cur() == '\n' {
			p.line()
			return "\n"
		}
	}

	c := p.cur()
	p.at++
	return string([]byte{c})
}

// word takes the next word: up to what stands between words or a special character, outside of quotes.
func (p *parser) word() string {
	p.skip()
	var b strings.Builder
	quoted := false
	for {
		c := p.cur()
		switch {
		case c == '\n', !quoted && (delimiter(c) || p.special(c)):
			return b.String()
		case c == '"':
			quoted = !quoted
		case c == '^' && !quoted:
			b.WriteString(p.escaped())
			continue
		}

		b.WriteByte(c)
		p.at++
	}
}

// keyword returns the word that comes next in small letters, which is not taken.
func (p *parser) keyword() string {
	end := p.at
	for c := p.text[end]; !delimiter(c) && !p.special(c) && c != '(' && c != '"'; c = p.text[end] {
		end++
	}
	return lower(p.text[p.at:end])
}

// lower returns a text with small letters of ASCII; the length stays.
func lower(text string) string {
	small := []byte(text)
	for i, c := range small {
		if c >= 'A' && c <= 'Z' {
			small[i] = c | 0x20
		}
	}
	return string(small)
}

// surprise returns the error that what comes next cannot stand here.
func (p *parser) surprise() error {
	c := p.cur()
	switch {
	case c == '\n':
		return incorrect()
	case (c == '&' || c == '|') && p.ahead() == c:
		return unexpected(string([]byte{c, c}))
	case p.special(c) || c == '(' || c == ')':
		return unexpected(string([]byte{c}))
	}

	if word := p.word(); word != "" {
		return unexpected(word)
	}

	return incorrect()
}

// wrong returns the error that a word, which has been taken, cannot stand there.
func (p *parser) wrong(word string) error {
	if word == "" {
		return p.surprise()
	}
	return unexpected(word)
}

// redirect takes a redirection, which begins here, perhaps with the number of its handle.
func (p *parser) redirect() (Redirect, error) {
	r := Redirect{Handle: -1}
	if c := p.cur(); c >= '0' && c <= '9' {
		r.Handle = int(c - '0')
		p.at++
	}

	r.Op = string([]byte{p.cur()})
	p.at++
	if r.Op == ">" && p.cur() == '>' {
		r.Op = ">>"
		p.at++
	}

	if r.Handle < 0 {
		r.Handle = 1
		if r.Op == "<" {
			r.Handle = 0
		}
	}

	if p.cur() == '&' {
		p.at++
		p.skip()
		c := p.cur()
		if c < '0' || c > '9' {
			return r, p.surprise()
		}
		p.at++
		r.Dup, r.Target = true, string([]byte{c})

		return r, nil
	}

	p.skip()
	if p.special(p.cur()) {
		return r, p.surprise()
	}
	r.Target = p.word()
	return r, nil
}

// redirects reports whether a redirection begins here. after is the character before; a number belongs to the
// redirection only if it is a word of its own.
func (p *parser) redirects(after byte) bool {
	c := p.cur()
	if c == '<' || c == '>' {
		return true
	}
	next := p.ahead()
	return c >= '0' && c <= '9' && (next == '<' || next == '>') && (delimiter(after) || after == '(' || after == '\n')
}
