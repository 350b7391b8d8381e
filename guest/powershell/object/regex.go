package object

import (
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
)

// Pattern is a regular expression. PowerShell uses .NET's syntax, this package RE2's. Expressions that the two read
// differently are refused, so that the others give .NET's results
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/regular-expression-language-quick-reference).
type Pattern struct {
	Regexp  *regexp.Regexp
	Source  string
	numbers []string // for each group in RE2's order, its name or .NET's number
	byName  map[string]int
}

// Compile reads a regular expression of .NET, for which the case of letters does not matter.
func Compile(v Value) (*Pattern, error) { return CompileAs(v, false) }

// CompileAs reads an expression for which the case of letters matters, or not.
func CompileAs(v Value, exact bool) (*Pattern, error) {
	if _, ok := v.(*ScriptBlock); ok {
		return nil, Thrown("A script block as a pattern is not part of Mullion's PowerShell.")
	}
	source := Text(v)
	if why := dialect(source); why != "" {
		return nil, Thrown("The regular expression %q: %s is not part of Mullion's PowerShell.", source, why)
	}
	re, err := regexp.Compile(map[bool]string{false: "(?i)"}[exact] + source)
	if err != nil {
		return nil, Thrown("The regular expression %q is not valid, or not part of Mullion's PowerShell: %v",
			source, err)
	}
	p := &Pattern{Regexp: re, Source: source, byName: map[string]int{}}
	plain := 0 // .NET numbers groups without a name first
	for i, name := range re.SubexpNames() {
		if name == "" {
			name = strconv.Itoa(plain)
			plain++
		}
		p.numbers = append(p.numbers, name)
		p.byName[name] = i
	}
	for i, name := range re.SubexpNames() {
		if name != "" {
			p.byName[strconv.Itoa(plain)] = i
			plain++
		}
	}
	return p, nil
}

// dialect returns the part of an expression that RE2 and .NET read differently, "" if there is none.
func dialect(source string) string {
	class := false
	runes := append([]rune(source), 0, 0, 0) // so that looking beyond the end is safe
	for i := 0; i < len(runes)-3; i++ {
		switch r := runes[i]; {
		case r == '\\':
			if oddEscape(runes[i+1], runes[i+2]) {
				return string(runes[i : i+2])
			}
			i++
		case class && r == '[' && (runes[i+1] == ':' || runes[i-1] == '-'):
			return "[ in a class"
		case class:
			class = r != ']'
		case r == '[':
			class = true
			if runes[i+1] == '^' {
				i++
			}
			if runes[i+1] == ']' { // a ] at the beginning is literal
				i++
			}
		case r == '(' && runes[i+1] == '?':
			flags, _, _ := strings.Cut(string(runes[i+2:]), ")")
			flags = flags[:len(flags)-len(strings.TrimLeftFunc(flags, isFlag))]
			if strings.ContainsAny(flags, "PU") {
				return "(?" + flags
			}
		}
	}
	return ""
}

func isFlag(r rune) bool { return unicode.IsLetter(r) || r == '-' }

// oddEscape reports whether RE2 and .NET read an escape differently: octal numbers and references to groups, \x{…},
// \pL.
func oddEscape(r, next rune) bool {
	switch r {
	case 'C', 'Q', 'E':
		return true
	case 'x':
		return next == '{'
	case 'p', 'P':
		return next != '{'
	}
	return unicode.IsDigit(r)
}

// fits returns an error for a text in which the pattern would match differently with .NET.
func (p *Pattern) fits(s string) error {
	tree, err := syntax.Parse(p.Source, syntax.Perl)
	if err != nil {
		return Thrown("The regular expression %q: %v", p.Source, err)
	}
	switch {
	case strings.HasSuffix(s, "\n") && uses(tree, func(t *syntax.Regexp) bool {
		return t.Op == syntax.OpEndText && t.Flags&syntax.WasDollar != 0
	}):
		return Thrown("The regular expression %q: a $ before a line end is not part of Mullion's PowerShell.", p.Source)
	case !IsASCII(s+p.Source) && strings.ContainsAny(escapes(p.Source), "dDwWsSbB"):
		return Thrown("The regular expression %q: classes beyond ASCII are not part of Mullion's PowerShell.", p.Source)
	}
	return nil
}

// IsASCII reports whether a text has characters of ASCII alone.
func IsASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// escapes are the characters after a backslash.
func escapes(source string) string {
	var b strings.Builder
	for i := 0; i+1 < len(source); i++ {
		if source[i] == '\\' {
			i++
			b.WriteByte(source[i])
		}
	}
	return b.String()
}

// uses reports whether is holds for any part of an expression.
func uses(t *syntax.Regexp, is func(*syntax.Regexp) bool) bool {
	if is(t) {
		return true
	}
	for _, sub := range t.Sub {
		if uses(sub, is) {
			return true
		}
	}
	return false
}

// empties reports whether an expression can match the empty text.
func empties(t *syntax.Regexp) bool {
	some := func(all bool) bool {
		for _, sub := range t.Sub {
			if empties(sub) != all {
				return !all
			}
		}
		return all
	}
	switch t.Op {
	case syntax.OpLiteral, syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpNoMatch:
		return false
	case syntax.OpAlternate:
		return some(false)
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		return some(true)
	case syntax.OpRepeat:
		return t.Min == 0 || some(true)
	}
	return true
}

