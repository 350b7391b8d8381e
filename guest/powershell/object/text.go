package object

import (
	"hash/fnv"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"mullion.dev/mullion/guest/powershell/session"
)

// StringClass returns the class System.String, with the methods of a text
// (https://learn.microsoft.com/en-us/dotnet/api/system.string).
func StringClass() *Class {
	return &Class{
		Name:    "System.String",
		Others:  []string{"string"},
		Fields:  []Field{{Name: "Empty", Get: func(*session.State, Value) (Value, error) { return "", nil }}},
		Calls:   stringCalls(),
		Methods: slices.Concat(partMethods(), caseMethods(), padMethods(), findMethods()),
		Props: []Field{{
			Name: "Length",
			Get: func(_ *session.State, v Value) (Value, error) {
				return int64(len(Characters(Text(v)))), nil
			},
		}},
		Make: &Method{
			Least: 2,
			Most:  2,
			Do: func(c *Call) (Value, error) {
				n, err := c.Whole(1)
				if n > longestText {
					return nil, TooLarge()
				}
				if err != nil || n < 0 {
					return nil, Raise("System.ArgumentOutOfRangeException",
						"'count' must be non-negative.\nParameter name: count")
				}
				return strings.Repeat(c.Text(0), int(n)), nil
			},
		},
	}
}

// longestText bounds the texts that a script makes by one call.
const longestText = MostText / 4

// stringCalls returns the static methods of strings.
func stringCalls() []Method {
	parts := func(v Value) []string {
		var all []string
		for item := range Each(v) {
			all = append(all, Text(item))
		}
		return all
	}

	return []Method{
		{Name: "IsNullOrEmpty", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return c.Text(0) == "", nil }},
		{
			Name:  "IsNullOrWhiteSpace",
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				return strings.TrimSpace(c.Text(0)) == "", nil
			},
		},
		{
			Name:  "Join",
			Least: 2,
			Most:  32,
			Do: func(c *Call) (Value, error) {
				if len(c.Args) == 2 {
					return strings.Join(parts(c.Arg(1)), c.Text(0)), nil
				}
				return strings.Join(parts(c.Args[1:]), c.Text(0)), nil
			},
		},
		{
			Name:  "Concat",
			Least: 1,
			Most:  32,
			Do: func(c *Call) (Value, error) {
				if len(c.Args) == 1 {
					return strings.Join(parts(c.Arg(0)), ""), nil
				}
				return strings.Join(parts(c.Args), ""), nil
			},
		},
		{
			Name:  "Format",
			Least: 1,
			Most:  32,
			Do: func(c *Call) (Value, error) {
				args := c.Args[1:]
				if list, ok := c.Arg(1).([]Value); ok && len(c.Args) == 2 {
					args = list
				}
				return Composite(c.Text(0), args)
			},
		},
		{Name: "Equals", Least: 2, Most: 2, Do: func(c *Call) (Value, error) { return c.Text(0) == c.Text(1), nil }},
		{
			Name:  "Compare",
			Least: 2,
			Most:  3,
			Do: func(c *Call) (Value, error) {
				if Truth(c.Arg(2)) {
					return int64(strings.Compare(strings.ToLower(c.Text(0)), strings.ToLower(c.Text(1)))), nil
				}
				return nil, Thrown("[string]::Compare with the case of letters, in a culture's order, is not part of " +
					"Mullion's PowerShell.")
			},
		},
	}
}

// onText makes a method of one of a text.
func onText(do func(s string, c *Call) (Value, error)) func(c *Call) (Value, error) {
	return func(c *Call) (Value, error) { return do(Text(c.On), c) }
}

// plainText makes a method that cannot fail of one of a text.
func plainText(do func(s string, c *Call) Value) func(c *Call) (Value, error) {
	return func(c *Call) (Value, error) { return do(Text(c.On), c), nil }
}

// set returns the characters that an argument of Trim or Split names.
func (c *Call) set(n int) string {
	var b strings.Builder
	for item := range Each(c.Arg(n)) {
		b.WriteString(Text(item))
	}
	return b.String()
}

func caseMethods() []Method {
	trim := func(name string, blank func(string, func(rune) bool) string, of func(string, string) string) Method {
		return Method{
			Name: name,
			Most: 8,
			Do: plainText(func(s string, c *Call) Value {
				var set strings.Builder
				for i := range c.Args {
					set.WriteString(c.set(i))
				}
				if set.Len() == 0 {
					return blank(s, unicode.IsSpace)
				}
				return of(s, set.String())
			}),
		}
	}

	to := func(name string, do func(string) string) Method {
		return Method{Name: name, Do: plainText(func(s string, _ *Call) Value { return do(s) })}
	}

	return []Method{
		to("ToLower", strings.ToLower), to("ToUpper", strings.ToUpper), to("ToLowerInvariant", strings.ToLower),
		to("ToUpperInvariant", strings.ToUpper),
		trim("Trim", strings.TrimFunc, strings.Trim),
		trim("TrimStart", strings.TrimLeftFunc, strings.TrimLeft),
		trim("TrimEnd", strings.TrimRightFunc, strings.TrimRight),
	}
}

