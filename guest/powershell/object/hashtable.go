package object

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Hashtable is a hash table. It keeps the order in which its keys were added, which PowerShell does only if it is
// ordered.
type Hashtable struct {
	ordered bool
	Exact   bool // the case of letters in keys matters, as in one of New-Object
	Generic bool // it is a Dictionary
	Keys    []Value
	values  map[string]Value // by canonical
}

// NewTable returns an empty hash table.
func NewTable(ordered bool) *Hashtable {
	return &Hashtable{ordered: ordered, values: map[string]Value{}}
}

// Canonical returns the same text for keys that are equal. Keys of different types are different.
func Canonical(key Value, exact bool) string {
	switch k := Plain(key).(type) {
	case string:
		if exact {
			return "s" + k
		}
		return "s" + strings.ToLower(k)
	case int64, float64, bool:
		return fmt.Sprintf("%T%v", k, k)
	case Enum:
		return "e" + k.Of.Name + strconv.FormatInt(k.N, 10)
	case DateTime:
		return "m" + k.At.UTC().String()
	case *Instance:
		if k.Of.Same != nil {
			return k.Of.Name + "=" + k.Of.Same(k.V)
		}
		return fmt.Sprintf("%p", k)
	case nil:
		return "nothing"
	}

	return fmt.Sprintf("%T%p", key, key)
}

func (t *Hashtable) name(key Value) string { return Canonical(key, t.Exact) }

// Has reports whether there is a key.
func (t *Hashtable) Has(key Value) bool {
	_, there := t.values[t.name(key)]
	return there
}

// Get returns the value of a key, nil without it.
func (t *Hashtable) Get(key Value) Value { return t.values[t.name(key)] }

// Set gives a key a value; a new key comes after the others.
func (t *Hashtable) Set(key, v Value) {
	if !t.Has(key) {
		t.Keys = append(t.Keys, Plain(key))
	}
	t.values[t.name(key)] = Plain(v)
}

// Delete takes a key away.
func (t *Hashtable) Delete(key Value) {
	name := t.name(key)
	delete(t.values, name)
	t.Keys = slices.DeleteFunc(t.Keys, func(k Value) bool { return t.name(k) == name })
}

func (t *Hashtable) all() []Value {
	all := make([]Value, len(t.Keys))
	for i, k := range t.Keys {
		all[i] = t.Get(k)
	}
	return all
}

func (t *Hashtable) clone() *Hashtable {
	c := &Hashtable{
		ordered: t.ordered,
		Exact:   t.Exact,
		values:  map[string]Value{},
	}
	for _, k := range t.Keys {
		c.Set(k, t.Get(k))
	}
	return c
}

