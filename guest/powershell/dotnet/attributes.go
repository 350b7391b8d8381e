package dotnet

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// Attribute is an attribute of a parameter that a script makes while it runs, for a dynamic parameter.
type Attribute struct {
	Name  string // as it is written in a script, in lower case: parameter, validateset
	Args  []object.Value
	Named map[string]object.Value // by their names in lower case
}

// DynamicParameter is a RuntimeDefinedParameter
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.runtimedefinedparameter).
type DynamicParameter struct {
	Name, Type string
	Attributes []object.Value
	Value      object.Value
	Set        bool
}

// attributeNames returns the attributes that a script can make.
func attributeNames() []string {
	return []string{
		"Parameter", "ValidateSet", "ValidateRange", "ValidateLength", "ValidateCount", "ValidatePattern", "ValidateScript",
		"ValidateNotNull", "ValidateNotNullOrEmpty", "Alias", "AllowNull", "AllowEmptyString", "AllowEmptyCollection",
	}
}

// attributeClasses returns the classes of attributes, and of dynamic parameters.
func attributeClasses() []*object.Class {
	all := []*object.Class{dynamicClass(), {
		Name: "System.Management.Automation.RuntimeDefinedParameterDictionary",
		Make: &object.Method{Do: func(*object.Call) (object.Value, error) {
			t := object.NewTable(true)
			t.Generic = true
			return t, nil
		}},
	}}

	for _, name := range attributeNames() {
		all = append(all, attributeClass(name))
	}

	return all
}

// attributeClass returns the class of an attribute; its properties are what a script sets.
func attributeClass(name string) *object.Class {
	return &object.Class{
		Name:   "System.Management.Automation." + name + "Attribute",
		Others: []string{"management.automation." + strings.ToLower(name), strings.ToLower(name)},
		Make: &object.Method{Most: 1 << 10, Do: func(c *object.Call) (object.Value, error) {
			a := &Attribute{Name: strings.ToLower(name), Named: map[string]object.Value{}}
			for _, arg := range c.Args {
				for v := range object.Each(arg) {
					a.Args = append(a.Args, v)
				}
			}
			return &object.Instance{Of: attributeClass(name), V: a}, nil
		}},
		Member: func(of object.Value, name string) (object.Value, bool) {
			v, there := object.Own[*Attribute](of).Named[strings.ToLower(name)]
			return v, there
		},
		SetMember: func(of object.Value, name string, v object.Value) bool {
			object.Own[*Attribute](of).Named[strings.ToLower(name)] = v
			return true
		},
	}
}

// dynamicClass returns the class RuntimeDefinedParameter.
func dynamicClass() *object.Class {
	of := func(
		name string,
		get func(p *DynamicParameter) object.Value, set func(p *DynamicParameter, v object.Value),
	) object.Field {
		f := object.Field{Name: name, Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return get(object.Own[*DynamicParameter](v)), nil
		}}
		if set != nil {
			f.Set = func(of, v object.Value) error {
				set(object.Own[*DynamicParameter](of), v)
				return nil
			}
		}

		return f
	}

	return &object.Class{
		Name: "System.Management.Automation.RuntimeDefinedParameter",
		Make: &object.Method{Least: 3, Most: 3, Do: func(c *object.Call) (object.Value, error) {
			p := &DynamicParameter{Name: c.Text(0), Type: typeGiven(c.Arg(1))}
			for v := range object.Each(c.Arg(2)) {
				p.Attributes = append(p.Attributes, v)
			}
			return &object.Instance{Of: dynamicClass(), V: p}, nil
		}},
		Props: []object.Field{
			of("Name", func(p *DynamicParameter) object.Value { return p.Name }, nil),
			of("Value", func(p *DynamicParameter) object.Value { return p.Value }, func(p *DynamicParameter, v object.Value) {
				p.Value, p.Set = v, true
			}),
			of("IsSet", func(p *DynamicParameter) object.Value { return p.Set }, nil),
			of("Attributes", func(p *DynamicParameter) object.Value { return p.Attributes }, nil),
		},
	}
}
