package syntax

import "strings"

// comparisons returns the operators of IF that are words.
func comparisons() []string { return []string{"EQU", "NEQ", "LSS", "LEQ", "GTR", "GEQ"} }

// condition reads an IF, whose name has been taken.
func (p *parser) condition() (Node, error) {
	n := &If{}
	for {
		p.skip()
		switch p.keyword() {
		case "/i":
			n.Fold = true
		case "not":
			n.Not = !n.Not
		default:
			if err := p.test(n); err != nil {
				return nil, err
			}
			return p.branches(n)
		}

		p.at += len(p.keyword())
	}
}

// test reads what an IF compares.
func (p *parser) test(n *If) error {
	switch word := p.keyword(); word {
	case "exist", "defined", "errorlevel", "cmdextversion":
		n.Kind = word
		p.at += len(word)
		if p.skip(); p.special(p.cur()) {
			return p.surprise()
		}
		n.Left = p.word()
		return nil
	}

	if p.special(p.cur()) {
		return p.surprise()
	}
	n.Left = p.word()
	for delimiter(p.cur()) && p.cur() != '=' {
		p.at++
	}

	if p.cur() == '=' && p.ahead() == '=' {
		p.at += 2
		n.Kind = "=="
	} else {
		word := p.word()
		for _, c := range comparisons() {
			if strings.EqualFold(c, word) {
				n.Kind = c
			}
		}

		if n.Kind == "" {
			return p.wrong(word)
		}
	}

	if p.skip(); p.special(p.cur()) {
		return p.surprise()
	}
	n.Right = p.word()
	return nil
}

// branches reads the command of an IF, and the one of its ELSE.
func (p *parser) branches(n *If) (Node, error) {
	p.skip()
	if p.ends() {
		return nil, p.surprise()
	}

	p.ifs++
	then, err := p.sequence()
	p.ifs--
	if err != nil {
		return nil, err
	}

	n.Then = then
	if p.skip(); p.keyword() != "else" {
		return n, nil
	}
	p.at += len("else")
	if p.skip(); p.ends() {
		return nil, p.surprise()
	}
	n.Else, err = p.sequence()
	return n, err
}

// loop reads a FOR, whose name has been taken.
func (p *parser) loop() (Node, error) {
	n := &For{}
	p.skip()
	if err := p.kind(n); err != nil {
		return nil, err
	}
	name := p.word()
	if len(name) != 2 || name[0] != '%' {
		return nil, p.wrong(name)
	}

	n.Variable = name[1]
	if err := p.expect("in"); err != nil {
		return nil, err
	}
	if p.cur() != '(' {
		return nil, p.surprise()
	}

	p.at++
	set, err := p.set()
	if err != nil {
		return nil, err
	}

	n.Set = set
	if err := p.expect("do"); err != nil {
		return nil, err
	}
	if p.ends() {
		return nil, p.surprise()
	}
	n.Body, err = p.sequence()
	return n, err
}

// expect takes a word that has to come next.
func (p *parser) expect(word string) error {
	if p.skip(); p.keyword() != word {
		return p.surprise()
	}
	p.at += len(word)
	p.skip()
	return nil
}

// kind reads the switches of a FOR, with what belongs to them.
func (p *parser) kind(n *For) error {
	for word := p.keyword(); len(word) == 2 && word[0] == '/'; word = p.keyword() {
		if !n.takes(word[1]) {
			return p.surprise()
		}
		p.at += len(word)
		p.skip()
		if n.Kind == 'r' && p.cur() != '%' && p.cur() != '/' {
			n.Option = p.word()
			p.skip()
		}
	}

	if n.Kind == 'f' && p.cur() != '%' {
		n.Option = p.word()
		p.skip()
	}

	return nil
}

// takes notes a switch, if it fits those before it.
func (n *For) takes(letter byte) bool {
	switch {
	case letter == 'd' && (n.Kind == 0 || n.Kind == 'r'):
		n.Folders = true
	case n.Kind != 0:
		return false
	case letter == 'r', (letter == 'l' || letter == 'f') && !n.Folders:
		n.Kind = letter
	default:
		return false
	}
	return true
}

// set reads what stands in the parentheses of a FOR, perhaps in several lines.
func (p *parser) set() (string, error) {
	p.parens++
	defer func() { p.parens-- }()

	var b strings.Builder
	quoted := false
	for {
		c := p.cur()
		switch {
		case c == '\n':
			if !p.line() {
				return "", incorrect()
			}
			quoted = false
			b.WriteByte(' ')
			continue

		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '^':
			b.WriteString(p.escaped())
			continue
		case c == ')':
			p.at++
			return b.String(), nil

		case p.special(c):
			return "", p.surprise()
		}

		b.WriteByte(c)
		p.at++
	}
}
