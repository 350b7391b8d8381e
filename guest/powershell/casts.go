package powershell

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"
	"time"
)

// casts are the types that a value can be converted to, by [type]: each with its function.
func casts() map[string]func(v value) (value, error) {
	whole := func(least, most int64, name string) func(v value) (value, error) {
		return func(v value) (value, error) {
			if c, ok := v.(*instance); ok && c.of.name == charName {
				v = int64(own[rune](c))
			}
			n, err := integer(v)
			if err == nil && (n < least || n > most) {
				err = thrown("Cannot convert value %q to type %q: it is too large or too small.", text(v), name)
			}
			return n, err
		}
	}
	int32s := whole(math.MinInt32, math.MaxInt32, "System.Int32")
	int64s := whole(math.MinInt64, math.MaxInt64, "System.Int64")
	uint32s := whole(0, math.MaxUint32, "System.UInt32")
	of := func(v value, err error) (value, error) { return v, err }
	list := func(item string) func(v value) (value, error) {
		return func(v value) (value, error) {
			out := []value{}
			for one := range each(v) {
				c, err := converted(item, one)
				if err != nil {
					return nil, err
				}
				out = append(out, c)
			}
			return out, nil
		}
	}
	truthOf := func(v value) (value, error) { return truth(v), nil }
	same := func(v value) (value, error) { return v, nil }
	all := map[string]func(v value) (value, error){
		"string": func(v value) (value, error) { return text(v), nil },
		"bool":   truthOf, "switch": truthOf,
		"double": func(v value) (value, error) { return of(floating(v)) },
		"int":    int32s, "int32": int32s, "long": int64s, "int64": int64s, "uint32": uint32s,
		"byte":   whole(0, math.MaxUint8, "System.Byte"),
		"object": same, "psobject": same,
		"void":     func(value) (value, error) { return nil, nil },
		"array":    list("object"),
		"object[]": list("object"), "string[]": list("string"), "int[]": list("int"), "byte[]": list("byte"),
		"hashtable":               toTable,
		"datetime":                toDate,
		"ipaddress":               toClass(addressName, parseAddress),
		"net.ipaddress":           toClass(addressName, parseAddress),
		"guid":                    toClass(guidName, parseGUID),
		"char":                    toChar,
		"scriptblock":             toBlock,
		"version":                 toClass(versionName, parseVersion),
		"collections.idictionary": toTable, "collections.arraylist": toList(false),
		"uri": toClass("System.Uri", func(s string) (value, error) {
			return uriClass().make.do(&dotCall{args: []value{s}})
		}),
	}
	for _, name := range listClass(true).others {
		all[name] = toList(true)
	}
	return all
}

func knownCast(name string) bool {
	_, known := casts()[full(name)]
	return known
}

// converted returns a value converted to a type of knownCast.
func converted(to string, v value) (value, error) {
	do, known := casts()[full(to)]
	if known {
		return do(v)
	}
	return convertedByName(to, v)
}

// converted is a value converted to a type, which the error of an unknown one names as it is written.
func (f *frame) converted(to, written string, v value) (value, error) {
	if do, known := casts()[to]; known {
		return do(v)
	}
	if !knownType(to) {
		return nil, noType(written)
	}
	return convertedByName(to, v)
}

