package powershell

import (
	"slices"
	"strings"
	"unicode"
)

// levels are the binary operators by precedence, lowest first
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_operator_precedence).
func levels() [][]string {
	return [][]string{
		{"-and", "-or", "-xor"},
		{"-band", "-bor", "-bxor"},
		{
			"-eq", "-ne", "-gt", "-ge", "-lt", "-le", "-ieq", "-ine", "-ceq", "-cne", "-like", "-notlike", "-match",
			"-notmatch",
			"-contains", "-notcontains", "-in", "-notin", "-replace", "-split", "-join", "-as",
		},
		{"+", "-"},
		{"*", "/", "%"},
		{".."},
	}
}

func (p *parser) expression() (expr, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	return p.level(0)
}

func (p *parser) level(n int) (expr, error) {
	if n == len(levels()) {
		return p.commas()
	}
	a, err := p.level(n + 1)
	if err != nil {
		return nil, err
	}
	for {
		p.blanks()
		op := p.operator(levels()[n])
		if op == "" {
			return a, p.unknownOperator()
		}
		p.space()
		if op == "-as" {
			if a, err = p.asType(a); err != nil {
				return nil, err
			}
			continue
		}
		b, err := p.level(n + 1)
		if err != nil {
			return nil, err
		}
		a = &binary{op, a, b}
	}
}

// asType reads the type after -as. -as results in $null where a cast is an error.
func (p *parser) asType(x expr) (expr, error) {
	if p.peek() != '[' {
		return nil, p.refuse("-as without a type")
	}
	name, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if !knownCast(name) {
		return nil, p.refuse("the type [%s]", name)
	}
	return &cast{to: lower(name), x: x, try: true}, nil
}

// operator skips one of ops if it is next, and returns it.
func (p *parser) operator(ops []string) string {
	if p.peek() == '-' && unicode.IsLetter(p.peekAt(1)) {
		begin := p.at
		p.at++
		op := "-" + lower(p.word())
		if slices.Contains(ops, op) {
			return op
		}
		p.at = begin
		return ""
	}
	for _, op := range ops {
		if op[0] != '-' || op == "-" {
			if p.take(op) {
				return op
			}
		}
	}
	return ""
}

// unknownOperator refuses operators of PowerShell that no level has, such as -f.
func (p *parser) unknownOperator() error {
	if p.peek() != '-' || !unicode.IsLetter(p.peekAt(1)) {
		return nil
	}
	begin := p.at
	p.at++
	op := "-" + lower(p.word())
	p.at = begin
	for _, l := range levels() {
		if slices.Contains(l, op) {
			return nil
		}
	}
	return p.refuse("the operator %s", op)
}

// commas reads a, b, c.
func (p *parser) commas() (expr, error) {
	if p.oneValue {
		return p.unary()
	}
	return p.joined(p.unary)
}

// joined reads one item, or a list of several joined by commas.
func (p *parser) joined(item func() (expr, error)) (expr, error) {
	x, err := item()
	if err != nil {
		return nil, err
	}
	items := []expr{x}
	for {
		begin := p.at
		p.blanks()
		if !p.take(",") {
			p.at = begin
			break
		}
		p.space()
		if x, err = item(); err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	if len(items) == 1 {
		return items[0], nil
	}
	return &list{items}, nil
}

func (p *parser) unary() (expr, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	p.blanks()
	if op := p.operator([]string{"-not", "!", "-bnot", "-"}); op != "" {
		x, err := p.unary()
		return &unary{op, x}, err
	}
	if p.peek() == '[' {
		name, err := p.typeName()
		if err != nil {
			return nil, err
		}
		if p.take("::") {
			return p.static(name)
		}
		if !knownCast(name) {
			return nil, p.refuse("the type [%s]", name)
		}
		x, err := p.unary()
		return &cast{to: lower(name), x: x}, err
	}
	return p.primary()
}

// static reads the name of a value of an enumeration, or a call of one of statics. Nothing else of .NET's types is
// implemented.
func (p *parser) static(of string) (expr, error) {
	name := p.word()
	method := strings.TrimPrefix(lower(of), "system.") + "::" + lower(name)
	if _, ok := statics()[method]; ok && p.peek() == '(' {
		m := &member{}
		if err := p.methodArguments(m); err != nil {
			return nil, err
		}
		return p.members(&static{name: method, args: m.args})
	}
	if t := enumOf(of); t != nil && p.peek() != '(' {
		if v, ok := t.named(name); ok {
			return p.members(&literal{v})
		}
	}
	return nil, p.refuse("[%s]::%s of .NET", of, name)
}

func knownCast(name string) bool {
	return slices.Contains([]string{"int", "long", "string", "bool", "double", "switch"}, lower(name))
}

func (p *parser) typeName() (string, error) {
	begin := p.at
	for p.peek() != ']' {
		if p.peek() == 0 || p.peek() == '\n' {
			return "", p.refuse("a [ without its ]")
		}
		p.at++
	}
	p.at++
	return string(p.src[begin+1 : p.at-1]), nil
}

// primary reads a value and the members and indices after it.
func (p *parser) primary() (expr, error) {
	return p.once(func() (expr, error) {
		x, err := p.atom()
		if err != nil {
			return nil, err
		}
		return p.members(x)
	})
}

func (p *parser) members(x expr) (expr, error) {
	var err error
	for err == nil {
		switch {
		case p.peek() == '.' && isName(p.peekAt(1)): // $Matches.1
			p.at++
			x, err = p.member(x)
		case p.peek() == '[':
			x, err = p.index(x)
		default:
			return x, nil
		}
	}
	return x, err
}

func (p *parser) index(of expr) (expr, error) {
	defer p.lists()()
	p.at++
	at, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &index{of, at}, p.expect("]")
}

func (p *parser) member(of expr) (expr, error) {
	m := &member{of: of, name: lower(p.word())}
	if p.peek() != '(' {
		return m, nil
	}
	m.call = true
	return m, p.methodArguments(m)
}

// methodArguments reads ( a, b ).
func (p *parser) methodArguments(m *member) error {
	defer p.lists()()
	p.at++
	p.space()
	if p.take(")") {
		return nil
	}
	x, err := p.expression()
	if err != nil {
		return err
	}
	m.args = []expr{x}
	if l, ok := x.(*list); ok {
		m.args = l.items
	}
	return p.expect(")")
}

func (p *parser) atom() (expr, error) {
	switch r := p.peek(); {
	case p.has(`@"`), p.has("@'"):
		return p.hereString()
	case p.has("@{"):
		return nil, p.refuse("a hash table")
	case p.take("@("):
		body, err := p.statements(")")
		return &sub{body: body, array: true}, err
	case r == '@':
		return nil, p.refuse("splatting")
	case r == '$':
		return p.variable()
	case r == '"':
		return p.double()
	case r == '\'':
		return p.single()
	case r == '(':
		return p.parens()
	case r == '{':
		p.at++
		s, err := p.script("}")
		return &blockX{s}, err
	case unicode.IsDigit(r):
		return p.number()
	}
	return nil, p.refuse("%s where an expression begins", p.next())
}

func (p *parser) number() (expr, error) {
	begin := p.at
	for isName(p.peek()) || p.peek() == '.' && unicode.IsDigit(p.peekAt(1)) {
		p.at++
	}
	text := string(p.src[begin:p.at])
	if v, ok := parseNumber(text); ok {
		return &literal{v}, nil
	}
	return nil, p.refuse("the number %s", text)
}
