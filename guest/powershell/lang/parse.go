package lang

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/position"
	"mullion.dev/mullion/guest/powershell/words"
)

// Parse reads a script that is in a file, or in none. known reports whether there is a type of a name, by which the
// namespaces of using are found. The error is a *Refusal for what is not PowerShell.
func Parse(text, file string, known func(typeName string) bool) (*Script, error) {
	p := begun(text, file, known)
	s, err := p.script("")
	if err != nil {
		return nil, err
	}
	if p.unclosed > 0 {
		return nil, p.refuseAt(p.unclosed-1, "MissingTerminatorMultiLineComment",
			"The terminator '#>' is missing from the multiline comment.")
	}
	s.Text, s.Sources = text, p.sources
	return s, nil
}

// begun returns a parser of a whole text.
func begun(text, file string, known func(typeName string) bool) *parser {
	source := &position.Source{File: file, Text: []rune(text)}
	return &parser{
		src:    source.Text,
		source: source,
		isType: known,
	}
}

// script reads parameters and statements up to end, which is "" or "}".
func (p *parser) script(end string) (*Script, error) {
	p.space()
	begin := p.at
	s := &Script{Source: p.source.File}
	p.binding(s)
	if p.keyword("param") != "" {
		var err error
		p.space()
		if s.Params, err = p.params(); err != nil {
			return nil, err
		}
	}

	if err := p.sections(s); err != nil {
		return nil, err
	}
	body, err := p.statements(end)
	if s.Sections && len(body) > 0 {
		return nil, p.refuse("MissingNamedBlocks", "Unexpected token '%s', expected 'begin', 'process', 'end', or "+
			"'dynamicparam'.", p.token())
	}

	if !s.Sections {
		s.Body = body
	}
	s.Text = string(p.src[begin:p.at])
	if end != "" && err == nil {
		s.Text = string(p.src[begin : p.at-1])
	}
	return s, err
}

// params reads ( [type]$name = default, … ).
func (p *parser) params() ([]Param, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}

	params := []Param{}
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

func (p *parser) oneParam() (Param, error) {
	one := Param{}
	for p.peek() == '[' {
		a, err := p.attribute()
		if err != nil {
			return one, err
		}

		if a != nil {
			if why := one.attribute(a); why != "" {
				one.Lacking = append(one.Lacking, "the attribute "+a.text+" of a parameter: "+why)
			}
			p.space()
			continue
		}

		name, err := p.typeName()
		if err != nil {
			return one, err
		}
		if one.To == "" {
			one.To = words.TypeName(name)
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

	one.Written = strings.Trim(string(p.src[begin+1:p.at]), "{}")
	v, ok := x.(*Variable)
	if !ok || v.Env || v.Scope != "" {
		return one, p.noParameter()
	}

	one.Name = v.Name
	p.space()
	if p.take("=") {
		p.space()
		defer p.values()()
		one.Fallback, err = p.expression()
	}

	return one, err
}

// statements reads up to end, and skips it.
func (p *parser) statements(end string) (Block, error) {
	b := Block{}
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

func (p *parser) braces() (Block, error) {
	if err := p.expect("{"); err != nil {
		return nil, err
	}
	return p.statements("}")
}

func (p *parser) statement() (Stmt, error) {
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()

	begin := p.at
	switch word := p.keyword("if", "while", "foreach", "function", "return", "throw", "exit", "break", "continue",
		"try",
		"switch", "do", "for", "filter", "trap"); word {
	case "filter":
		return p.filter()
	case "trap":
		return p.trap()
	case "if", "while", "foreach", "try", "switch", "do", "for", "function":
		return map[string]func() (Stmt, error){
			"if": p.ifStatement, "while": p.while, "foreach": p.foreach, "try": p.try, "switch": p.switchStatement,
			"do": p.do, "for": p.forStatement, "function": p.function,
		}[word]()

	case "break", "continue":
		return p.leaves(begin, word)
	case "return", "throw", "exit":
		l := &LeaveStmt{At: p.part(begin), Word: word}
		p.blanks()
		if r := p.peek(); r == 0 || strings.ContainsRune(";\r\n})", r) {
			return l, nil
		}
		s, err := p.pipeline()
		l.At, l.X = p.part(begin), s
		return l, err
	}

	for _, read := range []func() (Stmt, error){p.defined, p.unbuilt, p.labelled} {
		if s, err := read(); s != nil || err != nil {
			return s, err
		}
	}

	if word := p.keyword("begin", "process", "end", "until", "dynamicparam"); word != "" {
		return nil, p.refuse("UnexpectedToken", "Unexpected token '%s' in expression or statement.", word)
	}
	return p.assignment()
}

// while reads what follows the word while.
func (p *parser) while() (Stmt, error) {
	x, err := p.parens()
	if err != nil {
		return nil, err
	}
	body, err := p.braces()
	return &WhileStmt{Cond: x, Body: body}, err
}

// assignment reads $name = …, or a pipeline.
func (p *parser) assignment() (Stmt, error) {
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

func (p *parser) parens() (Expr, error) {
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

	return &SubExpr{Body: Block{s}, Paren: true}, p.expect(")")
}

func (p *parser) ifStatement() (Stmt, error) {
	s := &IfStmt{}
	for {
		x, err := p.parens()
		if err != nil {
			return nil, err
		}
		body, err := p.braces()
		if err != nil {
			return nil, err
		}

		s.Conds, s.Blocks = append(s.Conds, x), append(s.Blocks, body)
		begin := p.at
		p.space()
		switch p.keyword("elseif", "else") {
		case "elseif":
		case "else":
			s.Other, err = p.braces()
			return s, err
		default:
			p.at = begin
			return s, nil
		}
	}
}

func (p *parser) foreach() (Stmt, error) {
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
	v, ok := x.(*Variable)
	p.space()
	if !ok || v.Env || v.Scope != "" || p.keyword("in") == "" {
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
	return &ForeachStmt{
		Name: v.Name,
		In:   &SubExpr{Body: Block{in}},
		Body: body,
	}, err
}

// filter reads what follows the word filter: a function whose statements are those of process.
func (p *parser) filter() (Stmt, error) {
	s, err := p.function()
	if err != nil {
		return nil, err
	}
	script := s.(*FunctionStmt).Script
	if !script.Sections {
		script.Sections, script.Filter, script.Process, script.Body = true, true, script.Body, nil
	}
	return s, nil
}

func (p *parser) function() (Stmt, error) {
	p.space()
	name := p.bare()
	if name == "" {
		return nil, p.refuse("MissingNameAfterKeyword", "Missing name after function keyword.")
	}

	params := []Param{}
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
	s.Params, s.Name = slices.Concat(params, s.Params), name[strings.Index(name, ":")+1:]
	return &FunctionStmt{strings.ToLower(name), s}, nil
}

// bare reads a name of a command: everything up to a blank or a character that ends a command.
func (p *parser) bare() string {
	begin := p.at
	for r := p.peek(); r != 0 && !strings.ContainsRune(" \t\r\n;|&(){}<>,\"'", r); r = p.peek() {
		p.at++
	}
	return string(p.src[begin:p.at])
}

// Complete reports whether a command does not go on in the next line: it can be read, or what is wrong with it is not
// that it ends too soon. One whose last line ends with ` goes on.
func Complete(text string, known func(typeName string) bool) bool {
	if last := strings.TrimRight(text, "\r\n"); strings.HasSuffix(last, " `") || last == "`" {
		return false
	}
	p := begun(strings.TrimRight(text, " \t\r\n"), "", known)
	_, err := p.script("")
	return p.unclosed == 0 && (err == nil || p.at < len(p.src))
}
