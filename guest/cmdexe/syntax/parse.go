package syntax

import (
	"io"
	"strings"
)

// Parse reads one command, of one line or more. It is nil for a line without one, and io.EOF is returned if there is no
// line any more.
func Parse(lines Lines) (Node, error) {
	p := &parser{lines: lines, text: "\n"}
	if !p.line() {
		return nil, io.EOF
	}
	p.skip()
	if p.cur() == '\n' {
		return nil, nil //nolint:nilnil // an empty line is no command, and no error
	}

	n, err := p.sequence()
	if err != nil {
		return nil, err
	}
	if p.cur() != '\n' {
		return nil, p.surprise()
	}

	return n, nil
}

// sequence reads commands with & between them, up to the end of the line or of the block.
func (p *parser) sequence() (Node, error) {
	if p.nested++; p.nested > deepest {
		return nil, &Error{Message: "The command is nested too deeply."}
	}
	defer func() { p.nested-- }()
	first, err := p.binary(0)
	if err != nil {
		return nil, err
	}

	all := []Node{first}
	for p.cur() == '&' {
		p.at++
		p.skip()
		if p.ends() {
			break
		}
		next, err := p.binary(0)
		if err != nil {
			return nil, err
		}

		all = append(all, next)
	}

	if len(all) == 1 {
		return first, nil
	}

	return &Sequence{Nodes: all}, nil
}

// ends reports whether the line or the block ends here.
func (p *parser) ends() bool { return p.cur() == '\n' || (p.cur() == ')' && p.parens > 0) }

// operators returns those between commands, the one that binds least first.
func operators() []string { return []string{"||", "&&", "|"} }

// operator takes an operator, if it comes next.
func (p *parser) operator(op string) bool {
	if !strings.HasPrefix(p.text[p.at:], op) || (op == "|" && p.ahead() == '|') {
		return false
	}
	p.at += len(op)
	return true
}

// binary reads commands with the operator of a level between them, or of one that binds more.
func (p *parser) binary(level int) (Node, error) {
	if level == len(operators()) {
		return p.command()
	}
	left, err := p.binary(level + 1)
	if err != nil {
		return nil, err
	}

	op := operators()[level]
	for p.operator(op) {
		p.skip()
		if p.ends() {
			return nil, p.surprise()
		}

		right, err := p.binary(level + 1)
		if err != nil {
			return nil, err
		}
		left = &Binary{
			Op:    op,
			Left:  left,
			Right: right,
		}
	}

	return left, nil
}

// command reads one command.
func (p *parser) command() (Node, error) {
	p.skip()
	switch c := p.cur(); c {
	case '@':
		p.at++
		p.skip()
		if p.ends() {
			return &Remark{}, nil
		}
		n, err := p.sequence() // it is for all that follows, up to the end of the line or of the block
		return &Quiet{Node: n}, err

	case '(':
		return p.block()
	case ':':
		return p.remark(true), nil
	case ')':
		if p.parens == 0 { // Windows takes the rest of the line for a remark
			return p.remark(true), nil
		}
		return nil, p.surprise()

	case '&', '|', '\n':
		return nil, p.surprise()
	}

	if !p.redirects('\n') {
		return p.named()
	}
	return p.redirected()
}

// redirected reads redirections, and the block or the command after them, which is neither IF nor FOR then.
func (p *parser) redirected() (Node, error) {
	var before []Redirect
	for p.redirects('\n') {
		r, err := p.redirect()
		if err != nil {
			return nil, err
		}
		before = append(before, r)
		p.skip()
	}

	if p.cur() != '(' {
		return p.simple(before)
	}
	b, err := p.block()
	if err != nil {
		return nil, err
	}
	b.Redirects = append(before, b.Redirects...)

	return b, nil
}

// named reads a command by its name.
func (p *parser) named() (Node, error) {
	word := p.keyword()
	end := p.text[p.at+len(word)] // the newline, at the latest
	switch {
	case word == "if" && end != '"':
		p.at += len(word)
		return p.condition()
	case word == "for" && (delimiter(end) || end == '\n'):
		p.at += len(word)
		return p.loop()
	case word == "rem" && (delimiter(end) || end == '\n'):
		return p.rem()
	}

	return p.simple(nil)
}

// remark takes the rest of the line.
func (p *parser) remark(label bool) Node {
	end := strings.IndexByte(p.text[p.at:], '\n') + p.at
	text := p.text[p.at:end]
	p.at = end
	return &Remark{Text: text, Label: label}
}

// rem reads a REM. Special characters count only before its first word.
func (p *parser) rem() (Node, error) {
	start := p.at
	p.at += len("rem")
	for blank(p.cur()) {
		p.at++
	}
	if p.special(p.cur()) && p.cur() != '<' && p.cur() != '>' {
		return &Remark{Text: p.text[start:p.at]}, nil
	}
	p.at = start
	return p.remark(false), nil
}

// simple reads a command without a grammar of its own: its text, with the redirections taken out. before are those
// that stand before it.
func (p *parser) simple(before []Redirect) (Node, error) {
	s := &Simple{Redirects: before}
	var b strings.Builder
	quoted := false

	last := byte('\n')
	for {
		c := p.cur()
		switch {
		case c == '\n':
			return p.simpleEnd(s, b.String())
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '^':
			b.WriteString(p.escaped())
			last = 'x'
			continue

		case p.redirects(last):
			r, err := p.redirect()
			if err != nil {
				return nil, err
			}
			s.Redirects = append(s.Redirects, r)
			last = 'x'
			continue

		case p.special(c):
			return p.simpleEnd(s, b.String())
		}

		b.WriteByte(c)
		last = c
		p.at++
	}
}

func (p *parser) simpleEnd(s *Simple, text string) (Node, error) {
	s.Text = text
	if strings.TrimLeft(text, " \t,;=") == "" && len(s.Redirects) == 0 {
		return nil, p.surprise()
	}
	return s, nil
}

// block reads commands in parentheses, and the redirections after them.
func (p *parser) block() (*Block, error) {
	p.at++
	p.parens++
	outer := p.ifs
	p.ifs = 0
	b := &Block{}
	for {
		p.skip()
		if p.cur() == '\n' {
			if !p.line() {
				return nil, incorrect()
			}
			continue
		}

		if p.cur() == ')' && len(b.Body) > 0 {
			break
		}

		n, err := p.sequence()
		if err != nil {
			return nil, err
		}
		b.Body = append(b.Body, n)
		if !p.ends() {
			return nil, p.surprise()
		}
	}

	p.at++
	p.parens--
	p.ifs = outer
	for {
		p.skip()
		if !p.redirects('\n') {
			break
		}
		r, err := p.redirect()
		if err != nil {
			return nil, err
		}
		b.Redirects = append(b.Redirects, r)
	}

	if c := p.cur(); !p.special(c) && (p.ifs == 0 || p.keyword() != "else") {
		return nil, p.surprise()
	}

	return b, nil
}
