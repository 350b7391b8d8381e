package lang

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
	"mullion.dev/mullion/guest/powershell/words"
)

// toTargets reads what is assigned to, and the assignment: $a = …, [type]$a = …, $a.b = …, ($a).b[0] += …,
// [type]::Member = …, and several of them, $a, [int]$b = …. It returns nil for anything else.
func (p *parser) toTargets() (Stmt, error) {
	begin := p.at
	var all []Expr
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

	return assignment(p.part(begin), all, op, s), nil
}

func assignment(at position.Extent, all []Expr, op string, x Stmt) Stmt {
	if len(all) > 1 {
		return &AssignSeveral{
			At: at,
			To: all,
			X:  x,
		}
	}

	switch to := all[0].(type) {
	case *Variable:
		return &Assign{
			At: at,
			To: *to,
			Op: op,
			X:  x,
		}

	case *Cast:
		if v, ok := to.X.(*Variable); ok {
			return &Assign{
				At: at,
				As: to.To,
				To: *v,
				Op: op,
				X:  x,
			}
		}
	}

	return &AssignTo{
		At: at,
		To: all[0],
		Op: op,
		X:  x,
	}
}

// target reads one thing that can be assigned to. It returns nil for anything else.
func (p *parser) target() (Expr, error) {
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

// assignableTo returns what is assigned to, with its types, or nil.
func assignableTo(x Expr, types []string) Expr {
	switch x := x.(type) {
	case *Variable, *Index:
	case *Member:
		if x.Call {
			return nil
		}
	case *Static:
		if x.Call {
			return nil
		}

	case *StaticOf:
		if x.Call {
			return nil
		}
	default:
		return nil
	}

	for _, name := range slices.Backward(types) {
		x = &Cast{
			To:      words.TypeName(name),
			X:       x,
			Written: name,
		}
	}

	return x
}

// GivenStmt outputs a value that is known.
type GivenStmt struct{ V object.Value }

// Increment is $x++, $x--, ++$x or --$x.
type Increment struct {
	To     Expr
	Op     string // += or -=
	Prefix bool
}

// countedAfter reads ++ or -- after a value.
func (p *parser) countedAfter(x Expr) Expr {
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
	return &Increment{To: x, Op: op}
}

// countedBefore reads ++ or -- before a value. It returns nil for anything else.
func (p *parser) countedBefore() (Expr, error) {
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
		return nil, p.refuse("InvalidLeftHandSide", "The operator '%s' works only on variables or on properties.",
			p.token())
	}

	return &Increment{
		To:     x,
		Op:     op,
		Prefix: true,
	}, nil
}

// StaticOf is a static member of a type that is a value: $type::Name.
type StaticOf struct {
	Of Expr
	Static
}

// TypeOperand is -is, -isnot or -as with a type that is known only when it runs.
type TypeOperand struct {
	Op   string
	X, T Expr
}
