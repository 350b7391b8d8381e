package lang

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
	"mullion.dev/mullion/guest/powershell/words"
)

// EnumStmt defines an enumeration
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_enum).
type EnumStmt struct {
	At    position.Extent
	Name  string
	Flags bool
	Items []EnumItem
}

// EnumItem is a name of an enumeration, and its value: nil for the one after that before it.
type EnumItem struct {
	Name string
	X    Expr
}

// ClassStmt defines a class
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_classes).
type ClassStmt struct {
	At      position.Extent
	Name    string
	Bases   []string
	Props   []ClassProp
	Methods []ClassMethod
}

// ClassProp is a property of a class.
type ClassProp struct {
	Param
	Static, Hidden bool
}

// ClassMethod is a method of a class, or a constructor: one of the class's name.
type ClassMethod struct {
	Name           string
	To             string // the type that it returns, "" for any
	Static, Hidden bool
	Script         *Script
	// Base are the arguments of the base's constructor; nil without : base( … ).
	Base []Expr
}

func (*EnumStmt) isStmt() {}

func (*ClassStmt) isStmt() {}

// Constructor reports whether a method makes objects of the class.
func (s *ClassStmt) Constructor(m *ClassMethod) bool {
	return strings.EqualFold(m.Name, s.Name) && !m.Static
}

// defined reads a class or an enumeration, with its attributes. It returns nil for anything else.
func (p *parser) defined() (Stmt, error) {
	begin := p.at
	flags := false
	for p.peek() == '[' {
		a, err := p.attribute()
		if a == nil || err != nil {
			p.at = begin
			return nil, nil //nolint:nilerr // read as an expression, it is refused with its reason
		}
		flags = flags || a.name == "flags"
		p.space()
	}

	at := p.at
	switch p.keyword("class", "enum") {
	case "class":
		return p.class(at)
	case "enum":
		return p.enum(at, flags)
	}

	p.at = begin
	return nil, nil
}

// typesName reads the name of a type that is defined.
func (p *parser) typesName(word string) (string, error) {
	p.blanks()
	name := p.word()
	if name == "" {
		return "", p.refuse("MissingNameAfterKeyword", "Missing name after %s keyword.", word)
	}
	return name, nil
}

func (p *parser) enum(at int, flags bool) (Stmt, error) {
	name, err := p.typesName("enum")
	if err != nil {
		return nil, err
	}
	s := &EnumStmt{
		At:    p.part(at),
		Name:  name,
		Flags: flags,
	}

	if err := p.bodyBegins("enum"); err != nil {
		return nil, err
	}
	defer p.values()()

	for {
		p.ends()
		if p.take("}") {
			p.blockEnd = p.at
			return s, nil
		}
		one := EnumItem{Name: p.word()}
		if one.Name == "" {
			return nil, p.missingMember()
		}

		if slices.ContainsFunc(s.Items, func(i EnumItem) bool { return strings.EqualFold(i.Name, one.Name) }) {
			return nil, p.refuse("MemberAlreadyDefined", "The member '%s' is already defined.", one.Name)
		}

		p.blanks()
		if p.take("=") {
			p.space()
			if one.X, err = p.expression(); err != nil {
				return nil, err
			}
		}
		s.Items = append(s.Items, one)
	}
}

// bodyBegins reads the { of a class or enumeration.
func (p *parser) bodyBegins(word string) error {
	p.space()
	if !p.take("{") {
		return p.refuse("MissingTypeBody", "Missing '%s' body in '%s' declaration.", word, word)
	}
	return nil
}

// missingMember ends the reading of a class or enumeration at what is none of its members.
func (p *parser) missingMember() error {
	if p.at >= len(p.src) {
		return p.missingSign("}")
	}
	return p.refuse("IncompleteMemberDefinition", "Missing a property name or method definition.")
}

// ends skips the ends of lines and statements.
func (p *parser) ends() {
	p.space()
	for p.take(";") {
		p.space()
	}
}

func (p *parser) class(at int) (Stmt, error) {
	name, err := p.typesName("class")
	if err != nil {
		return nil, err
	}

	s := &ClassStmt{At: p.part(at), Name: name}
	p.space()
	for next := p.take(":"); next; next = p.take(",") {
		p.space()
		base := p.bare()
		if base = strings.TrimSuffix(base, "{"); base == "" {
			return nil, p.refuse("TypeNameExpected", "Type name expected.")
		}
		s.Bases = append(s.Bases, p.inSpaces(base))
		p.space()
	}

	if err := p.bodyBegins("class"); err != nil {
		return nil, err
	}
	defer p.lists()()

	for {
		p.ends()
		if p.take("}") {
			p.blockEnd = p.at
			return s, nil
		}
		if err := p.classMember(s); err != nil {
			return nil, err
		}
	}
}

