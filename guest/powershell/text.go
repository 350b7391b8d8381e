package powershell

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
)

// stringClass is System.String, with the methods of a text
// (https://learn.microsoft.com/en-us/dotnet/api/system.string).
func stringClass() *class {
	return &class{
		name:    "System.String",
		others:  []string{"string"},
		fields:  []field{{name: "Empty", get: func(*frame, value) (value, error) { return "", nil }}},
		calls:   stringCalls(),
		methods: slices.Concat(partMethods(), caseMethods(), padMethods(), findMethods()),
		props: []field{{name: "Length", get: func(_ *frame, v value) (value, error) {
			return int64(len(characters(text(v)))), nil
		}}},
		make: &routine{least: 2, most: 2, do: func(c *dotCall) (value, error) {
			n, err := c.whole(1)
			if err != nil || n < 0 || n > longestText {
				return nil, raise("System.ArgumentOutOfRangeException", "'count' must be non-negative.\nParameter name: count")
			}
			return strings.Repeat(c.text(0), int(n)), nil
		}},
	}
}

// longestText bounds the texts that a script makes by one call.
const longestText = 1 << 24

// stringCalls are the static methods of strings.
func stringCalls() []routine {
	parts := func(v value) []string {
		var all []string
		for item := range each(v) {
			all = append(all, text(item))
		}
		return all
	}
	return []routine{
		{name: "IsNullOrEmpty", least: 1, most: 1, do: func(c *dotCall) (value, error) { return c.text(0) == "", nil }},
		{name: "IsNullOrWhiteSpace", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return strings.TrimSpace(c.text(0)) == "", nil
		}},
		{name: "Join", least: 2, most: 32, do: func(c *dotCall) (value, error) {
			if len(c.args) == 2 {
				return strings.Join(parts(c.arg(1)), c.text(0)), nil
			}
			return strings.Join(parts(c.args[1:]), c.text(0)), nil
		}},
		{name: "Concat", least: 1, most: 32, do: func(c *dotCall) (value, error) {
			if len(c.args) == 1 {
				return strings.Join(parts(c.arg(0)), ""), nil
			}
			return strings.Join(parts(c.args), ""), nil
		}},
		{name: "Format", least: 1, most: 32, do: func(c *dotCall) (value, error) {
			args := c.args[1:]
			if list, ok := c.arg(1).([]value); ok && len(c.args) == 2 {
				args = list
			}
			return composite(c.text(0), args)
		}},
		{name: "Equals", least: 2, most: 2, do: func(c *dotCall) (value, error) { return c.text(0) == c.text(1), nil }},
		{name: "Compare", least: 2, most: 3, do: func(c *dotCall) (value, error) {
			if truth(c.arg(2)) {
				return int64(strings.Compare(lower(c.text(0)), lower(c.text(1)))), nil
			}
			return nil, thrown("[string]::Compare with the case of letters, in a culture's order, is not part of " +
				"Mullion's PowerShell.")
		}},
	}
}

// onText makes a method of one of a text.
func onText(do func(s string, c *dotCall) (value, error)) func(c *dotCall) (value, error) {
	return func(c *dotCall) (value, error) { return do(text(c.on), c) }
}

// plainText makes a method that cannot fail of one of a text.
func plainText(do func(s string, c *dotCall) value) func(c *dotCall) (value, error) {
	return func(c *dotCall) (value, error) { return do(text(c.on), c), nil }
}

// set are the characters that an argument of Trim or Split names.
func (c *dotCall) set(n int) string {
	var b strings.Builder
	for item := range each(c.arg(n)) {
		b.WriteString(text(item))
	}
	return b.String()
}

func caseMethods() []routine {
	trim := func(name string, blank func(string, func(rune) bool) string, of func(string, string) string) routine {
		return routine{name: name, most: 8, do: plainText(func(s string, c *dotCall) value {
			var set strings.Builder
			for i := range c.args {
				set.WriteString(c.set(i))
			}
			if set.Len() == 0 {
				return blank(s, unicode.IsSpace)
			}
			return of(s, set.String())
		})}
	}
	to := func(name string, do func(string) string) routine {
		return routine{name: name, do: plainText(func(s string, _ *dotCall) value { return do(s) })}
	}
	return []routine{
		to("ToLower", strings.ToLower), to("ToUpper", strings.ToUpper), to("ToLowerInvariant", strings.ToLower),
		to("ToUpperInvariant", strings.ToUpper),
		trim("Trim", strings.TrimFunc, strings.Trim),
		trim("TrimStart", strings.TrimLeftFunc, strings.TrimLeft),
		trim("TrimEnd", strings.TrimRightFunc, strings.TrimRight),
	}
}

