package powershell

import (
	"fmt"
	"slices"
	"strings"
)

// attributeX is an attribute as it is written: [Name(a, b, name = c)].
type attributeX struct {
	name, text string
	args       []expr
	named      []namedArgument
}

// namedArgument is an argument of an attribute with a name. One without a value is true.
type namedArgument struct {
	name string
	x    expr
}

// attribute reads an attribute. It returns nil for anything else that begins with a [, such as a type.
func (p *parser) attribute() (*attributeX, error) {
	begin := p.at
	p.at++
	p.blanks()
	a := &attributeX{}
	for isName(p.peek()) || p.peek() == '.' {
		a.name += string(p.peek())
		p.at++
	}
	a.name = strings.TrimSuffix(full(a.name), "attribute")
	p.blanks()
	if a.name == "" || !p.take("(") {
		p.at = begin
		return nil, nil
	}
	defer p.values()()
	for {
		p.space()
		if p.take(")") {
			break
		}
		if len(a.args)+len(a.named) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			p.space()
		}
		if err := p.attributeArgument(a); err != nil {
			return nil, err
		}
	}
	err := p.expect("]")
	a.text = strings.TrimSpace(string(p.src[begin:p.at]))
	return a, err
}

// values lets a comma end an expression, until the function that it returns is called.
func (p *parser) values() func() {
	before := p.oneValue
	p.oneValue = true
	return func() { p.oneValue = before }
}

func (p *parser) attributeArgument(a *attributeX) error {
	begin := p.at
	word := p.word()
	p.space()
	switch {
	case word != "" && p.peek() == '=':
		p.at++
		p.space()
		x, err := p.constant()
		a.named = append(a.named, namedArgument{lower(word), x})
		return err
	case word != "" && !isDigit(rune(word[0])) && (p.peek() == ',' || p.peek() == ')'):
		a.named = append(a.named, namedArgument{lower(word), &variable{name: "true"}})
		return nil
	}
	p.at = begin
	x, err := p.constant()
	a.args = append(a.args, x)
	return err
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// constant reads an expression that needs no variable, or a script block.
func (p *parser) constant() (expr, error) {
	if p.peek() == '[' { // a type, as in [OutputType([int])], or a static member
		begin := p.at
		name, err := p.typeName()
		if err != nil || !p.has("::") {
			return &literal{name}, err
		}
		p.at = begin
	}
	x, err := p.expression()
	if err == nil && !isConstant(x) {
		return nil, p.refuse("ParameterAttributeArgumentNeedsToBeConstantOrScriptBlock",
			"Attribute argument must be a constant or a script block.")
	}
	return x, err
}

func isConstant(x expr) bool {
	switch x := x.(type) {
	case *literal, *blockX, *static:
		return true
	case *template:
		return !slices.ContainsFunc(x.parts, func(part expr) bool { return !isConstant(part) })
	case *unary:
		return isConstant(x.x)
	case *variable:
		return slices.Contains([]string{"true", "false", "null"}, x.name)
	}
	return false
}

// parameterAttributes are attributes of a parameter that mean nothing here: what they allow is allowed.
func parameterAttributes() []string {
	return []string{"allownull", "allowemptystring", "allowemptycollection", "psdefaultvalue", "supportswildcards"}
}

// attribute takes what an attribute says of a parameter. why says what of it is not implemented.
func (a *attributes) attribute(x *attributeX) (why string) {
	const notHere = "it"
	if slices.Contains(parameterAttributes(), x.name) {
		return ""
	}
	switch x.name {
	case "parameter":
		return a.parameter(x)
	case "alias":
		for _, name := range x.args {
			text, whole := beginning(name)
			if !whole {
				return notHere
			}
			a.aliases = append(a.aliases, lower(text))
		}
		return x.only("")
	}
	kind, known := conditions()[x.name]
	switch {
	case !known:
		return notHere
	case len(x.args) < kind.least || len(x.args) > kind.most:
		return fmt.Sprintf("%d arguments", len(x.args))
	case kind.block:
		if _, ok := x.args[0].(*blockX); !ok {
			return "an argument that is no script block"
		}
	case x.name == "validatepattern":
		pattern, _ := beginning(x.args[0])
		if _, err := compile(pattern); err != nil {
			return strings.TrimSuffix(err.Error(), ".")
		}
	}
	a.conditions = append(a.conditions, condition{x.name, x.args})
	return x.only("ignorecase")
}

// only says what is not implemented if an attribute has a named argument that is not of this name and $true.
func (x *attributeX) only(name string) (why string) {
	for _, one := range x.named {
		if v, _ := isBool(one.x); one.name != name || !v {
			return one.name
		}
	}
	return ""
}

// isBool is the value of $true, $false or a number, and whether it is one of them.
func isBool(x expr) (v, ok bool) {
	switch x := x.(type) {
	case *variable:
		return x.name == "true", x.name == "true" || x.name == "false"
	case *literal:
		n, isNumber := plain(x.v).(int64)
		return n != 0, isNumber
	}
	return false, false
}

// parameter reads what is in [Parameter( … )].
func (a *attributes) parameter(x *attributeX) (why string) {
	if len(x.args) > 0 {
		return "an argument without a name"
	}
	a.declared = true
	for _, one := range x.named {
		v, ok := isBool(one.x)
		switch one.name {
		case "mandatory":
			a.mandatory = v
		case "valuefrompipeline":
			a.piped = v
		case "valuefrompipelinebypropertyname":
			a.pipedName = v
		case "valuefromremainingarguments":
			a.remaining = v
		case "dontshow":
		case "helpmessage":
			_, ok = beginning(one.x)
		case "position":
			l, isLiteral := one.x.(*literal)
			if !isLiteral {
				return "a position that is no number"
			}
			n, isNumber := plain(l.v).(int64)
			a.position, ok = &n, isNumber
		default:
			return one.name
		}
		if !ok {
			return one.name + " with this value"
		}
	}
	return ""
}

// binding reads the attributes of a function or script. Those that only say something of it are skipped.
func (p *parser) binding(s *Script) error {
	for p.peek() == '[' {
		begin := p.at
		x, err := p.attribute()
		if x == nil || err != nil {
			p.at = begin
			return nil //nolint:nilerr // read as a statement, it is refused with its reason
		}
		switch x.name {
		case "cmdletbinding":
			s.strict = true
			for _, one := range x.named {
				v, ok := isBool(one.x)
				switch {
				case one.name == "positionalbinding" && ok:
					s.byName = !v
				case one.name == "helpuri", one.name == "supportsshouldprocess" && ok && !v:
				default:
					s.lacking = append(s.lacking, one.name+" in "+x.text)
				}
			}
		case "outputtype", "diagnostics.codeanalysis.suppressmessage":
		case "alias":
			for _, name := range x.args {
				if other, whole := beginning(name); whole {
					s.aliases = append(s.aliases, lower(other))
				}
			}
		default:
			p.at = begin
			return nil
		}
		p.space()
	}
	return nil
}
