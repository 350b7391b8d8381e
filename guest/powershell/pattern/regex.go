package pattern

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/dlclark/regexp2/syntax"

	"mullion.dev/mullion/guest/powershell/object"
)

// Pattern is a regular expression of .NET, matched by a translation of .NET's own engine
// (https://learn.microsoft.com/en-us/dotnet/standard/base-types/regular-expression-language-quick-reference).
type Pattern struct {
	Regexp  *regexp2.Regexp
	Source  string
	Options int64 // of RegexOptions
}

// TimeoutException is the exception of a match that takes too long.
const TimeoutException = "System.Text.RegularExpressions.RegexMatchTimeoutException"

// patience is how long one match may take: .NET's engine goes back, which can take as good as for ever.
const patience = 30 * time.Second

// mostPatterns is how many expressions are kept ready.
const mostPatterns = 64

// ready are the expressions that have been read.
//
//nolint:gochecknoglobals // They are the process's, and read once.
var ready = struct {
	sync.Mutex
	patterns map[string]*Pattern
}{patterns: map[string]*Pattern{}}

// Compile reads a regular expression, for which the case of letters does not matter.
func Compile(v object.Value) (*Pattern, error) { return CompileAs(v, false) }

// CompileAs reads an expression for which the case of letters matters, or not.
func CompileAs(v object.Value, exact bool) (*Pattern, error) {
	if p := object.Own[*Pattern](v); p != nil { // it has options of its own
		return p, nil
	}
	options := int64(0)
	if !exact {
		options = int64(regexp2.IgnoreCase)
	}
	return CompileWith(object.Text(v), options)
}

// CompileWith reads an expression with options of RegexOptions.
func CompileWith(source string, options int64) (*Pattern, error) {
	key := strconv.FormatInt(options, 10) + " " + source
	ready.Lock()
	defer ready.Unlock()
	if p, known := ready.patterns[key]; known {
		return p, nil
	}
	re, err := regexp2.Compile(source, regexp2.RegexOptions(options))
	if err != nil {
		return nil, &object.Exception{
			Class: object.ArgumentException, Category: object.OperationStopped, ID: object.ArgumentException,
			Message: fmt.Sprintf("parsing %q - %s", source, whyNot(err)),
		}
	}

	re.MatchTimeout = patience
	p := &Pattern{
		Regexp:  re,
		Source:  source,
		Options: options,
	}

	if len(ready.patterns) >= mostPatterns {
		clear(ready.patterns)
	}
	ready.patterns[key] = p
	return p, nil
}

// whyNot returns why a text is no expression, as .NET says it.
func whyNot(err error) string {
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return err.Error()
	}
	texts := map[syntax.ErrorCode]string{
		syntax.ErrMissingParen:          "Not enough )'s.",
		syntax.ErrUnexpectedParen:       "Too many )'s.",
		syntax.ErrUnterminatedBracket:   "Unterminated [] set.",
		syntax.ErrMissingRepeatArgument: "Quantifier {x,y} following nothing.",
		syntax.ErrInvalidRepeatOp:       "Nested quantifier.",
		syntax.ErrInvalidRepeatSize:     "Illegal {x,y} with x > y.",
		syntax.ErrIllegalEndEscape:      `Illegal \ at end of pattern.`,
		syntax.ErrUnrecognizedGrouping:  "Unrecognized grouping construct.",
	}

	if text, known := texts[e.Code]; known {
		return text
	}
	return object.UpperFirst(fmt.Sprintf(e.Code.String(), e.Args...)) + "."
}

// matching returns the error of a match, nil without.
func matching(err error) error {
	if err == nil {
		return nil
	}
	return object.Raise(TimeoutException,
		"The RegEx engine has timed out while trying to match a pattern to an input string. This can occur "+
			"for many reasons, including very large inputs or excessive backtracking caused by nested quantifiers, "+
			"back-references and other factors.")
}

// Matches reports whether a text has a match.
func (p *Pattern) Matches(s string) (bool, error) {
	yes, err := p.Regexp.MatchString(s)
	return yes, matching(err)
}

