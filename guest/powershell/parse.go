package powershell

import (
	"slices"
	"strings"
)

// Parse reads a script. The error is a *Refusal for syntax that is not implemented.
func Parse(text string) (*Script, error) { return parseFile(text, "") }

// parseFile reads a script that is in a file, or in none.
func parseFile(text, file string) (*Script, error) {
	p := &parser{src: []rune(text), file: file}
	s, err := p.script("")
	if err != nil {
		return nil, err
	}
	s.text, s.sources = text, p.sources
	return s, nil
}

// script reads parameters and statements up to end, which is "" or "}".
func (p *parser) script(end string) (*Script, error) {
	p.space()
	begin := p.at
	s := &Script{source: p.file}
	if err := p.binding(s); err != nil {
		return nil, err
	}
	if p.keyword("param") != "" {
		var err error
		p.space()
		if s.params, err = p.params(); err != nil {
			return nil, err
		}
	}
	if err := p.sections(s); err != nil {
		return nil, err
	}
	body, err := p.statements(end)
	if s.sections && len(body) > 0 {
		return nil, p.refuse("MissingNamedBlocks", "Unexpected token '%s', expected 'begin', 'process', 'end', or "+
			"'dynamicparam'.", p.token())
	}
	if !s.sections {
		s.body = body
	}
	s.text = string(p.src[begin:p.at])
	if end != "" && err == nil {
		s.text = string(p.src[begin : p.at-1])
	}
	return s, err
}

// params reads ( [type]$name = default, … ).
func (p *parser) params() ([]param, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	params := []param{}
	for {
		p.space()
		if p.take(")") {
			return params, nil
		}
		if len(params) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			p.space()
		}
		one, err := p.oneParam()
		if err != nil {
			return nil, err
		}
		params = append(params, one)
	}
}

func (p *parser) oneParam() (param, error) {
	one := param{}
	for p.peek() == '[' {
		a, err := p.attribute()
		if err != nil {
			return one, err
		}
		if a != nil {
			if why := one.attribute(a); why != "" {
				one.lacking = append(one.lacking, "the attribute "+a.text+" of a parameter: "+why)
			}
			p.space()
			continue
		}
		name, err := p.typeName()
		if err != nil {
			return one, err
		}
		if one.to == "" {
			one.to = full(name)
		}
		p.space()
	}
	if p.peek() != '$' {
		return one, p.noParameter()
	}
	begin := p.at
	x, err := p.variable()
	if err != nil {
		return one, err
	}
	one.written = strings.Trim(string(p.src[begin+1:p.at]), "{}")
	v, ok := x.(*variable)
	if !ok || v.env || v.scope != "" {
		return one, p.noParameter()
	}
	one.name = v.name
	p.space()
	if p.take("=") {
		p.space()
		defer p.values()()
		one.fallback, err = p.expression()
	}
	return one, err
}

// statements reads up to end, and skips it.
func (p *parser) statements(end string) (block, error) {
	b := block{}
	defer p.lists()()
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	for {
		p.space()
		for p.take(";") {
			p.space()
		}
		if end != "" && p.take(end) {
			if end == "}" {
				p.blockEnd = p.at
			}
			return b, nil
		}
		if p.at >= len(p.src) {
			if end != "" {
				return nil, p.missingSign(end)
			}
			return b, nil
		}
		s, err := p.statement()
		if err != nil {
			return nil, err
		}
		b = append(b, s)
		if err := p.statementEnd(end); err != nil {
			return nil, err
		}
	}
}

// statementEnd refuses what cannot follow a statement of those up to end.
func (p *parser) statementEnd(end string) error {
	p.blanks()
	switch r := p.peek(); {
	case r == '}' && end != "}":
		return p.unexpected()
	case r == 0, strings.ContainsRune(";\r\n}", r), end != "" && p.has(end), p.afterBlock():
		return nil
	}
	return p.unexpected()
}

// afterBlock reports whether a statement has just ended with the } of a block, so that another may begin on the same
// line.
func (p *parser) afterBlock() bool {
	return p.blockEnd > 0 && strings.TrimRight(string(p.src[min(p.blockEnd, p.at):p.at]), " \t") == ""
}

func (p *parser) braces() (block, error) {
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	return p.statements("}")
}

func (p *parser) statement() (stmt, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	line := p.line()
	switch word := p.keyword("if", "while", "foreach", "function", "return", "throw", "exit", "break", "continue", "try",
		"switch", "do", "for", "filter", "trap"); word {
	case "filter":
		return p.filter()
	case "trap":
		return p.trap()
	case "if", "while", "foreach", "try", "switch", "do", "for", "function":
		return map[string]func() (stmt, error){
			"if": p.ifStatement, "while": p.while, "foreach": p.foreach, "try": p.try, "switch": p.switchStatement,
			"do": p.do, "for": p.forStatement, "function": p.function,
		}[word]()
	case "break", "continue":
		return &leave{line: line, word: word}, nil
	case "return", "throw", "exit":
		l := &leave{line: line, word: word}
		p.blanks()
		if r := p.peek(); r == 0 || strings.ContainsRune(";\r\n})", r) {
			return l, nil
		}
		s, err := p.pipeline()
		l.x = s
		return l, err
	}
	if s, err := p.unbuilt(); s != nil || err != nil {
		return s, err
	}
	if word := p.keyword("begin", "process", "end", "until", "dynamicparam"); word != "" {
		return nil, p.refuse("UnexpectedToken", "Unexpected token '%s' in expression or statement.", word)
	}
	return p.assignment()
}

