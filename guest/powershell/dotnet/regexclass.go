package dotnet

import (
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/dlclark/regexp2"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/session"
)

// found is a match, or none, in a text.
type found struct {
	p    *pattern.Pattern
	text string
	m    *regexp2.Match // nil: there is none
}

// regexClass returns the class System.Text.RegularExpressions.Regex
// (https://learn.microsoft.com/en-us/dotnet/api/system.text.regularexpressions.regex).
func regexClass() *object.Class {
	c := &object.Class{
		Name:   "System.Text.RegularExpressions.Regex",
		Others: []string{"regex"},
		Text:   func(v any) string { return v.(*pattern.Pattern).Source },
		Make: &object.Method{Least: 1, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			return newRegex(c.Text(0), c.Arg(1))
		}},
		Calls: []object.Method{
			{Name: "Escape", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				return escaped(c.Text(0)), nil
			}},
			{Name: "Unescape", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				return regexp2.Unescape(c.Text(0))
			}},
		},
		Props: []object.Field{
			{Name: "Options", Get: func(_ *session.State, v object.Value) (object.Value, error) {
				n := object.Own[*pattern.Pattern](v).Options
				return object.Enum{Of: object.EnumOf("Text.RegularExpressions.RegexOptions"), N: n}, nil
			}},
		},
		Methods: []object.Method{
			{Name: "GetGroupNames", Do: func(c *object.Call) (object.Value, error) {
				out := []object.Value{}
				for _, name := range object.Own[*pattern.Pattern](c.On).Regexp.GetGroupNames() {
					out = append(out, name)
				}
				return out, nil
			}},
		},
	}

	for _, one := range regexVerbs() {
		c.Methods = append(c.Methods, object.Method{
			Name: one.name, Least: one.least, Most: one.most,
			Do: func(c *object.Call) (object.Value, error) {
				return one.do(object.Own[*pattern.Pattern](c.On), c, c.Args)
			},
		})
		c.Calls = append(c.Calls, object.Method{
			Name: one.name, Least: one.least + 1, Most: one.least + 2, Do: one.static,
		})
	}

	return c
}

// escaped returns a text as a pattern that matches it. ] and } are no signs of their own.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if i := strings.IndexRune("\t\n\f\r", r); i >= 0 {
			b.WriteString(`\` + "tnfr"[i:i+1])
			continue
		}
		if strings.ContainsRune(`\*+?|{[()^$.# `, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}

	return b.String()
}

// regexVerb is a method of a Regex: of an object with a pattern, or a static one that is given the pattern after the
// text.
type regexVerb struct {
	name        string
	least, most int
	do          func(p *pattern.Pattern, c *object.Call, args []object.Value) (object.Value, error)
}

// static calls the verb with the pattern among the arguments, perhaps with options as the last.
func (v regexVerb) static(c *object.Call) (object.Value, error) {
	var options object.Value
	if len(c.Args) > v.least+1 {
		options = c.Args[v.least+1]
	}
	p, err := newPattern(c.Text(1), options)
	if err != nil {
		return nil, err
	}
	return v.do(p, c, slices.Concat(c.Args[:1], c.Args[2:v.least+1]))
}

func regexVerbs() []regexVerb {
	text := func(args []object.Value) string { return object.Text(args[0]) }
	return []regexVerb{
		{"IsMatch", 1, 1, func(p *pattern.Pattern, _ *object.Call, args []object.Value) (object.Value, error) {
			return p.Matches(text(args))
		}},
		{"Match", 1, 1, func(p *pattern.Pattern, _ *object.Call, args []object.Value) (object.Value, error) {
			m, err := p.First(text(args))
			return MatchOf(p, text(args), m), err
		}},
		{"Matches", 1, 1, func(p *pattern.Pattern, _ *object.Call, args []object.Value) (object.Value, error) {
			all, err := p.All(text(args), -1)
			out := []object.Value{}
			for _, m := range all {
				out = append(out, MatchOf(p, text(args), m))
			}
			return out, err
		}},
		{"Split", 1, 2, func(p *pattern.Pattern, _ *object.Call, args []object.Value) (object.Value, error) {
			limit := int64(0)
			if len(args) > 1 {
				var err error
				if limit, err = object.Integer(args[1]); err != nil {
					return nil, err
				}
			}
			return p.Split(text(args), limit)
		}},
		{"Replace", 2, 3, replaceVerb},
	}
}

// replaceVerb carries out Replace: by a text, or by what a script block says of each match.
func replaceVerb(p *pattern.Pattern, c *object.Call, args []object.Value) (object.Value, error) {
	s := object.Text(args[0])
	most := -1
	if len(args) > 2 {
		n, err := object.Integer(args[2])
		if err != nil {
			return nil, err
		}
		most = int(n)
	}

	block, isBlock := args[1].(*object.ScriptBlock)
	if !isBlock {
		return p.Replaced(s, most, pattern.By(object.Text(args[1]), s))
	}

	return p.Replaced(s, most, func(b *strings.Builder, m *regexp2.Match) error {
		v, err := c.State.Invoke(block, []object.Value{MatchOf(p, s, m)})
		b.WriteString(object.Text(v))
		return err
	})
}

func newPattern(source string, options object.Value) (*pattern.Pattern, error) {
	t := object.EnumOf("Text.RegularExpressions.RegexOptions")
	n := int64(0)
	if options != nil {
		e, ok := t.Parsed(options)
		if !ok {
			return nil, object.CannotConvert(options, t.FullName())
		}
		n = e.N
	}
	return pattern.CompileWith(source, n)
}

func newRegex(source string, options object.Value) (object.Value, error) {
	p, err := newPattern(source, options)
	if err != nil {
		return nil, err
	}
	return &object.Instance{Of: regexClass(), V: p}, nil
}

// MatchOf returns a match as an object, or one without Success for nil
// (https://learn.microsoft.com/en-us/dotnet/api/system.text.regularexpressions.match).
func MatchOf(p *pattern.Pattern, text string, m *regexp2.Match) object.Value {
	return &object.Instance{Of: matchClass(), V: &found{p, text, m}}
}

// units returns how many characters of .NET the first runes of a text are.
func units(runes []rune, n int) int64 {
	count := int64(0)
	for _, r := range runes[:n] {
		count += int64(utf16.RuneLen(r))
	}
	return count
}

// captured is a group's text, in a text.
type captured struct {
	text string
	name string
	g    *regexp2.Group
}

// groupClass returns the class Group; a group that has not matched has no Success.
func groupClass() *object.Class {
	of := func(name string, get func(g captured) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[captured](v)), nil
		}}
	}
	return &object.Class{
		Name:         "System.Text.RegularExpressions.Group",
		Text:         func(v any) string { return v.(captured).value() },
		Props:        captureFields(of),
		ByProperties: true,
	}
}

