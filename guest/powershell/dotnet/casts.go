package dotnet

import (
	"context"
	"io"
	"math"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/address"
	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
	"mullion.dev/mullion/guest/powershell/xmldoc"
)

// Casts returns the types that a value can be converted to, by [type]: each with its function.
func Casts() map[string]func(v object.Value) (object.Value, error) {
	whole := func(least, most int64, name string) func(v object.Value) (object.Value, error) {
		return func(v object.Value) (object.Value, error) {
			if c, ok := v.(*object.Instance); ok && c.Of.Name == object.CharName {
				v = int64(object.Own[rune](c))
			}
			n, err := object.Integer(v)
			if err == nil && (n < least || n > most) {
				err = object.Unconverted(v, name, object.OutOfRange(name))
			}
			return n, err
		}
	}

	int32s := whole(math.MinInt32, math.MaxInt32, "System.Int32")
	int64s := whole(math.MinInt64, math.MaxInt64, "System.Int64")
	uint32s := whole(0, math.MaxUint32, "System.UInt32")
	of := func(v object.Value, err error) (object.Value, error) { return v, err }
	list := func(item string) func(v object.Value) (object.Value, error) {
		return func(v object.Value) (object.Value, error) {
			out := []object.Value{}
			for one := range object.Each(v) {
				c, err := Converted(item, one)
				if err != nil {
					return nil, err
				}
				out = append(out, c)
			}

			return out, nil
		}
	}

	truthOf := func(v object.Value) (object.Value, error) { return object.Truth(v), nil }
	same := func(v object.Value) (object.Value, error) { return v, nil }
	all := map[string]func(v object.Value) (object.Value, error){
		"string": func(v object.Value) (object.Value, error) { return object.Text(v), nil },
		"bool":   truthOf, "switch": truthOf,
		"double": func(v object.Value) (object.Value, error) { return of(object.Floating(v)) },
		"int":    int32s, "int32": int32s, "long": int64s, "int64": int64s, "uint32": uint32s,
		"byte":   whole(0, math.MaxUint8, "System.Byte"),
		"object": same, "psobject": same, "ref": object.ToReference,
		"void":     func(object.Value) (object.Value, error) { return nil, nil },
		"array":    list("object"),
		"object[]": list("object"), "string[]": list("string"), "int[]": list("int"), "byte[]": list("byte"),
		"hashtable": toTable,
		"datetime":  ToDate,
		"xml":       xmldoc.Converted, "xml.xmldocument": xmldoc.Converted,
		"ipaddress":               object.ToClass(address.AddressName, address.ParseAddress),
		"net.ipaddress":           object.ToClass(address.AddressName, address.ParseAddress),
		"timespan":                object.ToSpan,
		"guid":                    object.ToClass(object.GUIDName, object.ParseGUID),
		"char":                    toChar,
		"scriptblock":             toBlock,
		"version":                 object.ToClass(library.VersionName, library.ParseVersion),
		"collections.idictionary": toTable, "collections.arraylist": toList(false),
		"uri": object.ToClass("System.Uri", func(s string) (object.Value, error) {
			return address.URIClass().Make.Do(&object.Call{Args: []object.Value{s}})
		}),
	}

	for _, k := range numberKinds() {
		for _, name := range k.others {
			if all[name] == nil {
				all[name] = k.cast
			}
		}
	}

	for _, name := range object.ListClass(true).Others {
		all[name] = toList(true)
	}

	return all
}

// KnownCast reports whether a type has a conversion of its own.
func KnownCast(name string) bool {
	_, known := Casts()[plainName(name)]
	return known
}

// Converted returns a value converted to a type of KnownCast.
func Converted(to string, v object.Value) (object.Value, error) {
	do, known := Casts()[plainName(to)]
	if known {
		return do(v)
	}
	return convertedIn(noSession(), to, v)
}

// noSession returns a session for what is converted outside of one.
func noSession() *session.State {
	return &session.State{
		Context: context.Background(), //nolint:forbidigo // nobody waits for a conversion
		Newline: "\n",
		Stdout:  io.Discard,
		Stderr:  io.Discard,
		Env:     map[string]string{},
		System:  system.Windows(),
	}
}

