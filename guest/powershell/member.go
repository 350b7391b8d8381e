package powershell

import (
	"slices"
)

func (x *member) value(f *frame) (value, error) {
	of, err := x.of.value(f)
	if err != nil {
		return nil, err
	}
	name, err := x.named(f)
	if err != nil {
		return nil, err
	}
	if !x.call {
		if err := f.absent(plain(of), name); err != nil {
			return nil, err
		}
		return property(plain(of), name)
	}
	args, err := values(f, x.args)
	if err != nil {
		return nil, err
	}
	return f.method(plain(of), name, args)
}

// named is the member's name, in lower case.
func (x *member) named(f *frame) (string, error) {
	if x.by == nil {
		return x.name, nil
	}
	v, err := x.by.value(f)
	return lower(text(v)), err
}

// method calls a method of an object, or of a list's items if lists do not have it.
func (f *frame) method(of value, name string, args []value) (value, error) {
	items, several := of.([]value)
	if l, isList := of.(*arrayList); isList {
		items, several = l.items, true
	}
	if !several || find(classOf(of).methods, name) != nil || find(everyClass().methods, name) != nil {
		return f.invoke(of, name, args)
	}
	out := []value{}
	for _, item := range items {
		v, err := f.invoke(item, name, args)
		if err != nil {
			return nil, err
		}
		if v != nil {
			out = append(out, v)
		}
	}
	return one(out), nil
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
	case *table:
		return v.property(name), nil
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
	p, known, err := classProperty(of, name)
	switch {
	case known:
		return p, err
	case counts:
		return int64(1), nil
	}
	if l, ok := of.(*arrayList); ok {
		return itemsProperty(l.items, name)
	}
	return nil, thrown("The property %q of %s is not part of Mullion's PowerShell.", name, typeName(of))
}

func itemsProperty(items []value, name string) (value, error) {
	out := []value{}
	for _, item := range items {
		p, err := property(item, name)
		if err != nil {
			return nil, err
		}
		if p == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, slices.Collect(each(p))...)
	}
	return one(out), nil
}