// First returns the first match in a text, nil without.
func (p *Pattern) First(s string) (*regexp2.Match, error) {
	m, err := p.Regexp.FindStringMatch(s)
	return m, matching(err)
}

// All returns the matches in a text, at most so many if most is not below 0.
func (p *Pattern) All(s string, most int) ([]*regexp2.Match, error) {
	var all []*regexp2.Match
	m, err := p.Regexp.FindStringMatch(s)
	for err == nil && m != nil && (most < 0 || len(all) < most) {
		all = append(all, m)
		if len(all) > object.MostItems {
			return nil, object.TooLarge()
		}
		m, err = p.Regexp.FindNextMatch(m)
	}

	return all, matching(err)
}

// Groups returns $Matches after -match: the whole match as 0, and each group by its number or name.
func (p *Pattern) Groups(m *regexp2.Match) *object.Hashtable {
	t := object.NewTable(false)
	for _, g := range slices.Backward(m.Groups()) {
		if len(g.Captures) == 0 {
			continue
		}
		if n, err := strconv.ParseInt(g.Name, 10, 64); err == nil {
			t.Set(n, g.String())
		} else {
			t.Set(g.Name, g.String())
		}
	}

	return t
}

// Replaced returns a text with each match replaced, at most so many if most is not below 0. of says by what.
func (p *Pattern) Replaced(s string, most int, of func(b *strings.Builder, m *regexp2.Match) error) (string, error) {
	found, err := p.All(s, most)
	if err != nil || len(found) == 0 {
		return s, err
	}
	runes := []rune(s)
	if p.Regexp.RightToLeft() {
		slices.Reverse(found)
	}

	var b strings.Builder
	end := 0
	for _, m := range found {
		b.WriteString(string(runes[end:m.Index]))
		if err := of(&b, m); err != nil {
			return "", err
		}
		if b.Len() > object.MostText {
			return "", object.TooLarge()
		}
		end = m.Index + m.Length
	}

	return b.String() + string(runes[end:]), nil
}

// By puts in a text with .NET's $1, ${1}, ${name}, $$ and $&, $`, $', $+ and $_. The name of a missing group stays as
// text (https://learn.microsoft.com/en-us/dotnet/standard/base-types/substitutions-in-regular-expressions).
func By(with, s string) func(b *strings.Builder, m *regexp2.Match) error {
	return func(b *strings.Builder, m *regexp2.Match) error {
		for rest := with; rest != ""; {
			before, after, found := strings.Cut(rest, "$")
			b.WriteString(before)
			if !found {
				return nil
			}
			text, n := substituted(after, s, m)
			if n == 0 {
				text = "$"
			}
			b.WriteString(text)
			if b.Len() > object.MostText {
				return object.TooLarge()
			}
			rest = after[n:]
		}
		return nil
	}
}

// substituted returns what stands for the beginning of a text after $, and how long that beginning is: 0 if it is none.
func substituted(after, s string, m *regexp2.Match) (text string, n int) {
	if after == "" {
		return "", 0
	}
	runes := func(from, to int) string { return string([]rune(s)[from:to]) }
	switch after[0] {
	case '$':
		return "$", 1
	case '&':
		return m.String(), 1
	case '`':
		return runes(0, m.Index), 1
	case '\'':
		return runes(m.Index+m.Length, len([]rune(s))), 1
	case '_':
		return s, 1
	case '+':
		last := m.Groups()[m.GroupCount()-1]
		return last.String(), 1
	case '{':
		name, _, closed := strings.Cut(after[1:], "}")
		if g := groupNamed(m, name); closed && g != nil {
			return g.String(), len(name) + 2
		}
		return "", 0
	}

	digits := len(after) - len(strings.TrimLeft(after, "0123456789"))
	if g := groupNamed(m, after[:digits]); g != nil {
		return g.String(), digits
	}
	return "", 0
}

// groupNamed returns a group by its name or number, nil without.
func groupNamed(m *regexp2.Match, name string) *regexp2.Group {
	if n, err := strconv.Atoi(name); err == nil {
		return m.GroupByNumber(n)
	}
	groups := m.Groups()
	i := slices.IndexFunc(groups, func(g regexp2.Group) bool { return g.Name == name })
	if i < 0 {
		return nil
	}
	return &groups[i]
}