// captureFields returns the properties that a Group and a Match share.
func captureFields(of func(name string, get func(g captured) object.Value) object.Field) []object.Field {
	return []object.Field{
		of("Success", func(g captured) object.Value { return g.there() }),
		of("Name", func(g captured) object.Value { return g.name }),
		of("Captures", func(g captured) object.Value {
			out := []object.Value{}
			if g.there() {
				for i := range g.g.Captures {
					one := regexp2.Group{
						Capture:  g.g.Captures[i],
						Name:     g.name,
						Captures: g.g.Captures[i : i+1],
					}
					out = append(out, &object.Instance{Of: groupClass(), V: captured{g.text, g.name, &one}})
				}
			}

			return out
		}),
		of("Index", func(g captured) object.Value {
			if !g.there() {
				return int64(0)
			}
			return units([]rune(g.text), g.g.Index)
		}),
		of("Length", func(g captured) object.Value {
			return int64(len(object.Characters(g.value())))
		}),
		of("Value", func(g captured) object.Value { return g.value() }),
	}
}

func (g captured) there() bool { return g.g != nil && len(g.g.Captures) > 0 }

func (g captured) value() string {
	if !g.there() {
		return ""
	}
	return g.g.String()
}

// whole returns the match as a group.
func (f *found) whole() captured {
	if f.m == nil {
		return captured{text: f.text, name: "0"}
	}
	return captured{f.text, "0", &f.m.Group}
}

// groups returns the groups of a match.
func (f *found) groups() *groups {
	g := &groups{of: f}
	if f.m == nil {
		g.all = []captured{f.whole()}
		return g
	}
	all := f.m.Groups()
	for i := range all {
		g.all = append(g.all, captured{f.text, all[i].Name, &all[i]})
	}
	return g
}

// groups is a GroupCollection.
type groups struct {
	of  *found
	all []captured
}

// matchClass returns the class Match.
func matchClass() *object.Class {
	of := func(name string, get func(g captured) object.Value) object.Field {
		return object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[*found](v).whole()), nil
		}}
	}

	return &object.Class{
		Name:         "System.Text.RegularExpressions.Match",
		ByProperties: true,
		Text:         func(v any) string { return v.(*found).whole().value() },
		Props: append([]object.Field{{
			Name: "Groups",
			Get: func(_ *session.State, v object.Value) (object.Value, error) {
				return &object.Instance{Of: groupsClass(), V: object.Own[*found](v).groups()}, nil
			},
		}}, captureFields(of)...),
		Methods: []object.Method{
			{Name: "NextMatch", Do: func(c *object.Call) (object.Value, error) {
				f := object.Own[*found](c.On)
				if f.m == nil {
					return c.On, nil
				}
				next, err := f.p.Regexp.FindNextMatch(f.m)
				return MatchOf(f.p, f.text, next), err
			}},
			{Name: "Result", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				f := object.Own[*found](c.On)
				if f.m == nil {
					return nil, object.Raise("System.NotSupportedException", "Result cannot be called on a failed Match.")
				}
				var b strings.Builder
				err := pattern.By(c.Text(0), f.text)(&b, f.m)
				return b.String(), err
			}},
		},
	}
}

// groupsClass returns the class GroupCollection: the groups by number or name.
func groupsClass() *object.Class {
	one := func(g captured) object.Value { return &object.Instance{Of: groupClass(), V: g} }
	get := func(of, at object.Value) object.Value {
		g := object.Own[*groups](of)
		if n, ok := object.Plain(at).(int64); ok && g.of.m != nil {
			if group := g.of.m.GroupByNumber(int(n)); group != nil {
				return one(captured{g.of.text, group.Name, group})
			}
		}

		for _, c := range g.all {
			if c.name == object.Text(at) {
				return one(c)
			}
		}

		return one(captured{name: object.Text(at)})
	}

	return &object.Class{
		Name: "System.Text.RegularExpressions.GroupCollection",
		Each: func(v any) []object.Value {
			var out []object.Value
			for _, g := range v.(*groups).all {
				out = append(out, one(g))
			}
			return out
		},
		Item: &object.Indexer{Get: func(of, at object.Value) (object.Value, error) { return get(of, at), nil }},
		Props: []object.Field{{Name: "Count", Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return int64(len(object.Own[*groups](v).all)), nil
		}}},
		Methods: []object.Method{
			{Name: "Item", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				return get(c.On, c.Arg(0)), nil
			}},
		},
	}
}