// all returns the matches in a text, or an error if RE2 and .NET may find different ones.
func (p *Pattern) all(s string) ([][]int, error) {
	if err := p.fits(s); err != nil {
		return nil, err
	}
	found := p.Regexp.FindAllStringSubmatchIndex(s, -1)
	tree, err := syntax.Parse(p.Source, syntax.Perl)
	if err != nil || !empties(tree) {
		return found, err
	}
	for _, m := range found {
		if m[0] != m[1] {
			return nil, Thrown(
				"The regular expression %q matches something and nothing, which is not part of Mullion's PowerShell.",
				p.Source)
		}
	}
	return found, nil
}

// Matches reports whether a text has a match.
func (p *Pattern) Matches(s string) (bool, error) {
	if err := p.fits(s); err != nil {
		return false, err
	}
	return p.Regexp.MatchString(s), nil
}

// Groups returns $Matches after -match: the whole match as 0, and each group by its number or name.
func (p *Pattern) Groups(s string) *Object {
	o := New(Custom)
	at := p.Regexp.FindStringSubmatchIndex(s)
	for i, name := range p.numbers {
		if 2*i+1 < len(at) && at[2*i] >= 0 {
			o.Put(name, s[at[2*i]:at[2*i+1]])
		}
	}
	return o
}

// replaced returns a text with each match replaced.
func (p *Pattern) replaced(s, with string) (string, error) {
	found, err := p.all(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	end := 0
	for _, m := range found {
		b.WriteString(s[end:m[0]])
		if err := p.expand(&b, with, s, m); err != nil {
			return "", err
		}
		end = m[1]
	}
	return b.String() + s[end:], nil
}

// expand writes the replacement of a match, with .NET's $1, ${1}, ${name}, $& and $$. The name of a missing group stays
// as text.
func (p *Pattern) expand(b *strings.Builder, with, s string, m []int) error {
	for with != "" {
		before, rest, found := strings.Cut(with, "$")
		b.WriteString(before)
		if !found {
			return nil
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		name, after := rest[:digits], rest[digits:]
		if braced, tail, ok := strings.Cut(rest, "}"); ok && strings.HasPrefix(rest, "{") {
			name, after = braced[1:], tail
		}
		switch {
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			with = rest[1:]
		case strings.HasPrefix(rest, "&"):
			b.WriteString(s[m[0]:m[1]])
			with = rest[1:]
		case rest != "" && strings.ContainsRune("`'+_", rune(rest[0])):
			return Thrown("$%c in what -replace puts in is not part of Mullion's PowerShell.", rest[0])
		case digits > 1 && p.byName[name] == 0:
			return Thrown("$%s in what -replace puts in is not part of Mullion's PowerShell.", name)
		default:
			i, ok := p.byName[name]
			if !ok || name == "" {
				b.WriteByte('$')
				with = rest
				continue
			}
			if m[2*i] >= 0 {
				b.WriteString(s[m[2*i]:m[2*i+1]])
			}
			with = after
		}
	}
	return nil
}

// split returns the parts of a text between matches, at most limit parts if it is positive. The texts of groups stand
// between the parts.
func (p *Pattern) split(s string, limit int64) ([]Value, error) {
	found, err := p.all(s)
	if err != nil {
		return nil, err
	}
	out := []Value{}
	end := 0
	for n, m := range found {
		if limit > 0 && int64(n) >= limit-1 {
			break
		}
		out = append(out, s[end:m[0]])
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 {
				out = append(out, s[m[i]:m[i+1]])
			}
		}
		end = m[1]
	}
	return append(out, s[end:]), nil
}

// Replace is -replace; in a list it replaces in each item.
func Replace(a, b Value, exact bool) (Value, error) {
	operands := []Value{b}
	if l, ok := b.([]Value); ok {
		operands = l
	}
	if len(operands) == 0 || len(operands) > 2 {
		return nil, Thrown("The -replace operator allows one or two elements to follow it, not %d.", len(operands))
	}
	with := ""
	if len(operands) == 2 {
		if _, ok := operands[1].(*ScriptBlock); ok {
			return nil, Thrown("A script block as what -replace puts in is not part of Mullion's PowerShell.")
		}
		with = Text(operands[1])
	}
	p, err := CompileAs(operands[0], exact)
	if err != nil {
		return nil, err
	}
	items, several := a.([]Value)
	if !several {
		return p.replaced(Text(a), with)
	}
	out := []Value{}
	for _, item := range items {
		s, err := p.replaced(Text(item), with)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// SplitBy is -split; of a list it splits each item and returns all parts in one list.
func SplitBy(a, b Value, exact bool) (Value, error) {
	operands := []Value{b}
	if l, ok := b.([]Value); ok {
		operands = l
	}
	if len(operands) == 0 || len(operands) > 2 {
		return nil, Thrown("-split with options is not part of Mullion's PowerShell.")
	}
	limit := int64(0)
	if len(operands) == 2 {
		var err error
		if limit, err = Integer(operands[1]); err != nil {
			return nil, err
		}
		if limit < 0 {
			return nil, Thrown("-split with a limit below 0 is not part of Mullion's PowerShell.")
		}
	}
	p, err := CompileAs(operands[0], exact)
	if err != nil {
		return nil, err
	}
	items, several := a.([]Value)
	if !several {
		items = []Value{a}
	}
	out := []Value{}
	for _, item := range items {
		parts, err := p.split(Text(item), limit)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}
	return out, nil
}