// ignoresCase reports whether an argument is a StringComparison that ignores the case of letters.
func (c *Call) ignoresCase(n int) (bool, error) {
	switch v := c.Arg(n).(type) {
	case nil:
		return false, nil
	case Enum:
		if v.Of.Name == comparisonName {
			return v.N%2 == 1, nil
		}
	case string:
		for _, name := range EnumOf(comparisonName).Values {
			if strings.EqualFold(name.Name, v) {
				return name.N%2 == 1, nil
			}
		}
	}

	return false, Thrown("A comparison of texts by %q is not part of Mullion's PowerShell.", c.Text(n))
}

const comparisonName = "StringComparison"

// findMethods look for a part of a text.
func findMethods() []Method {
	compared := func(name string, most int, do func(s, part string) Value) Method {
		return Method{
			Name:  name,
			Least: 1,
			Most:  most,
			Do: onText(func(s string, c *Call) (Value, error) {
				part := c.Text(0)
				ignore, err := c.ignoresCase(1)
				if err != nil {
					return nil, err
				}
				if ignore {
					s, part = strings.ToLower(s), strings.ToLower(part)
				}
				return do(s, part), nil
			}),
		}
	}

	return []Method{
		compared("Contains", 1, func(s, part string) Value { return strings.Contains(s, part) }),
		compared("StartsWith", 2, func(s, part string) Value { return strings.HasPrefix(s, part) }),
		compared("EndsWith", 2, func(s, part string) Value { return strings.HasSuffix(s, part) }),
		{
			Name:  "Equals",
			Least: 1,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				other, isText := c.Arg(0).(string)
				ignore, err := c.ignoresCase(1)
				if ignore {
					s, other = strings.ToLower(s), strings.ToLower(other)
				}
				return isText && s == other, err
			}),
		},
		{
			Name:  "CompareTo",
			Least: 1,
			Most:  1,
			Do: plainText(func(s string, c *Call) Value {
				return int64(strings.Compare(strings.ToLower(s), strings.ToLower(c.Text(0))))
			}),
		},
		{
			Name:  "IndexOf",
			Least: 1,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				from, isNumber := c.Arg(1).(int64)
				all, part := Characters(s), Characters(c.Text(0))
				if isNumber {
					if from < 0 || from > int64(len(all)) {
						return nil, Outside("startIndex")
					}
					n := indexUnits(all[from:], part)
					if n >= 0 {
						n += from
					}
					return n, nil
				}

				ignore, err := c.ignoresCase(1)
				if ignore {
					all, part = Characters(strings.ToLower(s)), Characters(strings.ToLower(c.Text(0)))
				}

				return indexUnits(all, part), err
			}),
		},
		{
			Name:  "IndexOfAny",
			Least: 1,
			Most:  1,
			Do: plainText(func(s string, c *Call) Value {
				set := Characters(c.set(0))
				return int64(slices.IndexFunc(Characters(s), func(u uint16) bool { return slices.Contains(set, u) }))
			}),
		},
		{
			Name:  "LastIndexOf",
			Least: 1,
			Most:  1,
			Do: plainText(func(s string, c *Call) Value {
				i := strings.LastIndex(s, c.Text(0))
				if i < 0 {
					return int64(-1)
				}
				return int64(len(Characters(s[:i])))
			}),
		},
	}
}

// indexUnits returns where a part begins, -1 if it is not there.
func indexUnits(all, part []uint16) int64 {
	for i := 0; i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return int64(i)
		}
	}
	return -1
}

// Outside returns the error of an index that a list does not have.
func Outside(parameter string) error {
	return Raise("System.ArgumentOutOfRangeException",
		"Index was out of range. Must be non-negative and less than the "+
			"size of the collection.\nParameter name: "+parameter)
}

func padMethods() []Method {
	pad := func(name string, left bool) Method {
		return Method{
			Name:  name,
			Least: 1,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				n, err := c.Whole(0)
				if n > longestText {
					return nil, TooLarge()
				}
				if err != nil || n < 0 {
					return nil, Raise("System.ArgumentOutOfRangeException",
						"Non-negative number required.\nParameter name: totalWidth")
				}

				with := " "
				if len(c.Args) > 1 {
					with = c.Text(1)
				}

				room := strings.Repeat(with, max(0, int(n)-len(Characters(s))))
				if left {
					return room + s, nil
				}

				return s + room, nil
			}),
		}
	}

	return []Method{pad("PadLeft", true), pad("PadRight", false)}
}

