package object

import (
	"cmp"
	"slices"
	"strings"

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

// Items returns the items of an array or a list.
func Items(v Value) []Value {
	switch v := v.(type) {
	case []Value:
		return v
	case *ArrayList:
		return v.Items
	}
	return slices.Collect(Each(v))
}

// lookups returns the methods that arrays and lists share.
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

// ArrayClass returns the class System.Object[].
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
			{Name: "GetLength", Least: 1, Most: 1, Do: func(c *Call) (Value, error) { return int64(len(Items(c.On))), nil }},
			{Name: "GetUpperBound", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
				return int64(len(Items(c.On)) - 1), nil
			}},
			{Name: "GetLowerBound", Least: 1, Most: 1, Do: func(*Call) (Value, error) { return int64(0), nil }},
			{Name: "CopyTo", Least: 2, Most: 2, Do: func(c *Call) (Value, error) {
				to, ok := c.Arg(0).([]Value)
				n, err := c.Whole(1)
				if err != nil || !ok || n < 0 || n+int64(len(Items(c.On))) > int64(len(to)) {
					return nil, Raise(ArgumentException, "Destination array was not long enough. Check destIndex and length, and the "+
						"array's lower bounds.")
				}
				copy(to[n:], Items(c.On))
				return nil, nil
			}},
			never("Add", 1), never("Remove", 1), never("Clear", 0),
		}),
		Calls: []Method{
			{Name: "Sort", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
				slices.SortStableFunc(Items(c.Arg(0)), byNature)
				return nil, nil
			}},
			{Name: "Copy", Least: 3, Most: 5, Do: copyItems},
			{Name: "Resize", Least: 2, Most: 2, Do: func(c *Call) (Value, error) {
				to := Own[*Reference](c.Arg(0))
				n, err := c.Whole(1)
				if to == nil || err != nil || n < 0 || n > MostItems {
					return nil, NotReferred(1)
				}
				items := make([]Value, n)
				copy(items, Items(to.Get()))
				return nil, to.Set(items)
			}},
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

// byNature orders values: numbers by their size, all else by its text.
func byNature(a, b Value) int {
	if IsNumber(a) && IsNumber(b) {
		x, _ := Floating(a)
		y, _ := Floating(b)
		return cmp.Compare(x, y)
	}
	if x, ok := a.(DateTime); ok {
		n, _ := x.Order(b)
		return n
	}
	return cmp.Compare(strings.ToLower(Text(a)), strings.ToLower(Text(b)))
}

// IsNumber reports whether a value is a number.
func IsNumber(v Value) bool {
	switch Plain(v).(type) {
	case int64, float64:
		return true
	}
	return false
}

// copyItems carries out Array.Copy(from, to, count) or (from, at, to, at, count).
func copyItems(c *Call) (Value, error) {
	from, to := Items(c.Arg(0)), []Value(nil)
	numbers := []int64{0, 0, 0} // where in each, and how many
	at := []int{-1, -1, 2}
	to, _ = c.Arg(1).([]Value)
	if len(c.Args) == 5 {
		to, _ = c.Arg(2).([]Value)
		at = []int{1, 3, 4}
	}

	for i, arg := range at {
		if arg < 0 {
			continue
		}
		n, err := c.Whole(arg)
		if err != nil {
			return nil, err
		}
		numbers[i] = n
	}

	begin, put := numbers[0], numbers[1]
	count := numbers[2]
	if begin < 0 || put < 0 || count < 0 || begin+count > int64(len(from)) || put+count > int64(len(to)) {
		return nil, Raise(ArgumentException, "Source array was not long enough. Check srcIndex and length, and the array's lower "+
			"bounds.")
	}

	copy(to[put:], from[begin:begin+count])
	return nil, nil
}

// ListClass returns the class System.Collections.ArrayList, or System.Collections.Generic.List of any type.
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

// listChanges returns the methods that change a list.
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
				return nil, Outside("index")
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
				return nil, Outside("index")
			}
			l.Items = slices.Delete(l.Items, int(n), int(n)+1)
			return nil, nil
		}),
		on(0, 0, "Clear", func(l *ArrayList, _ *Call) (Value, error) {
			l.Items = nil
			return nil, nil
		}),
		on(0, 0, "Sort", func(l *ArrayList, _ *Call) (Value, error) {
			slices.SortStableFunc(l.Items, byNature)
			return nil, nil
		}),
		on(2, 2, "RemoveRange", func(l *ArrayList, c *Call) (Value, error) {
			from, err := c.Whole(0)
			count, wrong := c.Whole(1)
			if err != nil || wrong != nil || from < 0 || count < 0 || from+count > int64(len(l.Items)) {
				return nil, Outside("index")
			}
			l.Items = slices.Delete(l.Items, int(from), int(from+count))
			return nil, nil
		}),
		on(2, 2, "GetRange", func(l *ArrayList, c *Call) (Value, error) {
			from, err := c.Whole(0)
			count, wrong := c.Whole(1)
			if err != nil || wrong != nil || from < 0 || count < 0 || from+count > int64(len(l.Items)) {
				return nil, Outside("index")
			}
			return &ArrayList{Items: slices.Clone(l.Items[from : from+count]), Generic: l.Generic}, nil
		}),
		on(0, 0, "Reverse", func(l *ArrayList, _ *Call) (Value, error) {
			slices.Reverse(l.Items)
			return nil, nil
		}),
	}
}

// OrderedClass returns the class OrderedDictionary.
func OrderedClass() *Class {
	c := HashtableClass()
	c.Name, c.Others = "System.Collections.Specialized.OrderedDictionary", nil
	c.Methods = slices.DeleteFunc(c.Methods, func(r Method) bool { // those that only a Hashtable has
		return slices.Contains([]string{"ContainsKey", "ContainsValue", "Clone"}, r.Name)
	})

	c.Methods = append(c.Methods, Method{Name: "Insert", Least: 3, Most: 3, Do: func(c *Call) (Value, error) {
		t := c.On.(*Hashtable)
		n, err := c.Whole(0)
		if err != nil || n < 0 || n > int64(len(t.Keys)) {
			return nil, Outside("index")
		}
		if t.Has(c.Arg(1)) {
			return nil, Raise(ArgumentException, "Item has already been added. Key in dictionary: '"+Text(c.Arg(1))+
				"'  Key being added: '"+Text(c.Arg(1))+"'")
		}

		t.Set(c.Arg(1), c.Arg(2))
		t.Keys = slices.Insert(t.Keys[:len(t.Keys)-1], int(n), c.Arg(1))
		return nil, nil
	}}, Method{Name: "RemoveAt", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
		t := c.On.(*Hashtable)
		n, err := c.Whole(0)
		if err != nil || n < 0 || n >= int64(len(t.Keys)) {
			return nil, Outside("index")
		}
		t.Delete(t.Keys[n])
		return nil, nil
	}})

	c.Make = &Method{Do: func(*Call) (Value, error) {
		return &Hashtable{
			ordered: true,
			Exact:   true,
			values:  map[string]Value{},
		}, nil
	}}

	return c
}
