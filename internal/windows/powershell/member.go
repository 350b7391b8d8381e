package powershell

import (
	"strings"
	"unicode/utf16"
)

func (x *member) value(f *frame) (value, error) {
	of, err := x.of.value(f)
	if err != nil {
		return nil, err
	}
	if !x.call {
		return property(plain(of), x.name)
	}
	var args []value
	for _, a := range x.args {
		v, err := a.value(f)
		if err != nil {
			return nil, err
		}
		args = append(args, plain(v))
	}
	return method(plain(of), x.name, args)
}

// property returns a property of an object. A custom object returns nil for one that it does not have; other kinds
// return an error.
func (o *object) property(name string) (value, error) {
	p, ok := o.props[name]
	if !ok && (name == "count" || name == "length") {
		return int64(1), nil
	}
	if !ok && o.kind != custom {
		return nil, thrown("The property %q of a %s is not part of Mullion's PowerShell.", name, o.kind)
	}
	return p, nil
}

// property returns an object's property, or for a list the property of each item. For Length and Count a single value
// counts as one, $null as none.
func property(of value, name string) (value, error) {
	counts := name == "length" || name == "count"
	switch v := of.(type) {
	case nil:
		if counts {
			return int64(0), nil
		}
		return nil, nil
	case *object:
		return v.property(name)
	case string:
		if name == "length" {
			return int64(len(utf16.Encode([]rune(v)))), nil
		}
	case enum:
		return v.property(name)
	case span:
		if counts {
			return max(v.to-v.from, v.from-v.to) + 1, nil
		}
	case []value:
		if counts {
			return int64(len(v)), nil
		}
		return itemsProperty(v, name)
	}
	if counts {
		return int64(1), nil
	}
	return nil, thrown("The property %q is not part of Mullion's PowerShell.", name)
}

func itemsProperty(items []value, name string) (value, error) {
	out := []value{}
	for _, item := range items {
		p, err := property(item, name)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return one(out), nil
}

// methods are the methods of strings, with their numbers of arguments.
func methods() map[string]struct {
	args int
	do   func(s string, a []string) value
} {
	type m = struct {
		args int
		do   func(s string, a []string) value
	}
	return map[string]m{
		"tolower":    {0, func(s string, _ []string) value { return strings.ToLower(s) }},
		"toupper":    {0, func(s string, _ []string) value { return strings.ToUpper(s) }},
		"tostring":   {0, func(s string, _ []string) value { return s }},
		"trim":       {0, func(s string, _ []string) value { return strings.TrimSpace(s) }},
		"trimstart":  {1, func(s string, a []string) value { return strings.TrimLeft(s, a[0]) }},
		"trimend":    {1, func(s string, a []string) value { return strings.TrimRight(s, a[0]) }},
		"contains":   {1, func(s string, a []string) value { return strings.Contains(s, a[0]) }},
		"equals":     {1, func(s string, a []string) value { return s == a[0] }},
		"startswith": {1, func(s string, a []string) value { return strings.HasPrefix(s, a[0]) }},
		"endswith":   {1, func(s string, a []string) value { return strings.HasSuffix(s, a[0]) }},
		"replace":    {2, func(s string, a []string) value { return strings.ReplaceAll(s, a[0], a[1]) }},
		"indexof":    {1, func(s string, a []string) value { return indexOf(s, a[0]) }},
		"split": {1, func(s string, a []string) value {
			out := []value{}
			for part := range strings.SplitSeq(s, a[0]) {
				out = append(out, part)
			}
			return out
		}},
	}
}

func indexOf(s, part string) value {
	before, _, found := strings.Cut(s, part)
	if !found {
		return int64(-1)
	}
	return int64(len(utf16.Encode([]rune(before))))
}

func method(of value, name string, args []value) (value, error) {
	_, isText := of.(string)
	switch of.(type) {
	case string, int64, float64, bool, enum, moment:
	default:
		return nil, thrown("The method %q of this object is not part of Mullion's PowerShell.", name)
	}
	m, ok := methods()[name]
	if !ok || m.args != len(args) || (!isText && name != "tostring") {
		return nil, thrown("The method %q with %d arguments is not part of Mullion's PowerShell here.", name, len(args))
	}
	var texts []string
	for _, a := range args {
		s, ok := a.(string)
		if !ok && name == "equals" {
			return false, nil
		}
		if !ok && a != nil {
			s = text(a)
		}
		if s == "" && (name == "replace" || name == "split") && len(texts) == 0 {
			return nil, thrown("The method %q of an empty string is not part of Mullion's PowerShell.", name)
		}
		texts = append(texts, s)
	}
	return m.do(text(of), texts), nil
}
