package powershell

import (
	"slices"
)

// arrayList is a list that grows: ArrayList or List.
type arrayList struct {
	items   []value
	generic bool // a List, whose Add returns nothing
}

// same reports whether two values are equal as .NET sees it.
func same(a, b value) bool { return canonical(a, true) == canonical(b, true) }

func indexOfItem(items []value, v value) int64 {
	return int64(slices.IndexFunc(items, func(item value) bool { return same(item, v) }))
}

// itemsOf are the items of an array or a list.
func itemsOf(v value) []value {
	switch v := v.(type) {
	case []value:
		return v
	case *arrayList:
		return v.items
	}
	return slices.Collect(each(v))
}

// lookups are the methods that arrays and lists share.
func lookups() []routine {
	return []routine{
		{name: "Contains", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return indexOfItem(itemsOf(c.on), c.arg(0)) >= 0, nil
		}},
		{name: "IndexOf", least: 1, most: 1, do: func(c *dotCall) (value, error) {
			return indexOfItem(itemsOf(c.on), c.arg(0)), nil
		}},
		{name: "ToArray", do: func(c *dotCall) (value, error) { return slices.Clone(itemsOf(c.on)), nil }},
		{name: "GetEnumerator", do: func(c *dotCall) (value, error) { return itemsOf(c.on), nil }},
	}
}

// arrayClass is System.Object[].
func arrayClass() *class {
	never := func(name string, most int) routine {
		return routine{name: name, most: most, do: func(*dotCall) (value, error) {
			return nil, raise("System.NotSupportedException", "Collection was of a fixed size.")
		}}
	}
	return &class{
		name:   "System.Array",
		others: []string{"array"},
		methods: slices.Concat(lookups(), []routine{
			{name: "Clone", do: func(c *dotCall) (value, error) { return slices.Clone(itemsOf(c.on)), nil }},
			{name: "GetValue", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				n, err := c.whole(0)
				items := itemsOf(c.on)
				if err != nil || n < 0 || n >= int64(len(items)) {
					return nil, raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
				}
				return items[n], nil
			}},
			{name: "SetValue", least: 2, most: 2, do: func(c *dotCall) (value, error) {
				n, err := c.whole(1)
				items, ok := c.on.([]value)
				if err != nil || !ok || n < 0 || n >= int64(len(items)) {
					return nil, raise("System.IndexOutOfRangeException", "Index was outside the bounds of the array.")
				}
				items[n] = c.arg(0)
				return nil, nil
			}},
			never("Add", 1), never("Remove", 1), never("Clear", 0),
		}),
		calls: []routine{
			{name: "Reverse", least: 1, most: 1, do: func(c *dotCall) (value, error) {
				slices.Reverse(itemsOf(c.arg(0)))
				return nil, nil
			}},
			{name: "IndexOf", least: 2, most: 2, do: func(c *dotCall) (value, error) {
				return indexOfItem(itemsOf(c.arg(0)), c.arg(1)), nil
			}},
		},
	}
}

// listClass is System.Collections.ArrayList, or System.Collections.Generic.List of any type.
func listClass(generic bool) *class {
	name, others := "System.Collections.ArrayList", []string(nil)
	if generic {
		name = "System.Collections.Generic.List`1"
		for _, of := range []string{
			"object", "string", "int", "system.object", "system.string", "system.int32", "psobject", "pscustomobject", "hashtable",
		} {
			others = append(others, "collections.generic.list["+of+"]")
		}
	}
	on := func(least, most int, name string, do func(l *arrayList, c *dotCall) (value, error)) routine {
		return routine{name: name, least: least, most: most, do: func(c *dotCall) (value, error) {
			l, ok := c.on.(*arrayList)
			if !ok {
				return nil, nil
			}
			return do(l, c)
		}}
	}
	count := func(_ *frame, v value) (value, error) { return int64(len(itemsOf(v))), nil }
	return &class{
		name:   name,
		others: others,
		make: &routine{most: 1, do: func(c *dotCall) (value, error) {
			if _, isNumber := c.arg(0).(int64); isNumber || len(c.args) == 0 {
				return &arrayList{generic: generic}, nil
			}
			return &arrayList{items: slices.Collect(each(c.arg(0))), generic: generic}, nil
		}},
		props:   []field{{name: "Count", get: count}, {name: "Length", get: count}},
		methods: slices.Concat(lookups(), listChanges(on)),
	}
}

// listChanges are the methods that change a list.
func listChanges(on func(int, int, string, func(*arrayList, *dotCall) (value, error)) routine) []routine {
	return []routine{
		on(1, 1, "Add", func(l *arrayList, c *dotCall) (value, error) {
			l.items = append(l.items, c.arg(0))
			if l.generic {
				return nil, nil
			}
			return int64(len(l.items) - 1), nil
		}),
		on(1, 1, "AddRange", func(l *arrayList, c *dotCall) (value, error) {
			l.items = append(l.items, slices.Collect(each(c.arg(0)))...)
			return nil, nil
		}),
		on(2, 2, "Insert", func(l *arrayList, c *dotCall) (value, error) {
			n, err := c.whole(0)
			if err != nil || n < 0 || n > int64(len(l.items)) {
				return nil, outside("index")
			}
			l.items = slices.Insert(l.items, int(n), c.arg(1))
			return nil, nil
		}),
		on(1, 1, "Remove", func(l *arrayList, c *dotCall) (value, error) {
			n := indexOfItem(l.items, c.arg(0))
			if n >= 0 {
				l.items = slices.Delete(l.items, int(n), int(n)+1)
			}
			if l.generic {
				return n >= 0, nil
			}
			return nil, nil
		}),
		on(1, 1, "RemoveAt", func(l *arrayList, c *dotCall) (value, error) {
			n, err := c.whole(0)
			if err != nil || n < 0 || n >= int64(len(l.items)) {
				return nil, outside("index")
			}
			l.items = slices.Delete(l.items, int(n), int(n)+1)
			return nil, nil
		}),
		on(0, 0, "Clear", func(l *arrayList, _ *dotCall) (value, error) {
			l.items = nil
			return nil, nil
		}),
		on(0, 0, "Reverse", func(l *arrayList, _ *dotCall) (value, error) {
			slices.Reverse(l.items)
			return nil, nil
		}),
	}
}

// orderedClass is OrderedDictionary.
func orderedClass() *class {
	c := tableClass()
	c.name, c.others = "System.Collections.Specialized.OrderedDictionary", nil
	c.methods = slices.DeleteFunc(c.methods, func(r routine) bool { // those that only a Hashtable has
		return slices.Contains([]string{"ContainsKey", "ContainsValue", "Clone"}, r.name)
	})
	c.make = &routine{do: func(*dotCall) (value, error) {
		return &table{ordered: true, exact: true, values: map[string]value{}}, nil
	}}
	return c
}
