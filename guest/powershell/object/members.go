package object

import (
	"maps"
	"strings"
)

// Computed is a property that a script has given to one object: a ScriptProperty or an AliasProperty.
type Computed struct {
	Kind string
	Get  func(of Value) (Value, error)
	Set  func(of, v Value) error // nil: it cannot be set
}

// Value returns a property of an object, as it is shown: nil for one that cannot be computed.
func (o *Object) Value(name string) Value {
	v := o.Props[strings.ToLower(name)]
	if c, ok := v.(*Computed); ok {
		got, err := c.Get(o)
		if err != nil {
			return nil
		}
		return got
	}
	return v
}

// AddMethod gives one object a method of its own.
func (o *Object) AddMethod(m Method) {
	before := o.Class
	var class *Class
	o.Class = func() *Class {
		if class == nil {
			class = &Class{Name: "System.Management.Automation.PSCustomObject"}
			if before != nil {
				copied := *before()
				class = &copied
			}
			class.Methods = append([]Method{m}, class.Methods...)
		}
		return class
	}
}

// Remove takes a property away.
func (o *Object) Remove(name string) {
	delete(o.Props, strings.ToLower(name))
	names := []string{}
	for _, n := range o.Names {
		if !strings.EqualFold(n, name) {
			names = append(names, n)
		}
	}
	o.Names = names
}

// Copy returns an object with the same properties.
func (o *Object) Copy() *Object {
	c := *o
	c.Names, c.Props = append([]string(nil), o.Names...), map[string]Value{}
	maps.Copy(c.Props, o.Props)
	return &c
}

// PropertyNames returns the names of a value's properties, in the order in which they are shown.
func PropertyNames(v Value) []string {
	if o, ok := v.(*Object); ok {
		return o.Names
	}

	var names []string
	if c := ClassOf(v); c != nil {
		if c.Names != nil {
			return c.Names(v)
		}
		for _, p := range c.Props {
			names = append(names, p.Name)
		}
	}

	return names
}

// blockClass returns the class ScriptBlock, as far as its objects are concerned.
func blockClass() *Class {
	invoke := func(c *Call) (Value, error) {
		v, err := c.State.Invoke(c.On, c.Args)
		return v, err
	}

	return &Class{
		Name: "System.Management.Automation.ScriptBlock",
		Methods: []Method{
			{Name: "Invoke", Most: 1 << 10, Do: invoke},
			{Name: "InvokeReturnAsIs", Most: 1 << 10, Do: invoke},
			{Name: "GetNewClosure", Do: func(c *Call) (Value, error) { return c.State.Closure(c.On), nil }},
		},
	}
}
