package dotnet

import (
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// generics returns the generic types that are here, by their names without their parameters, which are not checked.
func generics() map[string]string {
	const space = "collections.generic."
	return map[string]string{
		space + "list": "collections.generic.list[object]", space + "ilist": "collections.generic.list[object]",
		space + "ienumerable": "object[]", space + "icollection": "object[]",
		space + "dictionary": dictionaryName, space + "sorteddictionary": dictionaryName, space + "sortedlist": dictionaryName,
		space + "idictionary": dictionaryName, "collections.sortedlist": dictionaryName,
		"collections.concurrent.concurrentdictionary": dictionaryName,
		space + "hashset": setName, space + "sortedset": setName,
		space + "queue": queueName, space + "stack": stackName, "collections.concurrent.concurrentqueue": queueName,
		space + "linkedlist":                           "collections.generic.list[object]",
		"collections.objectmodel.collection":           "collections.generic.list[object]",
		"collections.objectmodel.observablecollection": "collections.generic.list[object]",
	}
}

const (
	dictionaryName = "collections.generic.dictionary"
	setName        = "collections.generic.hashset"
	queueName      = "collections.queue"
	stackName      = "collections.stack"
)

// plainName returns a type's name as classes have it, a generic one without its parameters.
func plainName(name string) string {
	name = words.TypeName(name)
	bare, _, _ := strings.Cut(name, "[")
	bare, _, _ = strings.Cut(bare, "`")
	if other, known := generics()[bare]; known && !strings.HasSuffix(name, "[]") {
		return other
	}
	return name
}

// dictionaryClass returns the class Dictionary and what is like it. Its keys are compared with their letters' case,
// unless a comparer says otherwise.
func dictionaryClass() *object.Class {
	return &object.Class{
		Name:   "System.Collections.Generic.Dictionary`2",
		Others: []string{dictionaryName},
		Make: &object.Method{Most: 2, Do: func(c *object.Call) (object.Value, error) {
			t := object.NewTable(true)
			t.Exact, t.Generic = true, true
			for _, a := range c.Args {
				if from, ok := a.(*object.Hashtable); ok {
					for _, k := range from.Keys {
						t.Set(k, from.Get(k))
					}
				}
				t.Exact = t.Exact && !ignoresCase(a)
			}

			return t, nil
		}},
	}
}

// ignoresCase reports whether a value is a comparer for which the case of letters does not matter.
func ignoresCase(v object.Value) bool {
	e, ok := v.(object.Enum)
	return ok && strings.HasSuffix(e.Text(), "IgnoreCase")
}

// comparerClass returns the class StringComparer; a comparer is a value of StringComparison here.
func comparerClass() *object.Class {
	c := &object.Class{Name: "System.StringComparer", Others: []string{"stringcomparer"}}
	for _, one := range object.EnumOf("StringComparison").Values {
		c.Fields = append(c.Fields, object.Field{
			Name: one.Name,
			Get: func(*session.State, object.Value) (object.Value, error) {
				return object.Enum{Of: object.EnumOf("StringComparison"), N: one.N}, nil
			},
		})
	}
	return c
}

// setClass returns the class HashSet; its objects hold a table with their items as keys.
func setClass() *object.Class {
	on := func(name string, args int, do func(t *object.Hashtable, c *object.Call) object.Value) object.Method {
		return object.Method{Name: name, Least: args, Most: args, Do: func(c *object.Call) (object.Value, error) {
			return do(object.Own[*object.Hashtable](c.On), c), nil
		}}
	}

	each := func(name string, do func(t, other *object.Hashtable) object.Value) object.Method {
		return on(name, 1, func(t *object.Hashtable, c *object.Call) object.Value {
			other := &object.Hashtable{}
			*other = *object.NewTable(true)
			other.Exact = t.Exact
			for v := range object.Each(c.Arg(0)) {
				other.Set(v, true)
			}
			return do(t, other)
		})
	}

	within := func(a, b *object.Hashtable) bool {
		return !slices.ContainsFunc(a.Keys, func(k object.Value) bool { return !b.Has(k) })
	}

	return &object.Class{
		Name:   "System.Collections.Generic.HashSet`1",
		Others: []string{setName},
		Each:   func(v any) []object.Value { return v.(*object.Hashtable).Keys },
		Make: &object.Method{Most: 2, Do: func(c *object.Call) (object.Value, error) {
			t := object.NewTable(true)
			t.Exact = true
			for _, a := range c.Args {
				t.Exact = t.Exact && !ignoresCase(a)
			}

			for _, a := range c.Args {
				if _, comparer := a.(object.Enum); comparer {
					continue
				}
				for v := range object.Each(a) {
					t.Set(v, true)
				}
			}

			return &object.Instance{Of: setClass(), V: t}, nil
		}},
		Props: []object.Field{{Name: "Count", Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return int64(len(object.Own[*object.Hashtable](v).Keys)), nil
		}}},
		Methods: []object.Method{
			on("Add", 1, func(t *object.Hashtable, c *object.Call) object.Value {
				there := t.Has(c.Arg(0))
				t.Set(c.Arg(0), true)
				return !there
			}),
			on("Contains", 1, func(t *object.Hashtable, c *object.Call) object.Value { return t.Has(c.Arg(0)) }),
			on("Remove", 1, func(t *object.Hashtable, c *object.Call) object.Value {
				there := t.Has(c.Arg(0))
				t.Delete(c.Arg(0))
				return there
			}),
			on("Clear", 0, func(t *object.Hashtable, _ *object.Call) object.Value {
				for _, k := range slices.Clone(t.Keys) {
					t.Delete(k)
				}
				return nil
			}),
			on("ToArray", 0, func(t *object.Hashtable, _ *object.Call) object.Value { return slices.Clone(t.Keys) }),
			each("UnionWith", func(t, other *object.Hashtable) object.Value {
				for _, k := range other.Keys {
					t.Set(k, true)
				}
				return nil
			}),
			each("ExceptWith", func(t, other *object.Hashtable) object.Value {
				for _, k := range other.Keys {
					t.Delete(k)
				}
				return nil
			}),
			each("IntersectWith", func(t, other *object.Hashtable) object.Value {
				for _, k := range slices.Clone(t.Keys) {
					if !other.Has(k) {
						t.Delete(k)
					}
				}
				return nil
			}),
			each("IsSubsetOf", func(t, other *object.Hashtable) object.Value { return within(t, other) }),
			each("IsSupersetOf", func(t, other *object.Hashtable) object.Value { return within(other, t) }),
			each("SetEquals", func(t, other *object.Hashtable) object.Value { return within(t, other) && within(other, t) }),
			each("Overlaps", func(t, other *object.Hashtable) object.Value {
				return slices.ContainsFunc(t.Keys, other.Has)
			}),
		},
	}
}

