package lang

import (
	"slices"
	"strings"
	"unicode"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// Levels returns the binary operators by precedence, lowest first
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_operator_precedence).
func Levels() [][]string {
	return [][]string{
		{"-and", "-or", "-xor"},
		{"-band", "-bor", "-bxor"},
		{
			"-eq", "-ne", "-gt", "-ge", "-lt", "-le", "-like", "-notlike", "-match", "-notmatch", "-contains",
			"-notcontains", "-in", "-notin", "-replace", "-split",
			"-ceq", "-cne", "-cgt", "-cge", "-clt", "-cle", "-clike", "-cnotlike", "-cmatch", "-cnotmatch",
			"-ccontains",
			"-cnotcontains", "-cin", "-cnotin", "-creplace", "-csplit",
			"-join", "-as", "-is", "-isnot", "-shl", "-shr",
		},
		{"+", "-"},
		{"*", "/", "%"},
		{"-f"},
		{".."},
	}
}

func (p *parser) expression() (Expr, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	return p.level(0)
}

func (p *parser) level(n int) (Expr, error) {
	if p.ops == nil {
		p.ops = Levels()
	}
	if n == len(p.ops) {
		return p.commas()
	}

	a, err := p.level(n + 1)
	if err != nil {
		return nil, err
	}

	for {
		p.blanks()
		op := p.operator(p.ops[n])
		if op == "" {
			return a, p.unknownOperator()
		}

		p.space()
		if op == "-as" || op == "-is" || op == "-isnot" {
			if a, err = p.typeOperator(op, a, n); err != nil {
				return nil, err
			}
			continue
		}
		if r := p.peek(); r == 0 || strings.ContainsRune(")]};|", r) {
			return nil, p.refuse("ExpectedValueExpression",
				"You must provide a value expression following the '%s' operator.", op)
		}

		b, err := p.level(n + 1)
		if err != nil {
			return nil, err
		}
		a = &Binary{op, a, b}
	}
}

// typeOperator reads what follows an operator of level n that has a type at its right.
func (p *parser) typeOperator(op string, a Expr, n int) (Expr, error) {
	if p.peek() != '[' {
		t, err := p.level(n + 1)
		return &TypeOperand{op, a, t}, err
	}

	x, err := p.typeTest(a, op == "-isnot")
	if op != "-as" || err != nil {
		return x, err
	}
	t := x.(*TypeTest)
	return &Cast{
		To:      t.Of,
		X:       t.X,
		Try:     true,
		Written: t.Written,
	}, nil
}

