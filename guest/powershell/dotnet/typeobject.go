package dotnet

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// typeGiven returns the name of the type that a value is, as [type] or as a text.
func typeGiven(v object.Value) string {
	if o, ok := v.(*object.Object); ok && o.Kind == object.TypeKind {
		return object.Text(o.Props["fullname"])
	}
	return object.Text(v)
}

// enumOfType returns the enumeration that a type is, nil for another.
func enumOfType(c *object.Call, name string) *object.EnumType {
	if t := Defined(c.State).Enum(name); t != nil {
		return t
	}
	return object.EnumOf(name)
}

// typeMethods returns the methods of types as values (https://learn.microsoft.com/en-us/dotnet/api/system.type).
func typeMethods() []object.Method {
	ofEnum := func(name string, item func(t *object.EnumType, v object.EnumName) object.Value) object.Method {
		return object.Method{Name: name, Do: func(c *object.Call) (object.Value, error) {
			t := enumOfType(c, typeGiven(c.On))
			if t == nil {
				said := "Type provided must be an Enum.\nParameter name: enumType"
				return nil, object.Raise(object.ArgumentException, said)
			}
			out := []object.Value{}
			for _, v := range inOrder(t) {
				out = append(out, item(t, v))
			}

			return out, nil
		}}
	}

	names := func(name string, list func(class *object.Class) []string) object.Method {
		return object.Method{Name: name, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			out := []object.Value{}
			class := ClassNamed(typeGiven(c.On))
			if own := Defined(c.State).Class(typeGiven(c.On)); own != nil {
				class = own
			}
			if class == nil {
				return out, nil
			}

			for _, n := range list(class) {
				if len(c.Args) == 1 && strings.EqualFold(n, c.Text(0)) {
					return object.New(object.Custom).Set("Name", n), nil
				}
				out = append(out, object.New(object.Custom).Set("Name", n))
			}

			if len(c.Args) == 1 {
				return nil, nil
			}

			return out, nil
		}}
	}

	return []object.Method{
		ofEnum("GetEnumNames", func(_ *object.EnumType, v object.EnumName) object.Value { return v.Name }),
		ofEnum("GetEnumValues", func(t *object.EnumType, v object.EnumName) object.Value {
			return object.Enum{Of: t, N: v.N}
		}),
		{Name: "IsAssignableFrom", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			return object.DerivesFrom(typeGiven(c.Arg(0)), typeGiven(c.On)), nil
		}},
		{Name: "IsSubclassOf", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			from := typeGiven(c.Arg(0))
			return !strings.EqualFold(from, typeGiven(c.On)) && object.DerivesFrom(typeGiven(c.On), from), nil
		}},
		{Name: "IsInstanceOfType", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
			return Defined(c.State).Is(c.Arg(0), strings.ToLower(strings.TrimPrefix(typeGiven(c.On), "System."))), nil
		}},
		names("GetMethods", func(class *object.Class) []string {
			var all []string
			for _, m := range class.Methods {
				all = append(all, m.Name)
			}
			for _, m := range class.Calls {
				all = append(all, m.Name)
			}
			return all
		}),
		names("GetMethod", func(class *object.Class) []string {
			var all []string
			for _, m := range append(class.Methods, class.Calls...) {
				all = append(all, m.Name)
			}
			return all
		}),
		names("GetProperties", propertiesOf), names("GetProperty", propertiesOf),
		{Name: "ToString", Do: func(c *object.Call) (object.Value, error) { return typeGiven(c.On), nil }},
	}
}

func propertiesOf(class *object.Class) []string {
	var all []string
	for _, p := range class.Props {
		all = append(all, p.Name)
	}
	return all
}

// typeClass returns the class System.Type, of types as values.
func typeClass() *object.Class {
	return &object.Class{Name: "System.RuntimeType", Methods: typeMethods(), Calls: []object.Method{
		static("GetType", 1, 3, func(c *object.Call) (object.Value, error) {
			if o := Defined(c.State).Object(c.Text(0)); o != nil {
				return o, nil
			}
			return nil, nil
		}),
	}, Others: []string{"type"}}
}
