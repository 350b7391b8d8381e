package powershell

import (
	"slices"
	"strings"
)

// toTargets reads what is assigned to, and the assignment: $a = …, [type]$a = …, $a.b = …, ($a).b[0] += …,
// [type]::Member = …, and several of them, $a, [int]$b = …. It returns nil for anything else.
func (p *parser) toTargets() (stmt, error) {
	line := p.line()
	var all []expr
	for {
		x, err := p.target()
		if x == nil || err != nil {
			return nil, err
		}
		all = append(all, x)
		p.blanks()
		if !p.take(",") {
			break
		}
		p.space()
	}
	op := p.assigns()
	if op == "" {
		return nil, nil
	}
	p.space()
	s, err := p.statement()
	if err != nil {
		return nil, err
	}
	return assignment(line, all, op, s), nil
}

func assignment(line int, all []expr, op string, x stmt) stmt {
	if len(all) > 1 {
		return &assignSeveral{line: line, to: all, x: x}
	}
	switch to := all[0].(type) {
	case *variable:
		return &assign{line: line, to: *to, op: op, x: x}
	case *cast:
		if v, ok := to.x.(*variable); ok {
			return &assign{line: line, as: to.to, to: *v, op: op, x: x}
		}
	}
	return &assignTo{line: line, to: all[0], op: op, x: x}
}

// target reads one thing that can be assigned to. It returns nil for anything else.
func (p *parser) target() (expr, error) {
	var types []string
	for p.peek() == '[' {
		a, err := p.attribute()
		if err != nil {
			return nil, nil //nolint:nilerr // read as an expression, it is refused with its reason
		}
		if a != nil { // of a variable: it says something of what is assigned later
			p.space()
			continue
		}
		name, err := p.typeName()
		if err != nil {
			return nil, nil //nolint:nilerr // read as an expression, it is refused with its reason
		}
		if p.take("::") {
			x, err := p.static(name)
			if err != nil {
				return nil, err
			}
			return assignableTo(x, types), nil
		}
		types = append(types, name)
		p.space()
	}
	if r := p.peek(); r != '$' && r != '(' {
		return nil, nil
	}
	x, err := p.primary()
	if err != nil {
		return nil, err
	}
	return assignableTo(x, types), nil
}

// assignableTo is what is assigned to, with its types, or nil.
func assignableTo(x expr, types []string) expr {
	switch x := x.(type) {
	case *variable, *index:
	case *member:
		if x.call {
			return nil
		}
	case *static:
		if x.call {
			return nil
		}
	case *staticOf:
		if x.call {
			return nil
		}
	default:
		return nil
	}
	for _, name := range slices.Backward(types) {
		x = &cast{to: full(name), x: x, written: name}
	}
	return x
}

// put assigns a value to what can be assigned to.
func (f *frame) put(to expr, v value) error {
	given := &givenStmt{v}
	switch to := to.(type) {
	case *variable:
		return f.assign(*to, v)
	case *cast:
		c, err := f.converted(to.to, to.written, v)
		if err != nil {
			return err
		}
		if x, ok := to.x.(*variable); ok {
			f.scope(x.scope).types[x.name] = to.to
		}
		return f.put(to.x, c)
	}
	return (&assignTo{to: to, op: "=", x: given}).run(f, nil)
}

// givenStmt outputs a value that is known.
type givenStmt struct{ v value }

func (s *givenStmt) check(*checker) {}

func (s *givenStmt) run(_ *frame, out *sink) error { return out.put(s.v) }

// incX is $x++, $x--, ++$x or --$x.
type incX struct {
	to     expr
	op     string // += or -=
	prefix bool
}

func (x *incX) check(c *checker) { x.to.check(c) }

// value is the number before or after (about_Arithmetic_Operators).
func (x *incX) value(f *frame) (value, error) {
	before, err := x.to.value(f)
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = int64(0)
	}
	after, err := arithmetic(x.op[:1], plain(before), int64(1))
	if err != nil {
		return nil, err
	}
	if x.prefix {
		before = after
	}
	return before, f.put(x.to, after)
}

// countedAfter reads ++ or -- after a value.
func (p *parser) countedAfter(x expr) expr {
	if p.words || assignableTo(x, nil) == nil {
		return x
	}
	begin := p.at
	p.blanks()
	op := p.counts()
	if op == "" {
		p.at = begin
		return x
	}
	return &incX{to: x, op: op}
}

// countedBefore reads ++ or -- before a value. It returns nil for anything else.
func (p *parser) countedBefore() (expr, error) {
	begin := p.at
	op := p.counts()
	p.blanks()
	if op == "" || !strings.ContainsRune("$[(", p.peek()) {
		p.at = begin
		return nil, nil
	}
	x, err := p.target()
	if err != nil {
		return nil, err
	}
	if x == nil {
		p.at = begin
		return nil, p.refuse("InvalidLeftHandSide", "The operator '%s' works only on variables or on properties.", p.token())
	}
	return &incX{to: x, op: op, prefix: true}, nil
}

// staticOf is a static member of a type that is a value: $type::Name.
type staticOf struct {
	of expr
	static
}

func (x *staticOf) check(c *checker) {
	x.of.check(c)
	for _, a := range x.args {
		a.check(c)
	}
}

func (x *staticOf) value(f *frame) (value, error) {
	s, err := x.found(f)
	if err != nil {
		return nil, err
	}
	return s.value(f)
}

// found is the static member of the type that the value is.
func (x *staticOf) found(f *frame) (*static, error) {
	of, err := x.of.value(f)
	if err != nil {
		return nil, err
	}
	s := x.static
	s.written = typeNameOf(plain(of))
	if s.written == "" {
		return nil, &exception{
			class: runtimeException, category: invalidOperating, id: "NonNullTypeExpected",
			message: "The member '" + x.member + "' is one of a type, and " + typeName(plain(of)) + " is no type.",
		}
	}
	s.of = full(s.written)
	return &s, nil
}

// typeNameOf is the name of a type that is a value: the type itself, its name, or an object's type; "" for $null.
func typeNameOf(v value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.Trim(v, "[]")
	case *object:
		if v.kind == "type" {
			return text(v.props["fullname"])
		}
	}
	return typeName(v)
}

// typeOperand is -is, -isnot or -as with a type that is known only when it runs.
type typeOperand struct {
	op   string
	x, t expr
}

func (x *typeOperand) check(c *checker) {
	x.x.check(c)
	x.t.check(c)
}

func (x *typeOperand) value(f *frame) (value, error) {
	t, err := x.t.value(f)
	if err != nil {
		return nil, err
	}
	name := ""
	switch t := plain(t).(type) {
	case string:
		name = typeNameOf(t)
	case *object:
		if t.kind == "type" {
			name = typeNameOf(t)
		}
	}
	if name == "" {
		return nil, thrown("The right operand of '%s' must be a type.", x.op)
	}
	if x.op == "-as" {
		return (&cast{to: full(name), x: x.x, try: true, written: name}).value(f)
	}
	return (&typeX{x: x.x, of: full(name), not: x.op == "-isnot", written: name}).value(f)
}

// words are the parts of texts between blanks: -split with one operand (about_Split).
func words(v value) value {
	out := []value{}
	for item := range each(v) {
		for part := range strings.FieldsSeq(text(item)) {
			out = append(out, part)
		}
	}
	return out
}
