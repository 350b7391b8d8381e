package lang

import (
	"strings"
	"unicode"
)

// Label is the name that a break or continue may give to a loop or switch, without its colon, or ""
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_break).
type Label string

func (l *Label) label(name string) { *l = Label(name) }

// labelled reads :name and the loop or switch after it. It returns nil for anything else: a command may be named so.
func (p *parser) labelled() (Stmt, error) {
	if p.peek() != ':' || !isName(p.peekAt(1)) {
		return nil, nil
	}

	begin := p.at
	p.at++
	name := p.word()
	p.space()
	after := p.at
	word := p.keyword("foreach", "for", "while", "do", "switch")
	if p.at = after; word == "" {
		p.at = begin
		return nil, nil
	}

	s, err := p.statement()
	if err != nil {
		return nil, err
	}
	s.(interface{ label(name string) }).label(name)
	return s, nil
}

// leaves reads the label after break or continue: a word, or a value that has it.
func (p *parser) leaves(begin int, word string) (Stmt, error) {
	s := &LeaveStmt{At: p.part(begin), Word: word}
	p.blanks()
	switch r := p.peek(); {
	case unicode.IsLetter(r) || r == '_':
		s.To = &Literal{p.word()}
	case strings.ContainsRune("$\"'(", r) && r != 0:
		x, err := p.primary()
		if err != nil {
			return nil, err
		}
		s.To = x
	}
	return s, nil
}