// convertedByName is a value converted to a type that has no conversion of its own: an enumeration, the type that the
// value has, or a type that a text or a list makes.
func convertedByName(to string, v value) (value, error) {
	if list, ok := strings.CutSuffix(full(to), "[]"); ok && knownType(list) {
		out := []value{}
		for item := range each(v) {
			one, err := converted(list, item)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	if t := enumOf(to); t != nil {
		e, ok := t.parsed(plain(v))
		if !ok {
			return nil, cannotConvert(v, "System."+t.name)
		}
		return e, nil
	}
	if exceptionName(to) != "" {
		if isType(v, full(to)) {
			return v, nil
		}
		return newException(exceptionName(to)).do(&dotCall{args: itemsOf(v)})
	}
	c := classNamed(to)
	switch {
	case c == nil:
		return nil, noType(to)
	case v == nil || typeName(v) == c.name:
		return v, nil
	case c.make.takes(1):
		return c.make.do(&dotCall{args: []value{v}})
	}
	return nil, cannotConvert(v, c.name)
}

// knownType reports whether a type is here.
func knownType(name string) bool {
	if list, ok := strings.CutSuffix(full(name), "[]"); ok && list != "" {
		return knownType(list)
	}
	return knownCast(name) || classNamed(name) != nil || enumOf(name) != nil || exceptionName(name) != ""
}

func cannotConvert(v value, to string) error {
	return thrown("Cannot convert the %q value of type %q to type %q.", text(v), typeName(v), to)
}

// toClass converts texts to objects of a class, and leaves $null and the objects themselves.
func toClass(name string, parse func(s string) (value, error)) func(v value) (value, error) {
	return func(v value) (value, error) {
		if i, ok := v.(*instance); ok && i.of.name == name || v == nil {
			return v, nil
		}
		made, err := parse(text(v))
		if _, ours := errors.AsType[*leaving](err); err != nil && !ours {
			return nil, cannotConvert(v, name)
		}
		return made, err
	}
}

// toList converts values to lists that grow, and leaves $null and such lists.
func toList(generic bool) func(v value) (value, error) {
	return func(v value) (value, error) {
		if l, ok := v.(*arrayList); ok && l.generic == generic || v == nil {
			return v, nil
		}
		return &arrayList{items: slices.Collect(each(v)), generic: generic}, nil
	}
}

func toTable(v value) (value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *table:
		return v, nil
	}
	return nil, cannotConvert(v, "System.Collections.Hashtable")
}

func toBlock(v value) (value, error) {
	if _, ok := v.(*scriptBlock); !ok {
		return nil, cannotConvert(v, "System.Management.Automation.ScriptBlock")
	}
	return v, nil
}

func toDate(v value) (value, error) {
	if _, ok := v.(moment); ok {
		return v, nil
	}
	if s, ok := v.(string); ok {
		if d, err := parseDate(s); err == nil {
			return d, nil
		}
	}
	return nil, cannotConvert(v, "System.DateTime")
}

func toChar(v value) (value, error) {
	switch v := v.(type) {
	case int64:
		if v >= 0 && v <= 0xffff {
			return char(rune(v)), nil
		}
	case string:
		if r := []rune(v); len(r) == 1 {
			return char(r[0]), nil
		}
	case *instance:
		if v.of.name == charName {
			return v, nil
		}
	}
	return nil, cannotConvert(v, charName)
}

// typeX is a value -is [type], or -isnot.
type typeX struct {
	x   expr
	of  string
	not bool

	written string // the type as it is written
}

func (x *typeX) check(c *checker) {
	x.x.check(c)
	if !x.known() {
		c.lack("-is [%s] is %s", x.written, notHereWords)
	}
}

func (x *typeX) known() bool {
	_, known := typeTests()[x.of]
	return known || exceptionName(x.of) != "" || classNamed(x.of) != nil || enumOf(x.of) != nil
}

func (x *typeX) value(f *frame) (value, error) {
	v, err := x.x.value(f)
	if err != nil {
		return nil, err
	}
	if !x.known() {
		return nil, noType(x.written)
	}
	return isType(plain(v), x.of) != x.not, nil
}

// typeTests are the types that -is knows, with the full names of the types of values that are of it.
func typeTests() map[string][]string {
	return map[string][]string{
		"string": {"System.String"}, "bool": {"System.Boolean"}, "switch": {"System.Boolean"},
		"int": {"System.Int32"}, "int32": {"System.Int32"}, "long": {"System.Int64"}, "int64": {"System.Int64"},
		"double": {"System.Double"}, "array": {"System.Object[]"}, "object[]": {"System.Object[]"},
		"hashtable":      {"System.Collections.Hashtable"},
		"datetime":       {"System.DateTime"},
		"scriptblock":    {"System.Management.Automation.ScriptBlock"},
		"pscustomobject": {"System.Management.Automation.PSCustomObject"},
		"collections.idictionary": {
			"System.Collections.Hashtable", "System.Collections.Specialized.OrderedDictionary",
		},
		"valuetype": {"System.Int32", "System.Int64", "System.Double", "System.Boolean", "System.DateTime", guidName},
		"guid":      {guidName}, "timespan": {spanName}, "ipaddress": {addressName}, "net.ipaddress": {addressName},
		"char": {charName}, "uri": {"System.Uri"}, "version": {versionName},
	}
}

func isType(v value, of string) bool {
	if exception := exceptionName(of); exception != "" {
		r := own[*record](v)
		return r != nil && v.(*instance).of.name != recordClass().name && r.is(exception)
	}
	if tests, known := typeTests()[of]; known {
		return slices.Contains(tests, typeName(v))
	}
	if e, ok := v.(enum); ok {
		return full(e.of.name) == of
	}
	c := classNamed(of)
	return c != nil && c.name == typeName(v)
}

// typeTest reads the type after -is or -isnot.
func (p *parser) typeTest(x expr, not bool) (expr, error) {
	name, err := p.typeName()
	if err != nil {
		return nil, err
	}
	return &typeX{x: x, of: full(name), not: not, written: name}, nil
}

// ofObjects does arithmetic with hash tables, lists, times and time spans; done is false for other values.
func ofObjects(op string, a, b value) (v value, done bool, err error) {
	switch x := a.(type) {
	case *table:
		if y, ok := b.(*table); ok && op == "+" {
			v, err = x.plus(y)
			return v, true, err
		}
		return nil, true, thrown("%s of a hash table and %q is not part of Mullion's PowerShell.", op, text(b))
	case *arrayList:
		if op == "+" {
			v, _ := joined(slices.Clone(x.items), b)
			return v, true, nil
		}
	case moment:
		v, err = x.arithmetic(op, b)
		return v, true, err
	case *instance:
		v, err = x.arithmetic(op, b)
		return v, true, err
	}
	return nil, false, nil
}

// arithmetic is a time less another, or a time and a time span.
func (m moment) arithmetic(op string, b value) (value, error) {
	if op == "-" {
		return m.minus(b)
	}
	d, ok := durationOf(b)
	if op != "+" || !ok {
		return nil, thrown("%s of a time and %q is not part of Mullion's PowerShell.", op, text(b))
	}
	return moment{m.at.Add(d)}, nil
}

// arithmetic is the sum or difference of two time spans, or a character and a text.
func (i *instance) arithmetic(op string, b value) (value, error) {
	d, ok := i.v.(time.Duration)
	e, both := durationOf(b)
	s, isText := b.(string)
	switch {
	case ok && both && op == "+":
		return &instance{spanClass(), d + e}, nil
	case ok && both && op == "-":
		return &instance{spanClass(), d - e}, nil
	case isText && op == "+" && i.of.name == charName:
		return text(i) + s, nil
	}
	return nil, thrown("%s of %s and %q is not part of Mullion's PowerShell.", op, typeName(i), text(b))
}

func durationOf(v value) (time.Duration, bool) {
	i, ok := v.(*instance)
	if !ok {
		return 0, false
	}
	d, ok := i.v.(time.Duration)
	return d, ok
}

// orderObjects compares an object with a value; done is false for other values.
func orderObjects(equality bool, a, b value) (n int, done bool, err error) {
	switch x := a.(type) {
	case *table, *arrayList:
		if equality {
			if a == b {
				return 0, true, nil
			}
			return 1, true, nil
		}
	case *instance:
		d, ok := x.v.(time.Duration)
		if e, both := durationOf(b); ok && both {
			return cmp.Compare(d, e), true, nil
		}
		if v, ok := x.v.(version); ok {
			w, err := toClass(versionName, parseVersion)(b)
			return v.compare(own[version](w)), true, err
		}
		if y, ok := b.(*instance); ok && equality {
			if canonical(x, false) == canonical(y, false) {
				return 0, true, nil
			}
			return 1, true, nil
		}
		if equality {
			return strings.Compare(lower(text(a)), lower(text(b))), true, nil
		}
	default:
		return 0, false, nil
	}
	return 0, true, thrown("Comparing %s with %q is not part of Mullion's PowerShell.", typeName(a), text(b))
}
