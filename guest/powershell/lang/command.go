package lang

import (
	"slices"
	"strings"
	"unicode"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/internal/base/lazyregexp"
)

// pipeline reads stages joined by |.
func (p *parser) pipeline() (Stmt, error) {
	l := &Pipeline{}
	for {
		p.blanks()
		begin := p.at
		s, err := p.stage()
		if err != nil {
			return nil, err
		}

		if s.X != nil && len(l.Stages) > 0 {
			return nil, p.refuseAt(begin, "ExpressionsMustBeFirstInPipeline",
				"Expressions are only allowed as the first element of a pipeline.")
		}

		l.Stages = append(l.Stages, s)
		p.blanks()
		switch {
		case p.has("||"), p.has("&&"):
			return nil, p.refuse("InvalidEndOfLine",
				"The token '%s' is not a valid statement separator in this version.", p.token())
		case p.take("|"):
			p.space()
		default:
			return l, nil
		}
	}
}

func (p *parser) stage() (Stage, error) {
	begin := p.at
	s := Stage{At: p.part(begin)}
	done, err := p.deeper()
	if err != nil {
		return s, err
	}
	defer done()

	named := begin
	switch r := p.peek(); {
	case r == '&', r == '.' && strings.ContainsRune(" \t{\"'$(@", p.peekAt(1)):
		s.Here = r == '.'
		p.sources = p.sources || s.Here
		p.at++
		p.blanks()
		named = p.at
		s.Name, err = p.argumentValue()

	case r == '.' && unicode.IsDigit(p.peekAt(1)),
		(strings.ContainsRune("$\"'(@[{!+,-", r) || unicode.IsDigit(r)) && !p.digitsOfName():
		if s.X, err = p.expression(); err != nil {
			return s, err
		}
		s.At = p.part(begin)
		return s, p.redirections(&s)

	default:
		s.Word = p.bare()
		if r := p.peek(); s.Word == "" || r == '"' || r == '\'' {
			return s, p.unexpected()
		}
		p.sources = p.sources || slices.Contains([]string{"import-module", "ipmo"}, strings.ToLower(s.Word))
		s.Name, err = p.expandable(s.Word, begin)
	}

	if err != nil {
		return s, err
	}

	s.NameAt = p.part(named)
	err = p.arguments(&s)
	s.At = p.part(begin)
	return s, err
}

// digitsOfName reports whether a command begins here whose name begins with digits, 7z.
func (p *parser) digitsOfName() bool {
	begin := p.at
	word := p.word()
	number := p.signsExponent(begin)
	p.at = begin
	if word == "" || number || !unicode.IsDigit([]rune(word)[0]) {
		return false
	}
	return !object.WrittenNumber.MatchString(word) && !numberWithType.MatchString(word)
}

// verbatim reads what follows --% up to the end of the line or a pipe: it is passed as it is written, but for %NAME%
// (about_Parsing, the stop-parsing token).
func (p *parser) verbatim() Argument {
	begin := p.at
	for r := p.peek(); r != 0 && !strings.ContainsRune("|\r\n", r); r = p.peek() {
		p.at++
	}
	return Argument{X: &Literal{strings.TrimSpace(string(p.src[begin:p.at]))}, Verbatim: true}
}

// expandable makes a bare word with variables in it an expression.
func (p *parser) expandable(word string, begin int) (Expr, error) {
	if !strings.ContainsAny(word, "$`") {
		return &Literal{word}, nil
	}
	return p.inner(word, begin)
}

// arguments reads what follows a command's name.
func (p *parser) arguments(s *Stage) error {
	for {
		p.blanks()
		switch r := p.peek(); {
		case r == 0 || strings.ContainsRune(";\r\n|)}", r):
			return nil
		case r == '&':
			return p.refuse("AmpersandNotAllowed", "The ampersand (&) character is not allowed. The & operator is reserved "+
				"for future use; wrap an ampersand in double quotation marks (\"&\") to pass it as part of a string.")

		case p.redirects():
			if err := p.redirections(s); err != nil {
				return err
			}
			continue
		case p.take("--%"):
			s.Args = append(s.Args, p.verbatim())
			continue

		case r == '<':
			return p.refuse("RedirectionNotSupported", "The '%s' operator is reserved for future use.", p.token())
		}

		begin := p.at
		if err := p.argument(s); err != nil {
			return err
		}
		s.Args[len(s.Args)-1].At = p.part(begin)
	}
}