// ignoresCase reports whether an argument is a StringComparison that ignores the case of letters.
func (c *dotCall) ignoresCase(n int) (bool, error) {
	switch v := c.arg(n).(type) {
	case nil:
		return false, nil
	case enum:
		if v.of.name == comparisonName {
			return v.n%2 == 1, nil
		}
	case string:
		for _, name := range enumOf(comparisonName).values {
			if strings.EqualFold(name.name, v) {
				return name.n%2 == 1, nil
			}
		}
	}
	return false, thrown("A comparison of texts by %q is not part of Mullion's PowerShell.", c.text(n))
}

const comparisonName = "StringComparison"

// findMethods look for a part of a text.
func findMethods() []routine {
	compared := func(name string, most int, do func(s, part string) value) routine {
		return routine{name: name, least: 1, most: most, do: onText(func(s string, c *dotCall) (value, error) {
			part := c.text(0)
			ignore, err := c.ignoresCase(1)
			if err != nil {
				return nil, err
			}
			if ignore {
				s, part = lower(s), lower(part)
			}
			return do(s, part), nil
		})}
	}
	return []routine{
		compared("Contains", 1, func(s, part string) value { return strings.Contains(s, part) }),
		compared("StartsWith", 2, func(s, part string) value { return strings.HasPrefix(s, part) }),
		compared("EndsWith", 2, func(s, part string) value { return strings.HasSuffix(s, part) }),
		{name: "Equals", least: 1, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			other, isText := c.arg(0).(string)
			ignore, err := c.ignoresCase(1)
			if ignore {
				s, other = lower(s), lower(other)
			}
			return isText && s == other, err
		})},
		{name: "CompareTo", least: 1, most: 1, do: plainText(func(s string, c *dotCall) value {
			return int64(strings.Compare(lower(s), lower(c.text(0))))
		})},
		{name: "IndexOf", least: 1, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			from, isNumber := c.arg(1).(int64)
			all, part := characters(s), characters(c.text(0))
			if isNumber {
				if from < 0 || from > int64(len(all)) {
					return nil, outside("startIndex")
				}
				n := indexUnits(all[from:], part)
				if n >= 0 {
					n += from
				}
				return n, nil
			}
			ignore, err := c.ignoresCase(1)
			if ignore {
				all, part = characters(lower(s)), characters(lower(c.text(0)))
			}
			return indexUnits(all, part), err
		})},
		{name: "IndexOfAny", least: 1, most: 1, do: plainText(func(s string, c *dotCall) value {
			set := characters(c.set(0))
			return int64(slices.IndexFunc(characters(s), func(u uint16) bool { return slices.Contains(set, u) }))
		})},
		{name: "LastIndexOf", least: 1, most: 1, do: plainText(func(s string, c *dotCall) value {
			i := strings.LastIndex(s, c.text(0))
			if i < 0 {
				return int64(-1)
			}
			return int64(len(characters(s[:i])))
		})},
	}
}

// indexUnits is where a part begins, -1 if it is not there.
func indexUnits(all, part []uint16) int64 {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return int64(i)
		}
	}
	return -1
}

func outside(parameter string) error {
	return raise("System.ArgumentOutOfRangeException", "Index was out of range. Must be non-negative and less than the "+
		"size of the collection.\nParameter name: "+parameter)
}

func padMethods() []routine {
	pad := func(name string, left bool) routine {
		return routine{name: name, least: 1, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			n, err := c.whole(0)
			if err != nil || n < 0 || n > longestText {
				return nil, raise("System.ArgumentOutOfRangeException", "Non-negative number required.\nParameter name: totalWidth")
			}
			with := " "
			if len(c.args) > 1 {
				with = c.text(1)
			}
			room := strings.Repeat(with, max(0, int(n)-len(characters(s))))
			if left {
				return room + s, nil
			}
			return s + room, nil
		})}
	}
	return []routine{pad("PadLeft", true), pad("PadRight", false)}
}