// classMember reads a property, a method or a constructor.
func (p *parser) classMember(s *ClassStmt) error {
	done, err := p.deeper()
	if err != nil {
		return err
	}
	defer done()
	one, err := p.memberHead()
	if err != nil {
		return err
	}

	if p.peek() == '$' {
		return p.classProperty(s, one)
	}
	one.Name = p.word()
	p.blanks()
	if one.Name == "" || p.peek() != '(' {
		return p.missingMember()
	}

	return p.classMethod(s, one)
}

// memberHead reads what is before the name of a member: attributes, static, hidden and the type.
func (p *parser) memberHead() (ClassProp, error) {
	one := ClassProp{}
	for {
		p.space()
		if p.peek() == '[' {
			if err := p.memberBracket(&one); err != nil {
				return one, err
			}
			continue
		}

		switch p.keyword("static", "hidden") {
		case "static":
			one.Static = true
		case "hidden":
			one.Hidden = true
		default:
			return one, nil
		}
	}
}

// memberBracket reads an attribute or the type of a member.
func (p *parser) memberBracket(one *ClassProp) error {
	a, err := p.attribute()
	if err != nil {
		return err
	}
	if a != nil {
		if why := one.attribute(a); why != "" {
			one.Lacking = append(one.Lacking, "the attribute "+a.text+" of a property: "+why)
		}
		return nil
	}
	name, err := p.typeName()
	one.To = words.TypeName(name)
	return err
}

func (p *parser) classProperty(s *ClassStmt, one ClassProp) error {
	begin := p.at
	x, err := p.variable()
	if err != nil {
		return err
	}

	v, ok := x.(*Variable)
	if !ok || v.Env || v.Scope != "" {
		p.at = begin
		return p.unexpected()
	}

	one.Name, one.Written = v.Name, strings.Trim(string(p.src[begin+1:p.at]), "{}")
	for _, other := range s.Props {
		if other.Name == one.Name {
			return p.refuseAt(begin, "MemberAlreadyDefined", "The member '%s' is already defined.", one.Written)
		}
	}

	p.blanks()
	if p.take("=") {
		p.space()
		if one.Fallback, err = p.expression(); err != nil {
			return err
		}
	}
	s.Props = append(s.Props, one)
	return p.statementEnd("}")
}

func (p *parser) classMethod(s *ClassStmt, head ClassProp) error {
	m := ClassMethod{
		Name:   head.Name,
		To:     head.To,
		Static: head.Static,
		Hidden: head.Hidden,
	}

	params, err := p.params()
	if err != nil {
		return err
	}

	p.space()
	if p.take(":") {
		if m.Base, err = p.baseCall(); err != nil {
			return err
		}
	}

	p.space()
	begin := p.at
	body, err := p.braces()
	if err != nil {
		return err
	}

	m.Script = &Script{
		Params: params, Body: body, Name: m.Name, Source: p.source.File, Text: string(p.src[begin+1 : p.at-1]),
		Lacking: head.Lacking,
	}
	s.Methods = append(s.Methods, m)
	return nil
}

// baseCall reads base( … ) of a constructor.
func (p *parser) baseCall() ([]Expr, error) {
	p.space()
	if p.keyword("base") == "" {
		return nil, p.refuse("MissingBaseCtorCall", "Missing 'base' after ':' in a base class constructor call.")
	}
	p.space()
	if p.peek() != '(' {
		return nil, p.missingSign("(")
	}

	m := &Member{}
	err := p.methodArguments(m)
	if m.Args == nil {
		m.Args = []Expr{}
	}

	return m.Args, err
}

// NumberOf returns the value of an item of an enumeration that is written as a number, or the one after the last.
func NumberOf(x Expr, last int64) (n int64, known bool) {
	if x == nil {
		return last + 1, true
	}
	if u, ok := x.(*Unary); ok && u.Op == "-" {
		n, known = NumberOf(u.X, 0)
		return -n, known
	}
	l, ok := x.(*Literal)
	if !ok {
		return 0, false
	}
	n, known = object.Plain(l.V).(int64)
	return n, known
}
