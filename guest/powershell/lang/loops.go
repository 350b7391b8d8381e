package lang

import "slices"

// do reads what follows the word do.
func (p *parser) do() (Stmt, error) {
	s := &DoStmt{}
	var err error
	if s.Body, err = p.braces(); err != nil {
		return nil, err
	}
	p.space()
	word := p.keyword("while", "until")
	if word == "" {
		return nil, p.refuse("MissingWhileOrUntilInDoWhile", "Missing while or until keyword in do loop.")
	}
	s.Until = word == "until"
	s.Cond, err = p.parens()
	return s, err
}

// forStatement reads what follows the word for.
func (p *parser) forStatement() (Stmt, error) {
	defer p.lists()()
	s := &ForStmt{}
	if err := p.expect("("); err != nil {
		return nil, err
	}

	var parts [3]Stmt
	for i := range parts {
		p.space()
		if r := p.peek(); r != ';' && r != ')' {
			one, err := p.assignment()
			if err != nil {
				return nil, err
			}
			parts[i] = one
		}

		p.space()
		if i < 2 && !p.take(";") && p.peek() != ')' {
			return nil, p.unexpected()
		}
	}

	if err := p.expect(")"); err != nil {
		return nil, err
	}
	s.First, s.Step = parts[0], parts[2]
	if parts[1] != nil {
		s.Cond = &SubExpr{Body: Block{parts[1]}, Paren: true}
	}
	body, err := p.braces()
	s.Body = body

	return s, err
}

// SwitchStmt is switch ( … ) { pattern { … } default { … } }.
type SwitchStmt struct {
	Label
	How      string // "", wildcard or regex
	Exact    bool
	File     bool // in is the path of a file, whose lines are compared
	In       Expr
	Patterns []Expr // nil for default
	Blocks   []Block
}

// switchStatement reads what follows the word switch.
func (p *parser) switchStatement() (Stmt, error) {
	s := &SwitchStmt{}
	for {
		p.space()
		if p.peek() != '-' {
			break
		}

		p.at++
		switch word := p.keyword("wildcard", "regex", "exact", "casesensitive", "file"); word {
		case "file":
			s.File = true
			p.blanks()
			x, err := p.argumentValue()
			if err != nil {
				return nil, err
			}
			s.In = x

		case "wildcard", "regex":
			s.How = word
		case "exact":
			s.How = ""
		case "casesensitive":
			s.Exact = true
		default:
			return nil, p.refuse("InvalidSwitchFlag", "The switch statement has an option that is not valid: -%s.",
				p.token())
		}
	}

	var err error
	if !s.File {
		if s.In, err = p.parens(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("{"); err != nil {
		return nil, err
	}

	return s, p.clauses(s)
}

// clauses reads the patterns and blocks of a switch.
func (p *parser) clauses(s *SwitchStmt) error {
	defer p.lists()()

	for {
		p.space()
		for p.take(";") {
			p.space()
		}

		if p.take("}") {
			p.blockEnd = p.at
			return nil
		}
		pattern, err := p.pattern()
		if err != nil {
			return err
		}

		if pattern == nil && slices.Contains(s.Patterns, nil) {
			return p.refuse("MultipleSwitchDefaultClauses", "A switch statement can have only one default clause.")
		}
		body, err := p.braces()
		if err != nil {
			return err
		}
		s.Patterns, s.Blocks = append(s.Patterns, pattern), append(s.Blocks, body)
	}
}

// pattern reads what a switch compares with: a word, a value, a block, or nothing for default.
func (p *parser) pattern() (Expr, error) {
	if p.keyword("default") != "" {
		return nil, nil
	}
	return p.argumentValue()
}