// while reads what follows the word while.
func (p *parser) while() (stmt, error) {
	x, err := p.parens()
	if err != nil {
		return nil, err
	}
	body, err := p.braces()
	return &whileStmt{x, body}, err
}

// assignment reads $name = …, or a pipeline.
func (p *parser) assignment() (stmt, error) {
	begin := p.at
	if r := p.peek(); r == '$' || r == '[' || r == '(' {
		if s, err := p.toTargets(); s != nil || err != nil {
			return s, err
		}
		p.at = begin
	}
	return p.pipeline()
}

// assigns skips an operator of an assignment if it is next, and returns it.
func (p *parser) assigns() string {
	for _, op := range []string{"+=", "-=", "*=", "/=", "%=", "="} {
		if p.take(op) {
			return op
		}
	}
	return ""
}

// counts skips ++ or -- if it is next, and returns the assignment that it stands for.
func (p *parser) counts() string {
	switch {
	case p.take("++"):
		return "+="
	case p.take("--"):
		return "-="
	}
	return ""
}

// lists lets commas make lists again, until the function that it returns is called.
func (p *parser) lists() func() {
	before := p.oneValue
	p.oneValue = false
	return func() { p.oneValue = before }
}

func (p *parser) parens() (expr, error) {
	defer p.lists()()
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := p.expect("("); err != nil {
		return nil, err
	}
	p.space()
	s, err := p.assignment()
	if err != nil {
		return nil, err
	}
	return &sub{body: block{s}, paren: true}, p.expect(")")
}

func (p *parser) ifStatement() (stmt, error) {
	s := &ifStmt{}
	for {
		x, err := p.parens()
		if err != nil {
			return nil, err
		}
		body, err := p.braces()
		if err != nil {
			return nil, err
		}
		s.conds, s.blocks = append(s.conds, x), append(s.blocks, body)
		begin := p.at
		p.space()
		switch p.keyword("elseif", "else") {
		case "elseif":
		case "else":
			s.other, err = p.braces()
			return s, err
		default:
			p.at = begin
			return s, nil
		}
	}
}

func (p *parser) foreach() (stmt, error) {
	p.space()
	if p.peek() != '(' {
		return nil, p.refuse(noParenthesisID, "Missing opening '(' after keyword 'foreach'.")
	}
	p.at++
	p.space()
	if p.peek() != '$' {
		return nil, p.refuse("MissingVariableNameAfterForeach", "Missing variable name after foreach.")
	}
	x, err := p.variable()
	if err != nil {
		return nil, err
	}
	v, ok := x.(*variable)
	p.space()
	if !ok || v.env || v.scope != "" || p.keyword("in") == "" {
		return nil, p.refuse("MissingInInForeach", "Missing 'in' after variable in foreach loop.")
	}
	p.space()
	in, err := p.pipeline()
	if err != nil {
		return nil, err
	}
	if err := p.expect(")"); err != nil {
		return nil, err
	}
	body, err := p.braces()
	return &foreachStmt{v.name, &sub{body: block{in}}, body}, err
}

// filter reads what follows the word filter: a function whose statements are those of process.
func (p *parser) filter() (stmt, error) {
	s, err := p.function()
	if err != nil {
		return nil, err
	}
	script := s.(*functionStmt).script
	if !script.sections {
		script.sections, script.filter, script.process, script.body = true, true, script.body, nil
	}
	return s, nil
}

func (p *parser) function() (stmt, error) {
	p.space()
	name := p.bare()
	if name == "" {
		return nil, p.refuse("MissingNameAfterKeyword", "Missing name after function keyword.")
	}
	params := []param{}
	p.space()
	if p.peek() == '(' {
		var err error
		if params, err = p.params(); err != nil {
			return nil, err
		}
	}
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	s, err := p.script("}")
	if err != nil {
		return nil, err
	}
	s.params, s.name = slices.Concat(params, s.params), name[strings.Index(name, ":")+1:]
	return &functionStmt{lower(name), s}, nil
}

// bare reads a name of a command: everything up to a blank or a character that ends a command.
func (p *parser) bare() string {
	begin := p.at
	for r := p.peek(); r != 0 && !strings.ContainsRune(" \t\r\n;|&(){}<>,\"'", r); r = p.peek() {
		p.at++
	}
	return string(p.src[begin:p.at])
}