// convertedIn returns a value converted to a type that has no conversion of its own: an enumeration, the type that the
// value has, or a type that a text or a list makes.
func convertedIn(s *session.State, to string, v object.Value) (object.Value, error) {
	if list, ok := strings.CutSuffix(words.TypeName(to), "[]"); ok && KnownType(list) {
		out := []object.Value{}
		for item := range object.Each(v) {
			one, err := Converted(list, item)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}

		return out, nil
	}

	if t := object.EnumOf(to); t != nil {
		e, ok := t.Parsed(object.Plain(v))
		if !ok {
			return nil, object.CannotConvert(v, t.FullName())
		}
		return e, nil
	}

	if object.ExceptionName(to) != "" {
		if IsType(v, words.TypeName(to)) {
			return v, nil
		}
		return object.NewException(object.ExceptionName(to)).Do(&object.Call{State: s, Args: object.Items(v)})
	}

	c := ClassNamed(to)
	switch {
	case c == nil:
		return nil, object.NoType(to)
	case v == nil || object.TypeName(v) == c.Name:
		return v, nil
	case c.Make.Takes(1):
		return c.Make.Do(&object.Call{State: s, Args: []object.Value{v}})
	}

	return nil, object.CannotConvert(v, c.Name)
}

// KnownType reports whether a type is here.
func KnownType(name string) bool {
	if list, ok := strings.CutSuffix(words.TypeName(name), "[]"); ok && list != "" {
		return KnownType(list)
	}
	return KnownCast(name) || ClassNamed(name) != nil || object.EnumOf(name) != nil || object.ExceptionName(name) != ""
}

// toList converts values to lists that grow, and leaves $null and such lists.
func toList(generic bool) func(v object.Value) (object.Value, error) {
	return func(v object.Value) (object.Value, error) {
		if l, ok := v.(*object.ArrayList); (ok && l.Generic == generic) || v == nil {
			return v, nil
		}
		return &object.ArrayList{Items: slices.Collect(object.Each(v)), Generic: generic}, nil
	}
}

func toTable(v object.Value) (object.Value, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case *object.Hashtable:
		return v, nil
	}
	return nil, object.CannotConvert(v, "System.Collections.Hashtable")
}

func toBlock(v object.Value) (object.Value, error) {
	if _, ok := v.(*object.ScriptBlock); !ok {
		return nil, object.CannotConvert(v, "System.Management.Automation.ScriptBlock")
	}
	return v, nil
}

// ToDate converts a value to a time.
func ToDate(v object.Value) (object.Value, error) {
	if _, ok := v.(object.DateTime); ok {
		return v, nil
	}
	if s, ok := v.(string); ok {
		if d, err := object.ParseDate(s); err == nil {
			return d, nil
		}
	}
	return nil, object.CannotConvert(v, "System.DateTime")
}

func toChar(v object.Value) (object.Value, error) {
	switch v := v.(type) {
	case int64:
		if v >= 0 && v <= 0xffff {
			return object.Char(rune(v)), nil
		}
	case string:
		if r := []rune(v); len(r) == 1 {
			return object.Char(r[0]), nil
		}

	case *object.Instance:
		if v.Of.Name == object.CharName {
			return v, nil
		}
	}

	return nil, object.CannotConvert(v, object.CharName)
}

// TypeTests returns the types that -is knows, with the full names of the types of values that are of it.
func TypeTests() map[string][]string {
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
		"valuetype": {
			"System.Int32", "System.Int64", "System.Double", "System.Boolean", "System.DateTime",
			object.GUIDName,
		},
		"guid": {object.GUIDName}, "timespan": {object.SpanName}, "ipaddress": {address.AddressName},
		"net.ipaddress": {address.AddressName},
		"char":          {object.CharName}, "uri": {"System.Uri"}, "version": {library.VersionName},
	}
}

// IsType reports whether a value is of a type, as -is asks.
func IsType(v object.Value, of string) bool {
	if exception := object.ExceptionName(of); exception != "" {
		r := object.Own[*object.ErrorRecord](v)
		return r != nil && v.(*object.Instance).Of.Name != object.RecordClass().Name && r.Is(exception)
	}
	if tests, known := TypeTests()[of]; known {
		return slices.Contains(tests, object.TypeName(v))
	}
	if e, ok := v.(object.Enum); ok {
		return words.TypeName(e.Of.Name) == of
	}

	c := ClassNamed(of)
	return c != nil && c.Name == object.TypeName(v)
}
