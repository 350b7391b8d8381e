package object

import (
	"slices"

	"mullion.dev/mullion/guest/powershell/session"
)

// ArrayList is a list that grows: ArrayList or List.
type ArrayList struct {
	Items   []Value
	Generic bool // a List, whose Add returns nothing
}

// same reports whether two values are equal as .NET sees it.
func same(a, b Value) bool { return Canonical(a, true) == Canonical(b, true) }

func indexOfItem(items []Value, v Value) int64 {
	return int64(slices.IndexFunc(items, func(item Value) bool { return same(item, v) }))
}

// Items are the items of an array or a list.
func Items(v Value) []Value {
	switch v := v.(type) {
	case []Value:
		return v
	case *ArrayList:
		return v.Items
	}
	return slices.Collect(Each(v))
}

// lookups are the methods that arrays and lists share.
func lookups() []Method {
	return []Method{
		{Name: "Contains", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
			return indexOfItem(Items(c.On), c.Arg(0)) >= 0, nil
		}},
		{Name: "IndexOf", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
			return indexOfItem(Items(c.On), c.Arg(0)), nil
		}},
		{Name: "ToArray", Do: func(c *Call) (Value, error) { return slices.Clone(Items(c.On)), nil }},
		{Name: "GetEnumerator", Do: func(c *Call) (Value, error) { return Items(c.On), nil }},
	}
}

// ArrayClass is System.Object[].
func ArrayClass() *Class {
	never := func(name string, most int) Method {
		return Method{Name: name, Most: most, Do: func(*Call) (Value, error) {
			return nil, Raise("System.NotSupportedException", "Collection was of a fixed size.")
		}}
	}
	return &Class{
		Name:   "System.Array",
		Others: []string{"array"},
		Methods: slices.Concat(lookups(), []Method{
			{Name: "Clone", Do: func(c *Call) (Value, error) { return slices.Clone(Items(c.On)), nil }},
			{Name: "GetValue", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
				n, err := c.Whole(0)
				items := Items(c.On)
				if err != nil || n < 0 || n >= int64(len(items)) {
					return nil, Raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
				}
				return items[n], nil
			}},
			{Name: "SetValue", Least: 2, Most: 2, Do: func(c *Call) (Value, error) {
				n, err := c.Whole(1)
				items, ok := c.On.([]Value)
				if err != nil || !ok || n < 0 || n >= int64(len(items)) {
					return nil, Raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
				}
				items[n] = c.Arg(0)
				return nil, nil
			}},
			never("Add", 1), never("Remove", 1), never("Clear", 0),
		}),
		Calls: []Method{
			{Name: "Reverse", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
				slices.Reverse(Items(c.Arg(0)))
				return nil, nil
			}},
			{Name: "IndexOf", Least: 2, Most: 2, Do: func(c *Call) (Value, error) {
				return indexOfItem(Items(c.Arg(0)), c.Arg(1)), nil
			}},
		},
	}
}

// ListClass is System.Collections.ArrayList, or System.Collections.Generic.List of any type.
func ListClass(generic bool) *Class {
	name, others := "System.Collections.ArrayList", []string(nil)
	if generic {
		name = "System.Collections.Generic.List`1"
		for _, of := range []string{
			"object", "string", "int", "system.object", "system.string", "system.int32", "psobject", "pscustomobject", "hashtable",
		} {
			others = append(others, "collections.generic.list["+of+"]")
		}
	}
	on := func(least, most int, name string, do func(l *ArrayList, c *Call) (Value, error)) Method {
		return Method{Name: name, Least: least, Most: most, Do: func(c *Call) (Value, error) {
			l, ok := c.On.(*ArrayList)
			if !ok {
				return nil, nil
			}
			return do(l, c)
		}}
	}
	count := func(_ *session.State, v Value) (Value, error) { return int64(len(Items(v))), nil }
	return &Class{
		Name:   name,
		Others: others,
		Make: &Method{Most: 1, Do: func(c *Call) (Value, error) {
			if _, isNumber := c.Arg(0).(int64); isNumber || len(c.Args) == 0 {
				return &ArrayList{Generic: generic}, nil
			}
			return &ArrayList{Items: slices.Collect(Each(c.Arg(0))), Generic: generic}, nil
		}},
		Props:   []Field{{Name: "Count", Get: count}, {Name: "Length", Get: count}},
		Methods: slices.Concat(lookups(), listChanges(on)),
	}
}

// listChanges are the methods that change a list.
func listChanges(on func(int, int, string, func(*ArrayList, *Call) (Value, error)) Method) []Method {
	return []Method{
		on(1, 1, "Add", func(l *ArrayList, c *Call) (Value, error) {
			l.Items = append(l.Items, c.Arg(0))
			if l.Generic {
				return nil, nil
			}
			return int64(len(l.Items) - 1), nil
		}),
		on(1, 1, "AddRange", func(l *ArrayList, c *Call) (Value, error) {
			l.Items = append(l.Items, slices.Collect(Each(c.Arg(0)))...)
			return nil, nil
		}),
		on(2, 2, "Insert", func(l *ArrayList, c *Call) (Value, error) {
			n, err := c.Whole(0)
			if err != nil || n < 0 || n > int64(len(l.Items)) {
				return nil, outside("index")
			}
			l.Items = slices.Insert(l.Items, int(n), c.Arg(1))
			return nil, nil
		}),
		on(1, 1, "Remove", func(l *ArrayList, c *Call) (Value, error) {
			n := indexOfItem(l.Items, c.Arg(0))
			if n >= 0 {
				l.Items = slices.Delete(l.Items, int(n), int(n)+1)
			}
			if l.Generic {
				return n >= 0, nil
			}
			return nil, nil
		}),
		on(1, 1, "RemoveAt", func(l *ArrayList, c *Call) (Value, error) {
			n, err := c.Whole(0)
			if err != nil || n < 0 || n >= int64(len(l.Items)) {
				return nil, outside("index")
			}
			l.Items = slices.Delete(l.Items, int(n), int(n)+1)
			return nil, nil
		}),
		on(0, 0, "Clear", func(l *ArrayList, _ *Call) (Value, error) {
			l.Items = nil
			return nil, nil
		}),
		on(0, 0, "Reverse", func(l *ArrayList, _ *Call) (Value, error) {
			slices.Reverse(l.Items)
			return nil, nil
		}),
	}
}

// OrderedClass is OrderedDictionary.
func OrderedClass() *Class {
	c := HashtableClass()
	c.Name, c.Others = "System.Collections.Specialized.OrderedDictionary", nil
	c.Methods = slices.DeleteFunc(c.Methods, func(r Method) bool { // those that only a Hashtable has
		return slices.Contains([]string{"ContainsKey", "ContainsValue", "Clone"}, r.Name)
	})
	c.Make = &Method{Do: func(*Call) (Value, error) {
		return &Hashtable{ordered: true, Exact: true, values: map[string]Value{}}, nil
	}}
	return c
}