// partMethods cut a text, and put something into it.
func partMethods() []Method {
	// between is the part of a text of which two arguments name beginning and length.
	between := func(s string, c *Call) (before, part, after string, err error) {
		all := Characters(s)
		from, err := c.Whole(0)
		if err != nil {
			return "", "", "", err
		}

		count := int64(len(all)) - from
		if len(c.Args) > 1 {
			if count, err = c.Whole(1); err != nil {
				return "", "", "", err
			}
		}

		switch {
		case from < 0 || from > int64(len(all)):
			return "", "", "", Raise("System.ArgumentOutOfRangeException",
				"startIndex cannot be larger than length of string.\nParameter name: startIndex")
		case count < 0 || count > int64(len(all))-from:
			return "", "", "", Raise("System.ArgumentOutOfRangeException",
				"Index and length must refer to a location within the string.\nParameter name: length")
		}

		of := func(u []uint16) string { return string(utf16.Decode(u)) }
		return of(all[:from]), of(all[from : from+count]), of(all[from+count:]), nil
	}

	return []Method{
		{
			Name:  "Substring",
			Least: 1,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				_, part, _, err := between(s, c)
				return part, err
			}),
		},
		{
			Name:  "Remove",
			Least: 1,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				before, _, after, err := between(s, c)
				return before + after, err
			}),
		},
		{
			Name:  "Insert",
			Least: 2,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				before, after, _, err := between(s, &Call{Args: c.Args[:1]})
				return before + c.Text(1) + after, err
			}),
		},
		{
			Name:  "Replace",
			Least: 2,
			Most:  2,
			Do: onText(func(s string, c *Call) (Value, error) {
				if c.Text(0) == "" {
					return nil, Raise(ArgumentException, "String cannot be of zero length.\nParameter name: oldValue")
				}
				if strings.Count(s, c.Text(0))*len(c.Text(1)) > MostText {
					return nil, TooLarge()
				}
				return strings.ReplaceAll(s, c.Text(0), c.Text(1)), nil
			}),
		},
		{Name: "Chars", Least: 1, Most: 1, Do: onText(func(s string, c *Call) (Value, error) {
			n, err := c.Whole(0)
			all := Characters(s)
			if err != nil || n < 0 || n >= int64(len(all)) {
				return nil, Raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
			}
			return Char(rune(all[n])), nil
		})},
		{Name: "GetHashCode", Do: plainText(func(s string, _ *Call) Value {
			h := fnv.New32a()
			h.Write([]byte(s))
			return int64(int32(h.Sum32()))
		})},
		{Name: "Normalize", Most: 1, Do: plainText(func(s string, _ *Call) Value { return s })},
		{Name: "GetEnumerator", Do: plainText(func(s string, _ *Call) Value {
			out := []Value{}
			for _, r := range s {
				out = append(out, Char(r))
			}
			return out
		})},
		{Name: "Split", Most: 3, Do: splitMethod},
		{
			Name: "ToCharArray",
			Do: plainText(func(s string, _ *Call) Value {
				out := []Value{}
				for _, r := range s {
					out = append(out, Char(r))
				}
				return out
			}),
		},
	}
}

// splitMethod carries out Split: at each of some characters, at most so many parts, perhaps without empty ones.
func splitMethod(c *Call) (Value, error) {
	s, set := Text(c.On), c.set(0)
	isEnd := func(r rune) bool { return strings.ContainsRune(set, r) }
	if set == "" {
		isEnd = unicode.IsSpace
	}

	limit, empty := int64(-1), true
	for _, a := range c.Args[min(1, len(c.Args)):] {
		switch a := a.(type) {
		case Enum:
			empty = a.N == 0
		case string:
			if strings.ToLower(a) != "removeemptyentries" && strings.ToLower(a) != "none" {
				return nil, Thrown("The option %q of Split is not part of Mullion's PowerShell.", a)
			}
			empty = strings.ToLower(a) == "none"
		default:
			var err error
			if limit, err = Integer(a); err != nil {
				return nil, err
			}
		}
	}

	out := []Value{}
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

// CharName is the class Char.
const CharName = "System.Char"

// Char returns a System.Char.
func Char(r rune) Value { return &Instance{CharClass(), r} }

// CharClass returns the class System.Char.
func CharClass() *Class {
	is := func(name string, is func(rune) bool) Method {
		return Method{
			Name:  name,
			Least: 1,
			Most:  1,
			Do: func(c *Call) (Value, error) {
				return strings.IndexFunc(c.Text(0), is) == 0, nil
			},
		}
	}

	return &Class{
		Name:   CharName,
		Others: []string{"char"},
		Text:   func(v any) string { return string(v.(rune)) },
		Same:   func(v any) string { return string(v.(rune)) },
		Calls: []Method{
			is("IsDigit", unicode.IsDigit), is("IsLetter", unicode.IsLetter), is("IsUpper", unicode.IsUpper),
			is("IsLower", unicode.IsLower), is("IsWhiteSpace", unicode.IsSpace),
			is("IsLetterOrDigit", func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }),
		},
	}
}

// Characters returns a text as .NET counts it, in units of UTF-16.
func Characters(s string) []uint16 {
	if IsASCII(s) {
		out := make([]uint16, len(s))
		for i := range len(s) {
			out[i] = uint16(s[i])
		}
		return out
	}
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return utf16.Encode([]rune(s))
}

// IsASCII reports whether a text has characters of ASCII alone.
func IsASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > 0x7f })
}