// At returns $table[key]. A list of keys gives a list of values; a number is a place in an ordered one.
func (t *Hashtable) At(key Value) (Value, error) {
	switch k := Plain(key).(type) {
	case nil:
		return nil, Raise("System.Management.Automation.RuntimeException",
			"Index operation failed; the array index evaluated to null.")
	case []Value:
		out := []Value{}
		for _, one := range k {
			v, err := t.At(one)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case int64:
		if t.ordered && !t.Has(k) {
			if k < 0 || k >= int64(len(t.Keys)) {
				return nil, nil
			}
			return t.Get(t.Keys[k]), nil
		}
	}

	return t.Get(key), nil
}

// SetAt carries out $table[key] = v. A number is a place in an ordered one.
func (t *Hashtable) SetAt(key, v Value) error {
	n, isNumber := key.(int64)
	switch {
	case key == nil:
		return Raise(RuntimeException, "Index operation failed; the array index evaluated to null.")
	case t.ordered && isNumber && !t.Has(key):
		if n < 0 || n >= int64(len(t.Keys)) {
			return Raise("System.ArgumentOutOfRangeException",
				"Specified argument was out of the range of valid values."+"\nParameter name: index")
		}
		key = t.Keys[n]
	}

	t.Set(key, v)
	return nil
}

// Entries returns the keys and values, one object each.
func (t *Hashtable) Entries() []Value {
	var all []Value
	for _, k := range t.Keys {
		o := New("entry").Set("Name", k)
		o.Props["key"], o.Props["value"] = k, t.Get(k)
		o.Names = append(o.Names, "Key", "Value")
		all = append(all, o)
	}
	return all
}

// Plus returns $table + $other.
func (t *Hashtable) Plus(other *Hashtable) (Value, error) {
	sum := t.clone()
	for _, k := range other.Keys {
		if sum.Has(k) {
			return nil, Raise("System.ArgumentException", "Item has already been added. Key in dictionary: '"+Text(k)+
				"'  Key being added: '"+Text(k)+"'")
		}
		sum.Set(k, other.Get(k))
	}
	return sum, nil
}

// property returns a key's value, or a property of the hash table itself; nil for what is neither.
func (t *Hashtable) property(name string) Value {
	if t.Has(name) {
		return t.Get(name)
	}
	if n, err := strconv.ParseInt(name, 10, 64); err == nil && t.Has(n) {
		return t.Get(n)
	}

	switch name {
	case "count":
		return int64(len(t.Keys))
	case "keys":
		return slices.Clone(t.Keys)
	case "values":
		return t.all()
	case "isreadonly", "isfixedsize", "issynchronized":
		return false
	}

	return nil
}

// HashtableClass has the methods of hash tables
// (https://learn.microsoft.com/en-us/dotnet/api/system.collections.hashtable).
func HashtableClass() *Class {
	onKey := func(do func(t *Hashtable, key Value, c *Call) (Value, error)) func(c *Call) (Value, error) {
		return func(c *Call) (Value, error) {
			t, ok := c.On.(*Hashtable)
			if !ok || c.Arg(0) == nil {
				return nil, Raise("System.ArgumentNullException", "Key cannot be null.\nParameter name: key")
			}
			return do(t, c.Arg(0), c)
		}
	}

	get := onKey(func(t *Hashtable, key Value, _ *Call) (Value, error) { return t.At(key) })
	has := onKey(func(t *Hashtable, key Value, _ *Call) (Value, error) { return t.Has(key), nil })
	set := onKey(func(t *Hashtable, key Value, c *Call) (Value, error) {
		t.Set(key, c.Arg(1))
		return nil, nil
	})

	on := func(do func(t *Hashtable, c *Call) Value) func(c *Call) (Value, error) {
		return func(c *Call) (Value, error) {
			t, ok := c.On.(*Hashtable)
			if !ok {
				return nil, nil
			}
			return do(t, c), nil
		}
	}

	return &Class{
		Name:   "System.Collections.Hashtable",
		Others: []string{"hashtable"},
		Make: &Method{Do: func(*Call) (Value, error) {
			return &Hashtable{Exact: true, values: map[string]Value{}}, nil
		}},
		Methods: []Method{
			{Name: "Get_Item", Least: 1, Most: 1, Do: get},
			{Name: "Item", Least: 1, Most: 1, Do: get},
			{Name: "Set_Item", Least: 2, Most: 2, Do: set},
			{Name: "ContainsKey", Least: 1, Most: 1, Do: has},
			{Name: "Contains", Least: 1, Most: 1, Do: has},
			{
				Name:  "Add",
				Least: 2,
				Most:  2,
				Do: onKey(func(t *Hashtable, key Value, c *Call) (Value, error) {
					if t.Has(key) {
						return nil, Raise("System.ArgumentException",
							"Item has already been added. Key in dictionary: '"+
								Text(key)+"'  Key being added: '"+Text(key)+"'")
					}
					t.Set(key, c.Arg(1))
					return nil, nil
				}),
			},
			{
				Name:  "Remove",
				Least: 1,
				Most:  1,
				Do: onKey(func(t *Hashtable, key Value, _ *Call) (Value, error) {
					t.Delete(key)
					return nil, nil
				}),
			},
			{
				Name:  "ContainsValue",
				Least: 1,
				Most:  1,
				Do: on(func(t *Hashtable, c *Call) Value {
					return slices.ContainsFunc(t.all(), func(v Value) bool {
						return Canonical(v, true) == Canonical(c.Arg(0), true)
					})
				}),
			},
			{
				Name: "Clear",
				Do: on(func(t *Hashtable, _ *Call) Value {
					t.Keys, t.values = nil, map[string]Value{}
					return nil
				}),
			},
			{Name: "Clone", Do: on(func(t *Hashtable, _ *Call) Value { return t.clone() })},
			{Name: "GetEnumerator", Do: on(func(t *Hashtable, _ *Call) Value { return t.Entries() })},
		},
	}
}

// genericClass returns the class Dictionary: Remove says whether the key was there, and TryGetValue does so too.
func genericClass() *Class {
	c := HashtableClass()
	c.Name, c.Others = "System.Collections.Generic.Dictionary`2", nil
	c.Methods = append([]Method{
		{Name: "Remove", Least: 1, Most: 1, Do: func(c *Call) (Value, error) {
			t := c.On.(*Hashtable)
			there := t.Has(c.Arg(0))
			t.Delete(c.Arg(0))
			return there, nil
		}},
		{Name: "TryGetValue", Least: 2, Most: 2, Do: func(c *Call) (Value, error) {
			t := c.On.(*Hashtable)
			to := Own[*Reference](c.Arg(1))
			if to == nil {
				return nil, NotReferred(2)
			}
			return t.Has(c.Arg(0)), to.Set(t.Get(c.Arg(0)))
		}},
	}, c.Methods...)

	return c
}

// Object returns an object with the table's keys as properties.
func (t *Hashtable) Object() *Object {
	o := New(Custom)
	for _, k := range t.Keys {
		o.Put(Text(k), t.Get(k))
	}
	return o
}
