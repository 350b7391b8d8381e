package object

import (
	"slices"
	"strings"
)

// property returns a property of an object. A custom object returns nil for one that it does not have; other kinds
// return an error.
func (o *Object) property(name string) (Value, error) {
	p, ok := o.Props[name]
	if !ok && o.Class != nil {
		if v, known, err := classProperty(o, name); known {
			return v, err
		}
	}

	if !ok && (name == "count" || name == "length") {
		return int64(1), nil
	}
	if !ok && o.Kind != Custom {
		return nil, Thrown("The property %q of a %s is not part of Mullion's PowerShell.", name, o.Kind)
	}
	if c, ok := p.(*Computed); ok {
		return c.Get(o)
	}

	return p, nil
}

// Property returns an object's property, or for a list the property of each item. For Length and Count a single value
// counts as one, $null as none.
func Property(of Value, name string) (Value, error) {
	counts := name == "length" || name == "count"
	switch v := of.(type) {
	case nil:
		if counts {
			return int64(0), nil
		}
		return nil, nil
	case *Object:
		return v.property(name)
	case *Hashtable:
		return v.property(name), nil
	case Enum:
		return v.property(name)
	case Range:
		if counts {
			return max(v.To-v.From, v.From-v.To) + 1, nil
		}
	case []Value:
		if counts {
			return int64(len(v)), nil
		}
		return itemsProperty(v, name)
	}

	p, known, err := classProperty(of, name)
	switch {
	case known:
		return p, err
	case counts:
		return int64(1), nil
	}

	return listProperty(of, name)
}

// listProperty returns the property of each item of a list that is an object itself.
func listProperty(of Value, name string) (Value, error) {
	switch l := of.(type) {
	case *ArrayList:
		return itemsProperty(l.Items, name)
	case *Instance:
		if l.Of.Each != nil {
			return itemsProperty(l.Of.Each(l.V), name)
		}
	}
	return nil, Thrown("The property %q of %s is not part of Mullion's PowerShell.", name, TypeName(of))
}

func itemsProperty(items []Value, name string) (Value, error) {
	out := []Value{}
	for _, item := range items {
		p, err := Property(item, name)
		if err != nil {
			return nil, err
		}
		if p == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, slices.Collect(Each(p))...)
	}

	return One(out), nil
}

// Custom is the kind of objects with any properties, for example from JSON. A property that they do not have is $null.
const Custom = "custom"

// Put sets a property; a new one comes after the others.
func (o *Object) Put(name string, v Value) {
	if _, there := o.Props[strings.ToLower(name)]; !there {
		o.Names = append(o.Names, name)
	}
	o.Props[strings.ToLower(name)] = v
}

// Text returns the object as PowerShell writes it into a string.
func (o *Object) Text() string {
	if o.Shown != nil {
		return o.Shown(o)
	}

	if o.Kind == Custom {
		var parts []string
		for _, name := range o.Names {
			parts = append(parts, name+"="+within(o.Value(name), true))
		}
		return "@{" + strings.Join(parts, "; ") + "}"
	}

	for _, name := range []string{"fullname", "name", "value", "path"} {
		if s, ok := o.Props[name].(string); ok {
			return s
		}
	}

	return o.Kind
}

// Has reports whether the object has a property, by its name in lower case.
func (o *Object) Has(name string) bool {
	_, there := o.Props[name]
	return there
}
