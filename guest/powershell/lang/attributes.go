package lang

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/words"
)

// attributeX is an attribute as it is written: [Name(a, b, name = c)].
type attributeX struct {
	name, text string
	args       []Expr
	named      []namedArgument
}

// namedArgument is an argument of an attribute with a name. One without a value is true.
type namedArgument struct {
	name string
	x    Expr
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

	a.name = strings.TrimSuffix(words.TypeName(a.name), "attribute")
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
		a.named = append(a.named, namedArgument{strings.ToLower(word), x})
		return err
	case word != "" && !isDigit(rune(word[0])) && (p.peek() == ',' || p.peek() == ')'):
		a.named = append(a.named, namedArgument{strings.ToLower(word), &Variable{Name: "true"}})
		return nil
	}

	p.at = begin
	x, err := p.constant()
	a.args = append(a.args, x)
	return err
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// constant reads an expression that needs no variable, or a script block.
func (p *parser) constant() (Expr, error) {
	if p.peek() == '[' { // a type, as in [OutputType([int])], or a static member
		begin := p.at
		name, err := p.typeName()
		if err != nil || !p.has("::") {
			return &Literal{name}, err
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

func isConstant(x Expr) bool {
	switch x := x.(type) {
	case *Literal, *BlockLiteral, *Static:
		return true
	case *Template:
		return !slices.ContainsFunc(x.Parts, func(part Expr) bool { return !isConstant(part) })
	case *Unary:
		return isConstant(x.X)
	case *Variable:
		return slices.Contains([]string{"true", "false", "null"}, x.Name)
	}
	return false
}

// parameterAttributes returns the attributes of a parameter that mean nothing here: what they allow is allowed.
func parameterAttributes() []string {
	return []string{"allownull", "allowemptystring", "allowemptycollection", "psdefaultvalue", "supportswildcards"}
}

// Condition is an attribute that an argument must meet, ValidateSet or another one, with its constants.
type Condition struct {
	Name string
	Args []Expr
}

// conditionKind is what an attribute asks for.
type conditionKind struct {
	least, most int  // the number of its arguments
	block       bool // the argument is a script block
	Whole       bool // it asks of a list as a whole, not of each item
}

// Conditions returns the attributes that are conditions of an argument, by their names
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_functions_advanced_parameters).
func Conditions() map[string]conditionKind {
	const many = 1 << 10
	return map[string]conditionKind{
		"validateset":            {least: 1, most: many},
		"validaterange":          {least: 2, most: 2},
		"validatelength":         {least: 2, most: 2},
		"validatecount":          {least: 2, most: 2, Whole: true},
		"validatepattern":        {least: 1, most: 1},
		"validatescript":         {least: 1, most: 1, block: true},
		"validatenotnull":        {Whole: true},
		"validatenotnullorempty": {Whole: true},
	}
}

// attribute takes what an attribute says of a parameter. why says what of it is not implemented.
func (a *Attributes) attribute(x *attributeX) (why string) {
	const notHere = "it"
	if slices.Contains(parameterAttributes(), x.name) {
		return ""
	}

	switch x.name {
	case "parameter":
		return a.parameter(x)
	case "alias":
		for _, name := range x.args {
			text, whole := Beginning(name)
			if !whole {
				return notHere
			}
			a.Aliases = append(a.Aliases, strings.ToLower(text))
		}
		return x.only("")
	}

	kind, known := Conditions()[x.name]
	switch {
	case !known:
		return notHere
	case len(x.args) < kind.least || len(x.args) > kind.most:
		return fmt.Sprintf("%d arguments", len(x.args))
	case kind.block:
		if _, ok := x.args[0].(*BlockLiteral); !ok {
			return "an argument that is no script block"
		}

	case x.name == "validatepattern":
		text, _ := Beginning(x.args[0])
		if _, err := pattern.Compile(text); err != nil {
			return strings.TrimSuffix(err.Error(), ".")
		}
	}

	a.Conditions = append(a.Conditions, Condition{x.name, x.args})
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

// isBool returns the value of $true, $false or a number, and whether it is one of them.
func isBool(x Expr) (v, ok bool) {
	switch x := x.(type) {
	case *Variable:
		return x.Name == "true", x.Name == "true" || x.Name == "false"
	case *Literal:
		n, isNumber := object.Plain(x.V).(int64)
		return n != 0, isNumber
	}
	return false, false
}

// parameter reads what is in [Parameter( … )].
func (a *Attributes) parameter(x *attributeX) (why string) {
	if len(x.args) > 0 {
		return "an argument without a name"
	}

	var r Role
	for _, one := range x.named {
		v, ok := isBool(one.x)
		switch one.name {
		case "mandatory":
			r.Mandatory = v
		case "valuefrompipeline":
			r.Piped = v
		case "valuefrompipelinebypropertyname":
			r.PipedName = v
		case "valuefromremainingarguments":
			r.Remaining = v
		case "dontshow":
		case "helpmessage":
			_, ok = Beginning(one.x)
		case "parametersetname":
			r.Set, ok = Beginning(one.x)
		case "position":
			l, isLiteral := one.x.(*Literal)
			if !isLiteral {
				return "a position that is no number"
			}
			n, isNumber := object.Plain(l.V).(int64)
			r.Position, ok = &n, isNumber

		default:
			return one.name
		}

		if !ok {
			return one.name + " with this value"
		}
	}

	a.Roles = append(a.Roles, r)
	return ""
}

// named takes an argument of [CmdletBinding( … )] that is a text. It reports whether it is one that is known.
func (s *Script) named(one namedArgument) bool {
	text, whole := Beginning(one.x)
	switch {
	case !whole:
		return false
	case one.name == "defaultparametersetname":
		s.DefaultSet = text
	case one.name == "confirmimpact" && slices.Contains(Impacts(), strings.ToLower(text)):
		s.Impact = strings.ToLower(text)
	default:
		return false
	}
	return true
}

// Impacts returns the words for how much a function changes, from the least
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.confirmimpact).
func Impacts() []string { return []string{"none", "low", "medium", "high"} }

// bindsAsCmdlet takes what [CmdletBinding()] says.
func (s *Script) bindsAsCmdlet(x *attributeX) {
	s.Strict = true
	for _, one := range x.named {
		v, ok := isBool(one.x)
		switch {
		case one.name == "positionalbinding" && ok:
			s.ByName = !v
		case one.name == "supportsshouldprocess" && ok:
			s.Asks = v
		case one.name == "helpuri" || s.named(one):
		default:
			s.Lacking = append(s.Lacking, one.name+" in "+x.text)
		}
	}
}

// binding reads the attributes of a function or script. Those that only say something of it are skipped.
func (p *parser) binding(s *Script) {
	for p.peek() == '[' {
		begin := p.at
		x, err := p.attribute()
		if x == nil || err != nil {
			p.at = begin
			return // read as a statement, it is refused with its reason
		}

		switch x.name {
		case "cmdletbinding":
			s.bindsAsCmdlet(x)
		case "outputtype", "diagnostics.codeanalysis.suppressmessage":
		case "alias":
			for _, name := range x.args {
				if other, whole := Beginning(name); whole {
					s.Aliases = append(s.Aliases, strings.ToLower(other))
				}
			}

		default:
			p.at = begin
			return
		}

		p.space()
	}
}
