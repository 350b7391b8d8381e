package lang

import (
	"slices"
	"strings"
)

// unbuilt reads a statement of PowerShell's whose meaning is not here: data, workflow and using. The whole
// of it is an error when it is reached. It returns nil for anything else.
func (p *parser) unbuilt() (Stmt, error) {
	at := p.at
	word := p.keyword("data", "workflow", "using")
	if word == "" {
		return nil, nil
	}
	p.space()
	if word == "using" {
		return p.using(at)
	}

	begin := p.at
	for r := p.peek(); r != 0 && r != '{' && r != '}' && r != ';'; r = p.peek() {
		p.at++
	}

	name := strings.TrimSpace(string(p.src[begin:p.at]))
	if p.peek() != '{' {
		return nil, p.missingSign("{")
	}
	err := p.skipBody()
	return &LateStmt{LateExpr{strings.TrimSpace(word + " " + name)}, p.part(at)}, err
}

// using reads what follows the word using: the types of a namespace are found without it (about_Using).
func (p *parser) using(at int) (Stmt, error) {
	kind := p.keyword("namespace", "module", "assembly")
	if kind == "" {
		return nil, p.unexpected()
	}
	p.blanks()
	x, err := p.argumentValue()
	if err != nil {
		return nil, err
	}

	name, _ := Beginning(x)
	if kind == "namespace" {
		p.spaces = append(p.spaces, name)
		return &Pipeline{[]Stage{{X: &SubExpr{Body: Block{}}}}}, nil
	}

	return &LateStmt{LateExpr{"using " + kind + " " + name}, p.part(at)}, nil
}

// skipBody skips { … } with what lies in it.
func (p *parser) skipBody() error {
	begin := p.at
	for depth := 0; p.at < len(p.src); {
		at := p.at
		if p.space(); p.at > at {
			continue
		}

		var err error
		switch r := p.peek(); {
		case p.has(`@"`), p.has("@'"):
			_, err = p.hereString()
		case r == '"', r == '\'':
			_, err = p.quoted()
		case r == '`':
			p.at = min(p.at+2, len(p.src))
		default:
			p.at++
			if r == '{' {
				depth++
			}
			if r == '}' {
				depth--
			}

			if depth == 0 {
				p.blockEnd = p.at
				return nil
			}
		}
		if err != nil {
			return err
		}
	}

	return p.refuseAt(begin, "MissingEndCurlyBrace", "Missing closing '}' in statement block or type definition.")
}

// inSpaces returns the name of a type, with the namespace of a using in which it is found.
func (p *parser) inSpaces(name string) string {
	if len(p.spaces) == 0 || p.isType(name) {
		return name
	}
	i := slices.IndexFunc(p.spaces, func(space string) bool { return p.isType(space + "." + name) })
	if i < 0 {
		return name
	}
	return p.spaces[i] + "." + name
}