// argument reads a parameter, @name or a value.
func (p *parser) argument(s *Stage) error {
	switch r := p.peek(); {
	case r == '-' && unicode.IsLetter(p.peekAt(1)):
		return p.parameter(s)
	case r == '@' && isName(p.peekAt(1)):
		p.at++
		s.Args = append(s.Args, Argument{X: &Variable{Name: strings.ToLower(p.word())}, Splat: true})
		return nil
	}
	x, err := p.argumentList()
	s.Args = append(s.Args, Argument{X: x})
	return err
}

// parameter reads -Name or -Name:value; a native program gets it as it is written.
func (p *parser) parameter(s *Stage) error {
	begin := p.at
	text := p.bare()
	name, rest, with := strings.Cut(text[1:], ":")
	if r := p.peek(); !with && (r == '"' || r == '\'') { // one word, without the marks
		p.at = begin
		x, err := p.argumentWord()
		s.Args = append(s.Args, Argument{X: x})
		return err
	}

	a := Argument{Param: strings.ToLower(name), Text: text}
	if with {
		a.Text = strings.TrimSuffix(text, rest)
		p.at = begin + len([]rune(text)) - len([]rune(rest))
		x, err := p.argumentList()
		if err != nil {
			return err
		}
		a.X = x
	}

	s.Args = append(s.Args, a)
	return nil
}

// argumentList reads one argument, or several joined by commas.
func (p *parser) argumentList() (Expr, error) {
	return p.joined(p.argumentValue)
}

// argumentValue reads one argument of a command.
func (p *parser) argumentValue() (Expr, error) {
	switch p.peek() {
	case '\'', '"', '(', '{', '@':
		return p.primary()
	case '$':
		begin := p.at
		words := p.words
		p.words = true
		x, err := p.primary()
		p.words = words
		if err != nil {
			return nil, err
		}

		if n := p.peek(); n == 0 || strings.ContainsRune(" \t\r\n;|),}>", n) {
			return x, nil
		}
		p.at = begin // a word that begins with a variable: $env:root\bin
	}

	return p.argumentWord()
}

// numberWithType is a number with the letter that makes it a long or a decimal.
var numberWithType = lazyregexp.New(`(?i)^([+-]?(?:0x[0-9a-f]+|[0-9]+(?:\.[0-9]+)?))([ld])((?:[kmgtp]b)?)$`)

// argumentWord reads a bare word, with the variables and strings in it; $( … ) in it may have blanks.
func (p *parser) argumentWord() (Expr, error) {
	begin := p.at
	t := &Template{}
	var b strings.Builder
	plain := true
	for r := p.peek(); !endsWord(r); r = p.peek() {
		switch {
		case (r == '(' || r == '{') && p.at > begin: // another argument
			return p.wordSoFar(t, &b, plain, begin)
		case p.interpolates():
			t.add(&b)
			x, err := p.variable()
			if err != nil {
				return nil, err
			}
			t.Parts, plain = append(t.Parts, x), false
			continue

		case r == '`':
			b.WriteRune(p.escaped())
			plain = false
			continue

		case r == '"' || r == '\'': // --name="a b" is one word, without the marks
			x, err := p.quoted()
			if err != nil {
				return nil, err
			}
			t.take(x, &b)
			plain = false
			continue
		}

		b.WriteRune(r)
		p.at++
	}

	if p.at == begin {
		return nil, p.unexpected()
	}
	return p.wordSoFar(t, &b, plain, begin)
}

// endsWord reports whether a bare word ends before r; 0 is the end of the script.
func endsWord(r rune) bool { return r == 0 || strings.ContainsRune(" \t\r\n;|)}>,", r) }

// wordSoFar returns a word that has been read: t and b if it is not plain, or the text from begin.
func (p *parser) wordSoFar(t *Template, b *strings.Builder, plain bool, begin int) (Expr, error) {
	if !plain {
		t.add(b)
		return t.whole(), nil
	}
	return p.plainWord(string(p.src[begin:p.at]))
}

// plainWord returns a word without variables: a number or text.
func (p *parser) plainWord(word string) (Expr, error) {
	if v, ok := object.ParseNumber(numberWithType.ReplaceAllString(word, "$1$3")); ok {
		return &Literal{object.Number{V: v, Text: word}}, nil
	}
	return &Literal{word}, nil
}
