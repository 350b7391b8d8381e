package lang

import (
	"slices"
	"strings"
	"unicode"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/position"
)

// parser reads a script character by character. PowerShell cannot be cut into tokens first, because the meaning of a
// character differs between a command's arguments and an expression.
type parser struct {
	isType func(typeName string) bool // whether there is a type of a name
	src    []rune
	at     int
	// source is the whole text, of which src is a part that begins at base.
	source *position.Source
	base   int
	// oneValue says that a comma ends an expression, as it does between parameters.
	oneValue bool
	// depth is the nesting depth of the part being read; blockEnd is where the last } of a block ends.
	depth, blockEnd int
	// gap and gapEnd are where the last blanks begin and end.
	gap, gapEnd int
	// known holds the values that have been read, by their beginnings, so that a statement that turns out to be no
	// assignment is not read twice.
	known map[int]reading
	// spaces are the namespaces of using.
	spaces []string
	// words says that what is read is an argument, where ++ is text.
	words bool
	// ops are the binary operators by precedence.
	ops [][]string
	// sources says that something is run in the scope where it is called.
	sources bool
	// unclosed is where a comment begins that has no end; 0: none does. It is counted from 1.
	unclosed int
}

// reading is a value and where it ends.
type reading struct {
	x   Expr
	end int
}

// once reads a value, or returns it from known.
func (p *parser) once(read func() (Expr, error)) (Expr, error) {
	begin := p.at
	if r, ok := p.known[begin]; ok {
		p.at = r.end
		return r.x, nil
	}
	x, err := read()
	if err != nil {
		return nil, err
	}

	if p.known == nil {
		p.known = map[int]reading{}
	}
	p.known[begin] = reading{x, p.at}
	return x, nil
}

// maxDepth is how deep a script's parts may lie in each other.
const maxDepth = 1000

// deeper enters a nested part, and refuses it if it is too deep. The function that it returns leaves the part.
func (p *parser) deeper() (func(), error) {
	if p.depth++; p.depth > maxDepth {
		return func() {}, p.refuse("ScriptTooComplicated",
			"The script is too complicated: more than %d parts lie in each other.",
			maxDepth)
	}
	return func() { p.depth-- }, nil
}

// part returns what has been read since a place, without blanks at its end.
func (p *parser) part(begin int) position.Extent {
	end := p.at
	if p.gapEnd == end {
		end = max(p.gap, begin)
	}
	return position.Extent{
		Source: p.source,
		From:   p.base + begin,
		To:     p.base + end,
	}
}

func (p *parser) peek() rune { return p.peekAt(0) }

func (p *parser) peekAt(n int) rune {
	if p.at+n >= len(p.src) {
		return 0
	}
	return p.src[p.at+n]
}

func (p *parser) has(s string) bool {
	for i, r := range []rune(s) {
		if p.peekAt(i) != r {
			return false
		}
	}
	return true
}

// take skips s if it is next, and reports whether it was.
func (p *parser) take(s string) bool {
	if !p.has(s) {
		return false
	}
	p.at += len([]rune(s))
	return true
}

// skipped notes that there are blanks from a place up to here.
func (p *parser) skipped(begin int) {
	if p.at > begin {
		if begin != p.gapEnd {
			p.gap = begin
		}
		p.gapEnd = p.at
	}
}

// blanks skips spaces, comments and escaped line ends.
func (p *parser) blanks() {
	defer p.skipped(p.at)

	for {
		switch {
		case p.peek() == ' ' || p.peek() == '\t' || p.peek() == '\uFEFF':
			p.at++
		case p.has("`\n"):
			p.at += 2
		case p.has("`\r\n"):
			p.at += 3
		case p.has("<#"):
			begin := p.at
			for p.at < len(p.src) && !p.take("#>") {
				p.at++
			}
			if !slices.Equal(p.src[max(begin+2, p.at-2):p.at], []rune("#>")) {
				p.unclosed = begin + 1
			}

		case p.peek() == '#':
			for p.at < len(p.src) && p.peek() != '\n' {
				p.at++
			}
		default:
			return
		}
	}
}