// Split returns the parts of a text between matches, at most limit parts if it is positive. The texts of groups stand
// between the parts.
func (p *Pattern) Split(s string, limit int64) ([]object.Value, error) {
	found, err := p.All(s, int(max(limit, 0))-1)
	if err != nil {
		return nil, err
	}
	runes := []rune(s)
	out := []object.Value{}
	end := 0
	for _, m := range found {
		out = append(out, string(runes[end:m.Index]))
		for _, g := range m.Groups()[1:] {
			if len(g.Captures) > 0 {
				out = append(out, g.String())
			}
		}
		end = m.Index + m.Length
	}

	return append(out, string(runes[end:])), nil
}

// Replace carries out -replace; in a list it replaces in each item.
func Replace(a, b object.Value, exact bool) (object.Value, error) {
	operands := []object.Value{b}
	if l, ok := b.([]object.Value); ok {
		operands = l
	}
	if len(operands) == 0 || len(operands) > 2 {
		return nil, object.Thrown("The -replace operator allows one or two elements to follow it, not %d.", len(operands))
	}
	with := ""
	if len(operands) == 2 {
		with = object.Text(operands[1])
	}
	p, err := CompileAs(operands[0], exact)
	if err != nil {
		return nil, err
	}
	one := func(v object.Value) (object.Value, error) { s := object.Text(v); return p.Replaced(s, -1, By(with, s)) }
	items, several := a.([]object.Value)
	if !several {
		return one(a)
	}
	out := []object.Value{}
	for _, item := range items {
		s, err := one(item)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}

	return out, nil
}

// splitOptions returns the options of -split with a text, as they are added
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_split).
func splitOptions() map[string]int64 {
	return map[string]int64{
		"simplematch": -1, "regexmatch": 0, "culturesensitive": 0, "cultureinvariant": 0,
		"ignorecase": int64(regexp2.IgnoreCase), "singleline": int64(regexp2.Singleline),
		"multiline": int64(regexp2.Multiline), "explicitcapture": int64(regexp2.ExplicitCapture),
		"ignorepatternwhitespace": int64(regexp2.IgnorePatternWhitespace),
	}
}

// splitter returns the pattern that the right side of -split names, and the most parts.
func splitter(b object.Value, exact bool) (p *Pattern, limit int64, err error) {
	operands := []object.Value{b}
	if l, ok := b.([]object.Value); ok {
		operands = l
	}
	if len(operands) == 0 || len(operands) > 3 {
		return nil, 0, object.Thrown("The -split operator allows one to three elements to follow it, not %d.", len(operands))
	}

	if len(operands) > 1 {
		if limit, err = object.Integer(operands[1]); err != nil {
			return nil, 0, err
		}
	}

	if len(operands) < 3 {
		p, err = CompileAs(operands[0], exact)
		return p, limit, err
	}

	source, options := object.Text(operands[0]), int64(0)
	if !exact {
		options = int64(regexp2.IgnoreCase)
	}
	for name := range strings.SplitSeq(object.Text(operands[2]), ",") {
		n, known := splitOptions()[strings.ToLower(strings.TrimSpace(name))]
		switch {
		case !known:
			return nil, 0, object.Thrown("Cannot convert value %q to type \"System.Management.Automation.SplitOptions\".", name)
		case n < 0:
			source = regexp2.Escape(source)
		}
		options |= max(n, 0)
	}

	p, err = CompileWith(source, options)
	return p, limit, err
}

// SplitBy carries out -split; of a list it splits each item and returns all parts in one list.
func SplitBy(a, b object.Value, exact bool) (object.Value, error) {
	p, limit, err := splitter(b, exact)
	if err != nil {
		return nil, err
	}
	items, several := a.([]object.Value)
	if !several {
		items = []object.Value{a}
	}
	out := []object.Value{}
	for _, item := range items {
		parts, err := p.Split(object.Text(item), limit)
		if err != nil {
			return nil, err
		}
		out = append(out, parts...)
	}

	return out, nil
}
