package dotnet

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// Types are the classes and enumerations that the scripts of a session have defined.
type Types struct {
	classes map[string]*object.Class
	enums   map[string]*object.EnumType
	state   *session.State
}

// Defined returns the types that the scripts of a session have defined.
func Defined(s *session.State) *Types {
	t := session.Keep[Types](s)
	t.state = s
	return t
}

// Class finds a class by its name, nil without.
func (t *Types) Class(name string) *object.Class { return t.classes[words.TypeName(name)] }

// Enum finds an enumeration by its name, nil without.
func (t *Types) Enum(name string) *object.EnumType { return t.enums[words.TypeName(name)] }

// AddClass defines a class, in place of another type of this name.
func (t *Types) AddClass(c *object.Class) {
	t.forget(c.Name)
	if t.classes == nil {
		t.classes = map[string]*object.Class{}
	}
	t.classes[words.TypeName(c.Name)] = c
}

// AddEnum defines an enumeration, in place of another type of this name.
func (t *Types) AddEnum(e *object.EnumType) {
	t.forget(e.Name)
	if t.enums == nil {
		t.enums = map[string]*object.EnumType{}
	}
	t.enums[words.TypeName(e.Name)] = e
}

func (t *Types) forget(name string) {
	delete(t.classes, words.TypeName(name))
	delete(t.enums, words.TypeName(name))
}

// Known reports whether a type is here: one of .NET's, or of the session's scripts.
func (t *Types) Known(name string) bool {
	if list, ok := strings.CutSuffix(words.TypeName(name), "[]"); ok && list != "" {
		return t.Known(list)
	}
	return words.TypeName(name) == "type" || t.Class(name) != nil || t.Enum(name) != nil || KnownType(name)
}

// Converted returns a value converted to a type of the session's scripts, or of .NET.
func (t *Types) Converted(to string, v object.Value) (object.Value, error) {
	if list, ok := strings.CutSuffix(words.TypeName(to), "[]"); ok && !KnownType(to) && t.Known(list) {
		out := []object.Value{}
		for item := range object.Each(v) {
			one, err := t.Converted(list, item)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}

		return out, nil
	}

	if words.TypeName(to) == "type" {
		return t.toType(v)
	}
	if e := t.Enum(to); e != nil {
		return toEnum(e, v)
	}
	if c := t.Class(to); c != nil {
		return c.Convert(v)
	}

	if KnownCast(to) {
		return Converted(to, v)
	}

	return convertedIn(t.state, to, v)
}

// Object returns a type as a value, nil for one that is not here.
func (t *Types) Object(name string) *object.Object {
	if e := t.Enum(name); e != nil {
		return object.TypeObject(e.Name)
	}
	if c := t.Class(name); c != nil {
		return object.TypeObject(c.Name)
	}
	if c := ClassNamed(name); c != nil {
		return object.TypeObject(c.Name)
	}

	if exception := object.ExceptionName(name); exception != "" {
		return object.TypeObject(exception)
	}
	if e := object.EnumOf(name); e != nil {
		return object.TypeObject(e.FullName())
	}
	if !t.Known(name) {
		return nil
	}

	return object.TypeObject("System." + strings.TrimPrefix(name, "System."))
}

// toType returns the type that a text names.
func (t *Types) toType(v object.Value) (object.Value, error) {
	v = object.Plain(v)
	if o, ok := v.(*object.Object); (ok && o.Kind == object.TypeKind) || v == nil {
		return v, nil
	}
	name := strings.TrimSpace(object.Text(v))
	if o := t.Object(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")); o != nil {
		return o, nil
	}
	return nil, object.CannotConvert(v, "System.Type")
}

