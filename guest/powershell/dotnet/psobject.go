package dotnet

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/session"
)

// Inspected returns what $x.psobject is: the object as PowerShell sees it
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.psobject).
func Inspected(v object.Value) object.Value {
	value := func(get func() object.Value) func(*session.State, object.Value) (object.Value, error) {
		return func(*session.State, object.Value) (object.Value, error) { return get(), nil }
	}

	properties := value(func() object.Value { return &object.Instance{Of: memberSetClass(), V: v} })
	return &object.Instance{V: v, Of: &object.Class{
		Name: "System.Management.Automation.PSMemberSet",
		Props: []object.Field{
			{Name: "Properties", Get: properties},
			{Name: "Members", Get: properties},
			{Name: "Methods", Get: value(func() object.Value { return methodInfos(v) })},
			{Name: "TypeNames", Get: value(func() object.Value { return typeNames(v) })},
			{Name: "BaseObject", Get: value(func() object.Value { return v })},
			{Name: "ImmediateBaseObject", Get: value(func() object.Value { return v })},
		},
		Methods: []object.Method{
			{Name: "Copy", Do: func(*object.Call) (object.Value, error) {
				if o, ok := v.(*object.Object); ok {
					return o.Copy(), nil
				}
				return v, nil
			}},
		},
	}}
}

func methodInfos(v object.Value) object.Value {
	out := []object.Value{}
	if c := object.ClassOf(v); c != nil {
		for _, m := range c.Methods {
			out = append(out, object.New(object.Custom).Set("Name", m.Name).Set("MemberType", "Method"))
		}
	}
	return out
}

// typeNames returns the names of an object's type and of those that it is derived from.
func typeNames(v object.Value) object.Value {
	l := &object.ArrayList{Generic: true, Items: []object.Value{object.TypeName(v)}}
	if c := object.ClassOf(v); c != nil {
		for c = c.Base; c != nil; c = c.Base {
			l.Items = append(l.Items, c.Name)
		}
	}
	l.Items = append(l.Items, "System.Object")
	return l
}

// property is one property of an object.
type property struct {
	of   object.Value
	name string
}

// named returns a property of an object, nil without.
func named(of object.Value, name string) object.Value {
	for _, n := range allProperties(of) {
		if strings.EqualFold(n, name) {
			return &object.Instance{Of: propertyClass(), V: &property{of, n}}
		}
	}
	return nil
}

// allProperties returns the names of an object's properties, those that are not shown among them.
func allProperties(of object.Value) []string {
	names := slices.Clone(object.PropertyNames(of))
	o, ok := of.(*object.Object)
	if !ok || o.Kind == object.Custom {
		return names
	}

	var more []string
	for name := range o.Props {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			more = append(more, name)
		}
	}

	slices.Sort(more)
	return append(names, more...)
}

// propertyClass returns the class PSPropertyInfo.
func propertyClass() *object.Class {
	of := func(get func(p *property) (object.Value, error)) func(*session.State, object.Value) (object.Value, error) {
		return func(_ *session.State, v object.Value) (object.Value, error) { return get(object.Own[*property](v)) }
	}

	value := func(p *property) (object.Value, error) { return object.Property(p.of, strings.ToLower(p.name)) }
	return &object.Class{
		Name: "System.Management.Automation.PSNoteProperty",
		Props: []object.Field{
			{Name: "Value", Get: of(value), Set: func(v, to object.Value) error {
				p := object.Own[*property](v)
				o, ok := p.of.(*object.Object)
				if !ok {
					return object.SetProperty(p.of, p.name, to)
				}
				o.Put(p.name, to)
				return nil
			}},
			{Name: "MemberType", Get: of(func(p *property) (object.Value, error) { return memberKind(p), nil })},
			{Name: "IsSettable", Get: of(func(p *property) (object.Value, error) { return memberKind(p) != "Property", nil })},
			{Name: "IsGettable", Get: of(func(*property) (object.Value, error) { return true, nil })},
			{Name: "TypeNameOfValue", Get: of(func(p *property) (object.Value, error) {
				v, err := value(p)
				return object.TypeName(v), err
			})},
			{Name: "Name", Get: of(func(p *property) (object.Value, error) { return p.name, nil })},
			{Name: "IsInstance", Get: of(func(*property) (object.Value, error) { return true, nil })},
		},
	}
}

// memberKind returns what kind of property it is.
func memberKind(p *property) string {
	o, ok := p.of.(*object.Object)
	if !ok || o.Kind != object.Custom {
		return "Property"
	}
	if c, is := o.Props[strings.ToLower(p.name)].(*object.Computed); is {
		return c.Kind
	}
	return "NoteProperty"
}

// memberSetClass returns the collection of an object's properties.
func memberSetClass() *object.Class {
	all := func(of object.Value) []object.Value {
		out := []object.Value{}
		for _, name := range allProperties(of) {
			out = append(out, named(of, name))
		}
		return out
	}

	onObject := func(do func(o *object.Object, c *object.Call) error) func(c *object.Call) (object.Value, error) {
		return func(c *object.Call) (object.Value, error) {
			o, ok := c.On.(*object.Instance).V.(*object.Object)
			if !ok {
				return nil, object.Thrown("Members of %s cannot be changed.", object.TypeName(c.On.(*object.Instance).V))
			}
			return nil, do(o, c)
		}
	}

	return &object.Class{
		Name: "System.Management.Automation.PSMemberInfoCollection",
		Each: all,
		Item: &object.Indexer{Get: func(of, at object.Value) (object.Value, error) {
			return named(of.(*object.Instance).V, object.Text(at)), nil
		}},
		Methods: []object.Method{
			{Name: "Item", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				return named(c.On.(*object.Instance).V, c.Text(0)), nil
			}},
			{Name: "Match", Least: 1, Most: 1, Do: func(c *object.Call) (object.Value, error) {
				re, err := pattern.Wildcard(c.Text(0))
				out := []object.Value{}
				for _, p := range all(c.On.(*object.Instance).V) {
					if err == nil && re.MatchString(object.Own[*property](p).name) {
						out = append(out, p)
					}
				}
				return out, err
			}},
			{Name: "Remove", Least: 1, Most: 1, Do: onObject(func(o *object.Object, c *object.Call) error {
				o.Remove(c.Text(0))
				return nil
			})},
			{Name: "Add", Least: 1, Most: 2, Do: onObject(func(o *object.Object, c *object.Call) error {
				p := object.Own[*property](c.Arg(0))
				if p == nil {
					return object.CannotConvert(c.Arg(0), "System.Management.Automation.PSMemberInfo")
				}
				v, err := object.Property(p.of, strings.ToLower(p.name))
				o.Put(p.name, v)
				return err
			})},
		},
	}
}

// notePropertyClass makes properties for psobject.Properties.Add.
func notePropertyClass() *object.Class {
	return &object.Class{
		Name:   "System.Management.Automation.PSNoteProperty",
		Others: []string{"psnoteproperty", "management.automation.psvariableproperty"},
		Make: &object.Method{Least: 2, Most: 2, Do: func(c *object.Call) (object.Value, error) {
			of := object.New(object.Custom).Set(c.Text(0), c.Arg(1))
			return named(of, c.Text(0)), nil
		}},
	}
}