// operator skips one of ops if it is next, and returns it.
func (p *parser) operator(ops []string) string {
	if p.peek() == '-' && unicode.IsLetter(p.peekAt(1)) {
		begin := p.at
		p.at++
		op := Caseless("-" + strings.ToLower(p.word()))
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

// typed reads what begins with a type: a static member, a hash table as an object, or a cast.
func (p *parser) typed() (Expr, error) {
	name, err := p.typeName()
	if err != nil {
		return nil, err
	}
	if p.take("::") {
		return p.static(name)
	}

	if as := words.TypeName(name); as == "ordered" || as == "pscustomobject" {
		p.blanks()
		if p.has("@{") {
			return p.hash(as)
		}
	}

	p.blanks()
	if p.endsType() {
		return p.members(&TypeLiteral{name})
	}
	x, err := p.unary()
	return &Cast{
		To:      words.TypeName(name),
		X:       x,
		Written: name,
	}, err
}

// endsType reports whether a type that has just been read is a value by itself, not a conversion of what follows.
func (p *parser) endsType() bool {
	r := p.peek()
	if r == '-' {
		return unicode.IsLetter(p.peekAt(1)) && !p.has("-not") && !p.has("-join") && !p.has("-split") && !p.has("-bnot")
	}
	return r == 0 || strings.ContainsRune(")]},;|.=\r\n", r)
}

// TypeLiteral is [type] as a value.
type TypeLiteral struct{ Name string }

// unknownOperator refuses operators of PowerShell that no level has.
func (p *parser) unknownOperator() error {
	if p.peek() != '-' || !unicode.IsLetter(p.peekAt(1)) {
		return nil
	}
	begin := p.at
	p.at++
	op := Caseless("-" + strings.ToLower(p.word()))
	p.at = begin
	for _, l := range p.ops {
		if slices.Contains(l, op) {
			return nil
		}
	}
	return p.refuse("UnexpectedToken", "Unexpected token '%s' in expression or statement.", op)
}

// commas reads a, b, c.
func (p *parser) commas() (Expr, error) {
	if p.oneValue {
		return p.unary()
	}
	return p.joined(p.unary)
}

// joined reads one item, or a list of several joined by commas.
func (p *parser) joined(item func() (Expr, error)) (Expr, error) {
	x, err := item()
	if err != nil {
		return nil, err
	}

	items := []Expr{x}
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

	return &List{items}, nil
}

func (p *parser) unary() (Expr, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	p.blanks()
	if x, err := p.countedBefore(); x != nil || err != nil {
		return x, err
	}

	if op := p.operator([]string{"-not", "!", "-bnot", "-join", "-split", "-csplit", "-", "+"}); op != "" {
		p.space()
		x, err := p.unary()
		return &Unary{op, x}, err
	}

	if p.take(",") { // a list of one
		p.space()
		x, err := p.unary()
		return &List{[]Expr{x}}, err
	}
	if p.peek() == '[' {
		return p.typed()
	}

	return p.primary()
}

func (p *parser) typeName() (string, error) {
	begin := p.at
	p.at++
	for open := 1; open > 0; p.at++ { // [string[]]
		switch p.peek() {
		case 0, '\n':
			return "", p.refuse("EndSquareBracketExpectedAtEndOfAttribute",
				"Missing ] at end of attribute or type literal.")
		case '[':
			open++
		case ']':
			open--
		}
	}

	return p.inSpaces(string(p.src[begin+1 : p.at-1])), nil
}

// primary reads a value and the members and indices after it.
func (p *parser) primary() (Expr, error) {
	return p.once(func() (Expr, error) {
		x, err := p.atom()
		if err != nil {
			return nil, err
		}
		return p.members(x)
	})
}

func (p *parser) members(x Expr) (Expr, error) {
	var err error
	for err == nil {
		switch {
		case p.peek() == '.' && (isName(p.peekAt(1)) || strings.ContainsRune("'\"$(", p.peekAt(1))): // $Matches.1
			p.at++
			x, err = p.member(x)
		case p.has(".`\n"), p.has(".`\r\n"),
			!p.words && (p.has(".\n") || p.has(".\r\n")): // the member is on the next line
			p.at++
			p.space()
			x, err = p.member(x)

		case p.peek() == '[':
			x, err = p.index(x)
		case p.has("::"):
			p.at += len("::")
			x, err = p.staticOf(x)
		default:
			return p.countedAfter(x), nil
		}
	}

	return x, err
}

func (p *parser) index(of Expr) (Expr, error) {
	defer p.lists()()
	p.at++
	at, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &Index{of, at}, p.expect("]")
}

func (p *parser) member(of Expr) (Expr, error) {
	m := &Member{Of: of, Written: p.word()}
	m.Name = strings.ToLower(m.Written)
	if m.Name == "" && p.src[p.at-1] == '.' {
		if err := p.memberName(m); err != nil {
			return nil, err
		}
	}
	if m.Name == "" && m.By == nil {
		return nil, p.refuse("MissingPropertyName", "Missing property name after reference operator.")
	}

	switch {
	case p.peek() == '{' && m.By == nil && m.Name != "": // the block is the argument
		x, err := p.atom()
		m.Call, m.Args = true, []Expr{x}
		return m, err
	case p.peek() != '(':
		return m, nil
	}

	m.Call = true
	return m, p.methodArguments(m)
}

// memberName reads a member's name that is no word: a string, a variable or an expression in ( … ).
func (p *parser) memberName(m *Member) error {
	var err error
	switch p.peek() {
	case '\'', '"':
		m.By, err = p.quoted()
	case '$':
		m.By, err = p.variable()
	case '(':
		m.By, err = p.parens()
	}
	if name, whole := Beginning(m.By); err == nil && whole && name != "" {
		m.Name, m.Written = strings.ToLower(name), name
		m.By = nil
	}
	return err
}

// methodArguments reads ( a, b ).
func (p *parser) methodArguments(m *Member) error {
	defer p.lists()()
	p.at++
	p.space()
	if p.take(")") {
		return nil
	}

	p.oneValue = true
	for {
		x, err := p.expression()
		if err != nil {
			return err
		}
		m.Args = append(m.Args, x)
		p.space()
		if !p.take(",") {
			return p.expect(")")
		}

		p.space()
	}
}

func (p *parser) atom() (Expr, error) {
	switch r := p.peek(); {
	case p.has(`@"`), p.has("@'"):
		return p.hereString()
	case p.has("@{"):
		return p.hash("")
	case p.take("@("):
		body, err := p.statements(")")
		return &SubExpr{Body: body, Array: true}, err

	case r == '@':
		return nil, p.refuse("SplattingNotPermitted",
			"The splatting operator '@' cannot be used to reference variables "+
				"in an expression. It can be used only as an argument to a command.")

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
		return &BlockLiteral{s}, err

	case unicode.IsDigit(r), r == '.' && unicode.IsDigit(p.peekAt(1)):
		return p.number()
	}

	return nil, p.unexpected()
}

// signsExponent says whether a sign is next, of the exponent of the number that begins there: 1e-7, but not 0x1e-7.
func (p *parser) signsExponent(begin int) bool {
	if (p.peek() != '+' && p.peek() != '-') || !unicode.IsDigit(p.peekAt(1)) {
		return false
	}
	mantissa, is := strings.CutSuffix(strings.ToLower(string(p.src[begin:p.at])), "e")
	return is && strings.Trim(mantissa, "0123456789.") == ""
}

func (p *parser) number() (Expr, error) {
	begin := p.at
	for isName(p.peek()) || (p.peek() == '.' && unicode.IsDigit(p.peekAt(1))) || p.signsExponent(begin) {
		p.at++
	}
	text := string(p.src[begin:p.at])
	if v, ok := object.ParseNumber(numberWithType.ReplaceAllString(text, "$1$3")); ok {
		return &Literal{v}, nil
	}
	p.at = begin
	return nil, p.unexpected()
}
