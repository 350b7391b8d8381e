package lang

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// TypeTest is a value -is [type], or -isnot.
type TypeTest struct {
	X   Expr
	Of  string
	Not bool

	Written string // the type as it is written
}

// typeTest reads the type after -is or -isnot.
func (p *parser) typeTest(x Expr, not bool) (Expr, error) {
	name, err := p.typeName()
	if err != nil {
		return nil, err
	}
	return &TypeTest{
		X:       x,
		Of:      words.TypeName(name),
		Not:     not,
		Written: name,
	}, nil
}

// Static is [type]::Name or [type]::Name( … ).
type Static struct {
	Of, Name string // the class and its member, in lower case
	Call     bool
	Args     []Expr

	Written, Member string // as they are written
}

// static reads what follows [type]:: — a value of an enumeration, a static property, a static method or new. Others are
// refused.
func (p *parser) static(of string) (Expr, error) {
	return p.once(func() (Expr, error) { return p.staticAfter(of) })
}

func (p *parser) staticAfter(of string) (Expr, error) {
	name := p.word()
	x := &Static{
		Of:      words.TypeName(of),
		Name:    strings.ToLower(name),
		Written: of,
		Member:  name,
	}

	if t := object.EnumOf(of); t != nil && p.peek() != '(' {
		if v, ok := t.Named(name); ok {
			return p.members(&Literal{v})
		}
	}
	if err := p.staticCall(x); err != nil {
		return nil, err
	}

	return p.members(x)
}

// staticCall reads the arguments of a static method, if it is one.
func (p *parser) staticCall(x *Static) error {
	if x.Name == "" {
		return p.refuse("MissingPropertyName", "Missing property name after reference operator.")
	}
	if x.Call = p.peek() == '('; !x.Call {
		return nil
	}
	m := &Member{}
	err := p.methodArguments(m)
	x.Args = m.Args
	return err
}

// staticOf reads what follows a value and ::.
func (p *parser) staticOf(of Expr) (Expr, error) {
	name := p.word()
	x := &StaticOf{Of: of, Static: Static{Name: strings.ToLower(name), Member: name}}
	return x, p.staticCall(&x.Static)
}