// partMethods cut a text, and put something into it.
func partMethods() []routine {
	// between is the part of a text of which two arguments name beginning and length.
	between := func(s string, c *dotCall) (before, part, after string, err error) {
		all := characters(s)
		from, err := c.whole(0)
		if err != nil {
			return "", "", "", err
		}
		count := int64(len(all)) - from
		if len(c.args) > 1 {
			if count, err = c.whole(1); err != nil {
				return "", "", "", err
			}
		}
		switch {
		case from < 0 || from > int64(len(all)):
			return "", "", "", raise("System.ArgumentOutOfRangeException",
				"startIndex cannot be larger than length of string.\nParameter name: startIndex")
		case count < 0 || count > int64(len(all))-from:
			return "", "", "", raise("System.ArgumentOutOfRangeException",
				"Index and length must refer to a location within the string.\nParameter name: length")
		}
		of := func(u []uint16) string { return string(utf16.Decode(u)) }
		return of(all[:from]), of(all[from : from+count]), of(all[from+count:]), nil
	}
	return []routine{
		{name: "Substring", least: 1, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			_, part, _, err := between(s, c)
			return part, err
		})},
		{name: "Remove", least: 1, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			before, _, after, err := between(s, c)
			return before + after, err
		})},
		{name: "Insert", least: 2, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			before, after, _, err := between(s, &dotCall{args: c.args[:1]})
			return before + c.text(1) + after, err
		})},
		{name: "Replace", least: 2, most: 2, do: onText(func(s string, c *dotCall) (value, error) {
			if c.text(0) == "" {
				return nil, raise(argumentException, "String cannot be of zero length.\nParameter name: oldValue")
			}
			return strings.ReplaceAll(s, c.text(0), c.text(1)), nil
		})},
		{name: "Split", most: 3, do: splitMethod},
		{name: "ToCharArray", do: plainText(func(s string, _ *dotCall) value {
			out := []value{}
			for _, r := range s {
				out = append(out, char(r))
			}
			return out
		})},
	}
}

// splitMethod is Split: at each of some characters, at most so many parts, perhaps without empty ones.
func splitMethod(c *dotCall) (value, error) {
	s, set := text(c.on), c.set(0)
	isEnd := func(r rune) bool { return strings.ContainsRune(set, r) }
	if set == "" {
		isEnd = unicode.IsSpace
	}
	limit, empty := int64(-1), true
	for _, a := range c.args[min(1, len(c.args)):] {
		switch a := a.(type) {
		case enum:
			empty = a.n == 0
		case string:
			if lower(a) != "removeemptyentries" && lower(a) != "none" {
				return nil, thrown("The option %q of Split is not part of Mullion's PowerShell.", a)
			}
			empty = lower(a) == "none"
		default:
			var err error
			if limit, err = integer(a); err != nil {
				return nil, err
			}
		}
	}
	out := []value{}
	for limit != 0 {
		i := strings.IndexFunc(s, isEnd)
		if i < 0 || int64(len(out)) == limit-1 {
			if s != "" || empty {
				out = append(out, s)
			}
			break
		}
		if i > 0 || empty {
			out = append(out, s[:i])
		}
		s = s[i+len(string([]rune(s[i:])[:1])):]
	}
	return out, nil
}

const charName = "System.Char"

// char is a System.Char.
func char(r rune) value { return &instance{charClass(), r} }

// charClass is System.Char.
func charClass() *class {
	is := func(name string, is func(rune) bool) routine {
		return routine{name: name, least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return strings.IndexFunc(c.text(0), is) == 0, nil
		}}
	}
	return &class{
		name:   charName,
		others: []string{"char"},
		text:   func(v any) string { return string(v.(rune)) },
		same:   func(v any) string { return string(v.(rune)) },
		calls: []routine{
			is("IsDigit", unicode.IsDigit), is("IsLetter", unicode.IsLetter), is("IsUpper", unicode.IsUpper),
			is("IsLower", unicode.IsLower), is("IsWhiteSpace", unicode.IsSpace),
			is("IsLetterOrDigit", func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }),
		},
	}
}