// lineClass returns the class Queue, or Stack; its objects hold a list, a stack's with the newest first.
func lineClass(name, short string, stack bool) *object.Class {
	empty := func() error { return object.Raise("System.InvalidOperationException", short+" empty.") }
	on := func(
		name string, args int, do func(l *object.ArrayList, c *object.Call) (object.Value, error),
	) object.Method {
		return object.Method{Name: name, Least: args, Most: args, Do: func(c *object.Call) (object.Value, error) {
			return do(object.Own[*object.ArrayList](c.On), c)
		}}
	}

	add, take := "Enqueue", "Dequeue"
	if stack {
		add, take = "Push", "Pop"
	}

	self := func() *object.Class { return lineClass(name, short, stack) }
	put := func(l *object.ArrayList, v object.Value) {
		if stack {
			l.Items = slices.Insert(l.Items, 0, v)
		} else {
			l.Items = append(l.Items, v)
		}
	}

	return &object.Class{
		Name:   "System.Collections." + short,
		Others: []string{name},
		Each:   func(v any) []object.Value { return v.(*object.ArrayList).Items },
		Make: &object.Method{Most: 1, Do: func(c *object.Call) (object.Value, error) {
			l := &object.ArrayList{}
			if _, size := c.Arg(0).(int64); !size {
				for v := range object.Each(c.Arg(0)) {
					put(l, v)
				}
			}
			return &object.Instance{Of: self(), V: l}, nil
		}},
		Props: []object.Field{{Name: "Count", Get: func(_ *session.State, v object.Value) (object.Value, error) {
			return int64(len(object.Own[*object.ArrayList](v).Items)), nil
		}}},
		Methods: []object.Method{
			on(add, 1, func(l *object.ArrayList, c *object.Call) (object.Value, error) {
				put(l, c.Arg(0))
				return nil, nil
			}),
			on(take, 0, func(l *object.ArrayList, _ *object.Call) (object.Value, error) {
				if len(l.Items) == 0 {
					return nil, empty()
				}
				v := l.Items[0]
				l.Items = l.Items[1:]
				return v, nil
			}),
			on("Peek", 0, func(l *object.ArrayList, _ *object.Call) (object.Value, error) {
				if len(l.Items) == 0 {
					return nil, empty()
				}
				return l.Items[0], nil
			}),
			on("Contains", 1, func(l *object.ArrayList, c *object.Call) (object.Value, error) {
				return slices.ContainsFunc(l.Items, func(v object.Value) bool {
					return object.Canonical(v, true) == object.Canonical(c.Arg(0), true)
				}), nil
			}),
			on("Clear", 0, func(l *object.ArrayList, _ *object.Call) (object.Value, error) {
				l.Items = nil
				return nil, nil
			}),
			on("ToArray", 0, func(l *object.ArrayList, _ *object.Call) (object.Value, error) {
				return slices.Clone(l.Items), nil
			}),
		},
	}
}
