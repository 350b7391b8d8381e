package powershell

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// attribute matches [Name( … )].
var attribute = regexp.MustCompile(`(?is)^([a-z]+)\s*\((.*)\)$`)

// words matches texts in quotation marks, with commas between them.
var words = regexp.MustCompile(`^\s*(?:'([^']*)'|"([^"$\x60]*)")\s*(,|$)`)

// attribute reads an attribute of a parameter; known is false for what is a type, and why says what is not implemented.
func (a *attributes) attribute(text string, place int) (known bool, why string) {
	m := attribute.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return false, ""
	}
	const notHere = "it is not part of Mullion's PowerShell"
	switch lower(m[1]) {
	case "parameter":
		return true, a.parameter(m[2], place)
	case "validateset":
		a.set = texts(m[2])
		if a.set == nil {
			return true, notHere
		}
		return true, ""
	case "alias":
		for _, name := range texts(m[2]) {
			a.aliases = append(a.aliases, lower(name))
		}
		if a.aliases == nil {
			return true, notHere
		}
		return true, ""
	case "validatenotnullorempty":
		a.notEmpty = true
		return true, ""
	case "allownull", "allowemptystring", "allowemptycollection":
		return true, ""
	}
	return true, notHere
}

// parameter reads what is in [Parameter( … )].
func (a *attributes) parameter(text string, place int) (why string) {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	for part := range strings.SplitSeq(text, ",") {
		name, v, given := strings.Cut(part, "=")
		v = lower(strings.TrimSpace(v))
		switch lower(strings.TrimSpace(name)) {
		case "mandatory":
			if given && v != "$true" && v != "$false" {
				return "Mandatory = " + v
			}
			a.mandatory = v != "$false"
		case "valuefrompipeline", "valuefrompipelinebypropertyname":
			if given && v != "$true" && v != "$false" {
				return strings.TrimSpace(name) + " = " + v
			}
			if lower(strings.TrimSpace(name)) == "valuefrompipeline" {
				a.piped = v != "$false"
			} else {
				a.pipedName = v != "$false"
			}
		case "position":
			if v != strconv.Itoa(place) {
				return "a position that is not the parameter's place"
			}
		default:
			return strings.TrimSpace(name) + " is not part of Mullion's PowerShell"
		}
	}
	return ""
}

// texts are texts in quotation marks, nil for anything else.
func texts(s string) []string {
	var all []string
	for s != "" {
		m := words.FindStringSubmatch(s)
		if m == nil {
			return nil
		}
		all = append(all, m[1]+m[2])
		s = s[len(m[0]):]
		if m[3] == "," && strings.TrimSpace(s) == "" {
			return nil
		}
	}
	return all
}

// valid is the error of a value that a parameter's attributes do not allow.
func (p param) valid(v value) error {
	const class = "System.Management.Automation.ParameterBindingException"
	for item := range each(v) {
		named := func(s string) bool { return strings.EqualFold(s, text(item)) }
		if p.set != nil && !slices.ContainsFunc(p.set, named) {
			return raise(class, fmt.Sprintf("Cannot validate argument on parameter '%s'. The argument %q does not belong to "+
				"the set \"%s\" specified by the ValidateSet attribute. Supply an argument that is in the set and then try "+
				"the command again.", p.name, text(item), strings.Join(p.set, ",")))
		}
	}
	if p.notEmpty && text(v) == "" {
		return raise(class, fmt.Sprintf("Cannot validate argument on parameter '%s'. The argument is null or empty. "+
			"Provide an argument that is not null or empty, and then try the command again.", p.name))
	}
	return nil
}

// described matches an attribute of a function or script that only says something of it.
var described = regexp.MustCompile(`(?is)^(outputtype\s*\(.*\)|alias\s*\(\s*\))$`)

// binding skips the attributes of a function or script, and reports whether [CmdletBinding()] is among them.
func (p *parser) binding() (strict bool) {
	for {
		begin := p.at
		if p.peek() != '[' {
			return strict
		}
		name, err := p.typeName()
		name = strings.TrimSpace(name)
		switch {
		case err == nil && lower(strings.ReplaceAll(name, " ", "")) == "cmdletbinding()":
			strict = true
		case err == nil && described.MatchString(name):
		default:
			p.at = begin
			return strict
		}
		p.space()
	}
}

// toTyped reads [type]$name = …. It returns nil for anything else that begins with a type.
func (p *parser) toTyped() (stmt, error) {
	name, err := p.typeName()
	if err != nil || !knownCast(name) {
		return nil, nil //nolint:nilerr // read as an expression, it is refused with its reason
	}
	p.blanks()
	if p.peek() != '$' {
		return nil, nil
	}
	x, err := p.variable()
	if err != nil {
		return nil, err
	}
	v, ok := x.(*variable)
	p.blanks()
	if !ok || v.env || p.peek() != '=' {
		return nil, nil
	}
	p.at++
	p.space()
	s, err := p.statement()
	return &assign{as: full(name), to: *v, op: "=", x: s}, err
}