// toEnum returns a value of an enumeration: of a name, of several parted by commas, of a number, or of a list.
func toEnum(e *object.EnumType, v object.Value) (object.Value, error) {
	if one, ok := e.Parsed(object.Plain(v)); ok {
		return one, nil
	}
	return nil, &object.Exception{
		Class: "System.Management.Automation.PSInvalidCastException", ID: "InvalidCastFromStringToEnumerationWithFlags",
		Message: object.CannotConvert(v, e.FullName()).Error(),
	}
}

// Is reports whether a value is of a type, as -is asks.
func (t *Types) Is(v object.Value, of string) bool {
	if e := t.Enum(of); e != nil {
		is, ok := v.(object.Enum)
		return ok && is.Of == e
	}
	if c := t.Class(of); c != nil {
		return object.ClassOf(v).Descends(c)
	}

	if o, ok := v.(*object.Object); ok {
		if r, ok := o.Own.(*object.ErrorRecord); ok && object.ExceptionName(of) != "" {
			return r.Is(object.ExceptionName(of))
		}
	}

	if of == "type" {
		o, ok := v.(*object.Object)
		return ok && o.Kind == object.TypeKind
	}

	return IsType(v, of)
}

// enumClass returns the class System.Enum: the names and values of enumerations
// (https://learn.microsoft.com/en-us/dotnet/api/system.enum).
func enumClass() *object.Class {
	of := func(name string, args int, do func(t *object.EnumType, c *object.Call) (object.Value, error)) object.Method {
		return object.Method{Name: name, Least: args, Most: args, Do: func(c *object.Call) (object.Value, error) {
			t := enumGiven(c)
			if t == nil {
				return nil, object.Raise(object.ArgumentException,
					"Type provided must be an Enum.\nParameter name: enumType")
			}
			return do(t, c)
		}}
	}

	return &object.Class{
		Name:   "System.Enum",
		Others: []string{"enum"},
		Calls: []object.Method{
			of("GetNames", 1, func(t *object.EnumType, _ *object.Call) (object.Value, error) {
				out := []object.Value{}
				for _, v := range inOrder(t) {
					out = append(out, v.Name)
				}
				return out, nil
			}),
			of("GetValues", 1, func(t *object.EnumType, _ *object.Call) (object.Value, error) {
				out := []object.Value{}
				for _, v := range inOrder(t) {
					out = append(out, object.Enum{Of: t, N: v.N})
				}
				return out, nil
			}),
			of("IsDefined", 2, func(t *object.EnumType, c *object.Call) (object.Value, error) {
				return t.Has(c.Arg(1)), nil
			}),
			of("GetName", 2, func(t *object.EnumType, c *object.Call) (object.Value, error) {
				e, err := toEnum(t, c.Arg(1))
				return object.Text(e), err
			}),
			of("Parse", 2, parseEnum), of("ToObject", 2, func(t *object.EnumType, c *object.Call) (object.Value, error) {
				n, err := c.Whole(1)
				return object.Enum{Of: t, N: n}, err
			}),
		},
	}
}

// inOrder returns the names of an enumeration by their values, as numbers without a sign.
func inOrder(t *object.EnumType) []object.EnumName {
	all := slices.Clone(t.Values)
	slices.SortStableFunc(all, func(a, b object.EnumName) int { return cmp.Compare(uint64(a.N), uint64(b.N)) })
	return all
}

// parseEnum carries out Enum.Parse.
func parseEnum(t *object.EnumType, c *object.Call) (object.Value, error) {
	e, ok := t.Parsed(c.Text(1))
	if !ok {
		return nil, object.Raise(object.ArgumentException, "Requested value '"+c.Text(1)+"' was not found.")
	}
	return e, nil
}

// enumGiven returns the enumeration that the first argument names, nil without.
func enumGiven(c *object.Call) *object.EnumType {
	name := c.Text(0)
	if o, ok := c.Arg(0).(*object.Object); ok && o.Kind == object.TypeKind {
		name = object.Text(o.Props["fullname"])
	}
	if t := Defined(c.State).Enum(name); t != nil {
		return t
	}
	return object.EnumOf(name)
}