// space skips blanks and line ends.
func (p *parser) space() {
	for {
		p.blanks()
		if r := p.peek(); r != '\n' && r != '\r' {
			return
		}
		p.at++
		p.skipped(p.at - 1)
	}
}

func (p *parser) expect(s string) error {
	p.space()
	if !p.take(s) {
		return p.missingSign(s)
	}
	return nil
}

func isName(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// word reads letters, digits and _.
func (p *parser) word() string {
	begin := p.at
	for isName(p.peek()) {
		p.at++
	}
	return string(p.src[begin:p.at])
}

// keyword skips one of words if it is next as a whole word, and returns it.
func (p *parser) keyword(words ...string) string {
	begin := p.at
	w := strings.ToLower(p.word())
	if p.peek() != '-' { // if-then would be a command
		for _, k := range words {
			if w == k {
				return k
			}
		}
	}
	p.at = begin
	return ""
}

// variable reads what follows a $.
func (p *parser) variable() (Expr, error) {
	p.at++
	switch r := p.peek(); r {
	case '(':
		return p.once(func() (Expr, error) { // begins after the $, where no other value begins
			p.at++
			body, err := p.statements(")")
			return &SubExpr{Body: body}, err
		})

	case '{':
		end := p.at
		for end < len(p.src) && p.src[end] != '}' {
			end++
		}
		name := string(p.src[p.at+1 : end])
		p.at = min(end+1, len(p.src))
		return p.named(name)

	case '?', '_', '$', '^':
		if r != '_' || !isName(p.peekAt(1)) {
			p.at++
			return p.named(string(r))
		}
	}

	name := p.word()
	switch {
	case p.peek() != ':' || name == "":
	case isName(p.peekAt(1)):
		p.at++
		name += ":" + p.word()
	case p.peekAt(1) != ':':
		return nil, p.refuse("InvalidVariableReferenceWithDrive", "Variable reference is not valid. ':' was not "+
			"followed by a valid variable name character. Consider using ${} to delimit the name.")
	}

	return p.named(name)
}

func (p *parser) named(name string) (Expr, error) {
	scope, rest, scoped := strings.Cut(name, ":")
	switch {
	case name == "":
		return nil, p.refuse("InvalidVariableReference",
			"Variable reference is not valid. '$' was not followed by a valid "+
				"variable name character. Consider using ${} to delimit the name.")

	case scoped && strings.ToLower(scope) == "env":
		return &Variable{Name: rest, Env: true}, nil
	case scoped && slices.Contains(Scopes(), strings.ToLower(scope)) && rest != "":
		return &Variable{Name: strings.ToLower(rest), Scope: strings.ToLower(scope)}, nil
	case scoped && rest != "":
		return &Variable{Name: strings.ToLower(rest), Scope: strings.ToLower(scope)}, nil
	case strings.ToLower(name) == "psitem":
		name = "_"
	}

	return &Variable{Name: strings.ToLower(name)}, nil
}

// single reads a string in apostrophes.
func (p *parser) single() (Expr, error) {
	begin := p.at
	p.at++
	var b strings.Builder
	for p.at < len(p.src) {
		if p.take("''") {
			b.WriteByte('\'')
			continue
		}
		if p.take("'") {
			return &Literal{b.String()}, nil
		}
		b.WriteRune(p.peek())
		p.at++
	}

	return nil, p.refuseAt(begin, noTerminatorID, "The string is missing the terminator: '.")
}

// double reads a string in quotation marks.
func (p *parser) double() (Expr, error) {
	p.at++
	return p.template('"')
}

// quoted reads a string of either kind.
func (p *parser) quoted() (Expr, error) {
	if p.peek() == '"' {
		return p.double()
	}
	return p.single()
}

// template reads text with variables up to a quotation mark, or with 0 to its end, where quotation marks are text.
func (p *parser) template(quote rune) (Expr, error) {
	t := &Template{}
	begin := max(p.at-1, 0)
	var b strings.Builder
	for p.at < len(p.src) {
		switch {
		case quote != 0 && p.take(`""`):
			b.WriteByte('"')
		case quote != 0 && p.take(`"`):
			t.add(&b)
			return t.whole(), nil

		case p.peek() == '`':
			b.WriteRune(p.escaped())
		case p.interpolates():
			t.add(&b)
			x, err := p.variable()
			if err != nil {
				return nil, err
			}
			t.Parts = append(t.Parts, x)

		default:
			b.WriteRune(p.peek())
			p.at++
		}
	}

	if quote == 0 {
		t.add(&b)
		return t.whole(), nil
	}
	return nil, p.refuseAt(begin, noTerminatorID, "The string is missing the terminator: \".")
}

// add appends the text in b to the parts.
func (x *Template) add(b *strings.Builder) {
	if b.Len() > 0 {
		x.Parts = append(x.Parts, &Literal{b.String()})
		b.Reset()
	}
}

// take appends a string: its text to what is in b, and what else it has to the parts.
func (x *Template) take(s Expr, b *strings.Builder) {
	all := []Expr{s}
	if of, ok := s.(*Template); ok {
		all = of.Parts
	}
	for _, part := range all {
		if l, ok := part.(*Literal); ok {
			b.WriteString(object.Text(l.V))
			continue
		}
		x.add(b)
		x.Parts = append(x.Parts, part)
	}
}

// whole returns the template, or the empty string if it has no parts.
func (x *Template) whole() Expr {
	if len(x.Parts) == 0 {
		return &Literal{""}
	}
	return x
}

// inner reads text, which begins at a place, as a template of its own.
func (p *parser) inner(text string, begin int) (Expr, error) {
	inner := &parser{
		src: []rune(text), source: p.source, base: p.base + begin, depth: p.depth, isType: p.isType,
	}
	return inner.template(0)
}

// hereString reads the lines between @" and a line that begins with "@; in @' … '@ variables are not replaced.
func (p *parser) hereString() (Expr, error) {
	quote, opening := p.peekAt(1), p.at
	p.at += 2
	p.blanks()
	if !p.take("\r\n") && !p.take("\n") {
		return nil, p.refuse("UnexpectedCharactersAfterHereStringHeader", "No characters are allowed after a here-string "+
			"header but before the end of the line.")
	}

	begin := p.at
	for end := begin; end < len(p.src); end++ {
		if (end == begin || p.src[end-1] == '\n') && p.src[end] == quote && end+1 < len(p.src) && p.src[end+1] == '@' {
			lines := strings.TrimSuffix(strings.TrimSuffix(string(p.src[begin:end]), "\n"), "\r")
			p.at = end + 2
			if quote == '\'' {
				return &Literal{lines}, nil
			}
			return p.inner(lines, begin)
		}
	}

	p.at = len(p.src) // what is missing is behind all of it, as Complete asks
	return nil, p.refuseAt(opening, noTerminatorID, "The string is missing the terminator: %s@.", string(quote))
}

// interpolates reports whether a variable begins here.
func (p *parser) interpolates() bool {
	r := p.peekAt(1)
	return p.peek() == '$' && (isName(r) || strings.ContainsRune("({?$^", r))
}

// escaped reads a character after a back quote.
func (p *parser) escaped() rune {
	p.at++
	r := p.peek()
	if p.at < len(p.src) {
		p.at++
	}
	if e, ok := map[rune]rune{
		'n': '\n', 'r': '\r', 't': '\t', '0': 0, 'a': 7, 'b': 8, 'f': 12, 'v': 11,
		'e': 27,
	}[r]; ok {
		return e
	}
	return r
}
