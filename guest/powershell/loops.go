package powershell

import (
	"errors"
	"os"
	"slices"
	"strings"
)

// do reads what follows the word do.
func (p *parser) do() (stmt, error) {
	s := &doStmt{}
	var err error
	if s.body, err = p.braces(); err != nil {
		return nil, err
	}
	p.space()
	word := p.keyword("while", "until")
	if word == "" {
		return nil, p.refuse("MissingWhileOrUntilInDoWhile", "Missing while or until keyword in do loop.")
	}
	s.until = word == "until"
	s.cond, err = p.parens()
	return s, err
}

// forStatement reads what follows the word for.
func (p *parser) forStatement() (stmt, error) {
	defer p.lists()()
	s := &forStmt{}
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var parts [3]stmt
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
	s.first, s.step = parts[0], parts[2]
	if parts[1] != nil {
		s.cond = &sub{body: block{parts[1]}, paren: true}
	}
	body, err := p.braces()
	s.body = body
	return s, err
}

// switchStmt is switch ( … ) { pattern { … } default { … } }.
type switchStmt struct {
	how      string // "", wildcard or regex
	exact    bool
	file     bool // in is the path of a file, whose lines are compared
	in       expr
	patterns []expr // nil for default
	blocks   []block
}

// switchStatement reads what follows the word switch.
func (p *parser) switchStatement() (stmt, error) {
	s := &switchStmt{}
	for {
		p.space()
		if p.peek() != '-' {
			break
		}
		p.at++
		switch word := p.keyword("wildcard", "regex", "exact", "casesensitive", "file"); word {
		case "file":
			s.file = true
			p.blanks()
			x, err := p.argumentValue()
			if err != nil {
				return nil, err
			}
			s.in = x
		case "wildcard", "regex":
			s.how = word
		case "exact":
			s.how = ""
		case "casesensitive":
			s.exact = true
		default:
			return nil, p.refuse("InvalidSwitchFlag", "The switch statement has an option that is not valid: -%s.", p.token())
		}
	}
	var err error
	if !s.file {
		if s.in, err = p.parens(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	return s, p.clauses(s)
}

// clauses reads the patterns and blocks of a switch.
func (p *parser) clauses(s *switchStmt) error {
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
		if pattern == nil && slices.Contains(s.patterns, nil) {
			return p.refuse("MultipleSwitchDefaultClauses", "A switch statement can have only one default clause.")
		}
		body, err := p.braces()
		if err != nil {
			return err
		}
		s.patterns, s.blocks = append(s.patterns, pattern), append(s.blocks, body)
	}
}

// pattern reads what a switch compares with: a word, a value, a block, or nothing for default.
func (p *parser) pattern() (expr, error) {
	if p.keyword("default") != "" {
		return nil, nil
	}
	return p.argumentValue()
}

func (s *switchStmt) check(c *checker) {
	s.in.check(c)
	for i, x := range s.patterns {
		if x != nil {
			x.check(c)
			op := map[string]string{"wildcard": "-like", "regex": "-match"}[s.how]
			if _, whole := beginning(x); whole && op != "" {
				(&binary{op, &literal{""}, x}).check(c)
			}
		}
		s.blocks[i].check(c)
	}
}

// run compares each item of the value with each pattern. break ends the switch, continue goes to the next item.
func (s *switchStmt) run(f *frame, out *sink) error {
	v, err := s.in.value(f)
	if err != nil {
		return err
	}
	if s.file {
		data, err := os.ReadFile(f.in.path(text(v)))
		if err != nil {
			return because(text(v), err)
		}
		lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(scriptText(data), "\r\n", "\n"), "\n"), "\n")
		items := make([]value, len(lines))
		for i, line := range lines {
			items[i] = line
		}
		v = items
	}
	before, had := f.vars["_"]
	defer func() {
		delete(f.vars, "_")
		if had {
			f.vars["_"] = before
		}
	}()
	items := slices.Collect(each(plain(v)))
	if v == nil {
		items = []value{nil}
	}
	for _, item := range items {
		err := s.one(f, item, out)
		if left, ok := errors.AsType[*leaving](err); ok && left.word == "break" {
			return nil
		} else if ok && left.word == "continue" {
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// one runs the blocks whose patterns fit an item, or that of default.
func (s *switchStmt) one(f *frame, item value, out *sink) error {
	fitted, other := false, block(nil)
	for i, x := range s.patterns {
		if x == nil {
			other = s.blocks[i]
			continue
		}
		f.vars["_"] = item
		yes, err := s.fits(f, x, item)
		if err != nil {
			return err
		}
		if !yes {
			continue
		}
		fitted = true
		f.vars["_"] = item
		if err := s.blocks[i].run(f, out); err != nil {
			return err
		}
	}
	if fitted || other == nil {
		return nil
	}
	f.vars["_"] = item
	return other.run(f, out)
}

func (s *switchStmt) fits(f *frame, x expr, item value) (bool, error) {
	v, err := x.value(f)
	if err != nil {
		return false, err
	}
	v = plain(v)
	if b, ok := v.(*scriptBlock); ok {
		got, err := capture(b.script.body, f, false)
		return truth(one(got)), err
	}
	mark := map[bool]string{false: "-", true: "-c"}[s.exact]
	switch s.how {
	case "wildcard":
		return compare(mark+"like", text(item), v)
	case "regex":
		yes, err := f.match(mark+"match", text(item), v)
		return truth(yes), err
	}
	if _, isText := v.(string); isText || item == nil {
		return compare(mark+"eq", v, item)
	}
	return compare(mark+"eq", item, v)
}
