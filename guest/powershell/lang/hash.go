package lang

import "strings"

// HashLiteral is @{ … }, [ordered]@{ … } or [pscustomobject]@{ … }.
type HashLiteral struct {
	As     string // "", ordered or pscustomobject
	Keys   []Expr
	Values []Stmt
}

// hash reads @{ key = value; … }.
func (p *parser) hash(as string) (Expr, error) {
	defer p.lists()()
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()

	p.at += len("@{")
	x := &HashLiteral{As: as}
	for {
		p.space()
		for p.take(";") {
			p.space()
		}

		if p.take("}") {
			return x, nil
		}
		key, err := p.hashKey()
		if err != nil {
			return nil, err
		}

		if err := p.expect("="); err != nil {
			return nil, err
		}
		p.space()
		v, err := p.statement()
		if err != nil {
			return nil, err
		}

		x.Keys, x.Values = append(x.Keys, key), append(x.Values, v)
		p.blanks()
		if r := p.peek(); !strings.ContainsRune(";\r\n}", r) || r == 0 {
			return nil, p.refuse("IncompleteHashLiteral", "The hash literal was incomplete.")
		}
	}
}

// hashKey reads a key: a name as it is, or an expression.
func (p *parser) hashKey() (Expr, error) {
	begin := p.at
	if word := p.word(); word != "" && (word[0] < '0' || word[0] > '9') {
		return &Literal{word}, nil
	}
	p.at = begin
	return p.unary()
}
