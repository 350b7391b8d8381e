package powershell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// table is a hash table. It keeps the order in which its keys were added, which PowerShell does only if it is ordered.
type table struct {
	ordered bool
	exact   bool // the case of letters in keys matters, as in one of New-Object
	keys    []value
	values  map[string]value // by canonical
}

func newTable(ordered bool) *table { return &table{ordered: ordered, values: map[string]value{}} }

// canonical is the same text for keys that are equal. Keys of different types are different.
func canonical(key value, exact bool) string {
	switch k := plain(key).(type) {
	case string:
		if exact {
			return "s" + k
		}
		return "s" + lower(k)
	case int64, float64, bool:
		return fmt.Sprintf("%T%v", k, k)
	case enum:
		return "e" + k.of.name + strconv.FormatInt(k.n, 10)
	case moment:
		return "m" + k.at.UTC().String()
	case *instance:
		if k.of.same != nil {
			return k.of.name + "=" + k.of.same(k.v)
		}
		return fmt.Sprintf("%p", k)
	case nil:
		return "nothing"
	}
	return fmt.Sprintf("%T%p", key, key)
}

func (t *table) name(key value) string { return canonical(key, t.exact) }

func (t *table) has(key value) bool {
	_, there := t.values[t.name(key)]
	return there
}

func (t *table) get(key value) value { return t.values[t.name(key)] }

func (t *table) set(key, v value) {
	if !t.has(key) {
		t.keys = append(t.keys, plain(key))
	}
	t.values[t.name(key)] = plain(v)
}

func (t *table) remove(key value) {
	name := t.name(key)
	delete(t.values, name)
	t.keys = slices.DeleteFunc(t.keys, func(k value) bool { return t.name(k) == name })
}

func (t *table) all() []value {
	all := make([]value, len(t.keys))
	for i, k := range t.keys {
		all[i] = t.get(k)
	}
	return all
}

func (t *table) clone() *table {
	c := &table{ordered: t.ordered, exact: t.exact, values: map[string]value{}}
	for _, k := range t.keys {
		c.set(k, t.get(k))
	}
	return c
}

// at is $table[key]. A list of keys gives a list of values; a number is a place in an ordered one.
func (t *table) at(key value) (value, error) {
	switch k := plain(key).(type) {
	case nil:
		return nil, raise("System.Management.Automation.RuntimeException",
			"Index operation failed; the array index evaluated to null.")
	case []value:
		out := []value{}
		for _, one := range k {
			v, err := t.at(one)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case int64:
		if t.ordered && !t.has(k) {
			if k < 0 || k >= int64(len(t.keys)) {
				return nil, nil
			}
			return t.get(t.keys[k]), nil
		}
	}
	return t.get(key), nil
}

// setAt is $table[key] = v. A number is a place in an ordered one.
func (t *table) setAt(key, v value) error {
	n, isNumber := key.(int64)
	switch {
	case key == nil:
		return raise(runtimeException, "Index operation failed; the array index evaluated to null.")
	case t.ordered && isNumber && !t.has(key):
		if n < 0 || n >= int64(len(t.keys)) {
			return raise("System.ArgumentOutOfRangeException", "Specified argument was out of the range of valid values."+
				"\nParameter name: index")
		}
		key = t.keys[n]
	}
	t.set(key, v)
	return nil
}

// entries are the keys and values, one object each.
func (t *table) entries() []value {
	var all []value
	for _, k := range t.keys {
		o := newObject("entry").set("Name", k)
		o.props["key"], o.props["value"] = k, t.get(k)
		o.names = append(o.names, "Key", "Value")
		all = append(all, o)
	}
	return all
}

// plus is $table + $other.
func (t *table) plus(other *table) (value, error) {
	sum := t.clone()
	for _, k := range other.keys {
		if sum.has(k) {
			return nil, raise("System.ArgumentException", "Item has already been added. Key in dictionary: '"+text(k)+
				"'  Key being added: '"+text(k)+"'")
		}
		sum.set(k, other.get(k))
	}
	return sum, nil
}

// property is a key's value, or a property of the hash table itself; nil for what is neither.
func (t *table) property(name string) value {
	if t.has(name) {
		return t.get(name)
	}
	switch name {
	case "count":
		return int64(len(t.keys))
	case "keys":
		return slices.Clone(t.keys)
	case "values":
		return t.all()
	case "isreadonly", "isfixedsize", "issynchronized":
		return false
	}
	return nil
}

// tableClass has the methods of hash tables
// (https://learn.microsoft.com/en-us/dotnet/api/system.collections.hashtable).
func tableClass() *class {
	onKey := func(do func(t *table, key value, c *dotCall) (value, error)) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) {
			t, ok := c.on.(*table)
			if !ok || c.arg(0) == nil {
				return nil, raise("System.ArgumentNullException", "Key cannot be null.\nParameter name: key")
			}
			return do(t, c.arg(0), c)
		}
	}
	get := onKey(func(t *table, key value, _ *dotCall) (value, error) { return t.at(key) })
	has := onKey(func(t *table, key value, _ *dotCall) (value, error) { return t.has(key), nil })
	set := onKey(func(t *table, key value, c *dotCall) (value, error) {
		t.set(key, c.arg(1))
		return nil, nil
	})
	on := func(do func(t *table, c *dotCall) value) func(c *dotCall) (value, error) {
		return func(c *dotCall) (value, error) {
			t, ok := c.on.(*table)
			if !ok {
				return nil, nil
			}
			return do(t, c), nil
		}
	}
	return &class{
		name:   "System.Collections.Hashtable",
		others: []string{"hashtable"},
		make: &routine{do: func(*dotCall) (value, error) {
			return &table{exact: true, values: map[string]value{}}, nil
		}},
		methods: []routine{
			{name: "Get_Item", least: 1, most: 1, do: get},
			{name: "Item", least: 1, most: 1, do: get},
			{name: "Set_Item", least: 2, most: 2, do: set},
			{name: "ContainsKey", least: 1, most: 1, do: has},
			{name: "Contains", least: 1, most: 1, do: has},
			{name: "Add", least: 2, most: 2, do: onKey(func(t *table, key value, c *dotCall) (value, error) {
				if t.has(key) {
					return nil, raise("System.ArgumentException", "Item has already been added. Key in dictionary: '"+
						text(key)+"'  Key being added: '"+text(key)+"'")
				}
				t.set(key, c.arg(1))
				return nil, nil
			})},
			{name: "Remove", least: 1, most: 1, do: onKey(func(t *table, key value, _ *dotCall) (value, error) {
				t.remove(key)
				return nil, nil
			})},
			{name: "ContainsValue", least: 1, most: 1, do: on(func(t *table, c *dotCall) value {
				return slices.ContainsFunc(t.all(), func(v value) bool {
					return canonical(v, true) == canonical(c.arg(0), true)
				})
			})},
			{name: "Clear", do: on(func(t *table, _ *dotCall) value {
				t.keys, t.values = nil, map[string]value{}
				return nil
			})},
			{name: "Clone", do: on(func(t *table, _ *dotCall) value { return t.clone() })},
			{name: "GetEnumerator", do: on(func(t *table, _ *dotCall) value { return t.entries() })},
		},
	}
}

// hashX is @{ … }, [ordered]@{ … } or [pscustomobject]@{ … }.
type hashX struct {
	as     string // "", ordered or pscustomobject
	keys   []expr
	values []stmt
}

func (x *hashX) check(c *checker) {
	seen := map[string]bool{}
	for i, k := range x.keys {
		k.check(c)
		x.values[i].check(c)
		if l, ok := k.(*literal); ok {
			if name := canonical(l.v, false); seen[name] {
				c.lack("Duplicate keys '%s' are not allowed in hash literals", text(l.v))
			} else {
				seen[name] = true
			}
		}
	}
}

func (x *hashX) value(f *frame) (value, error) {
	t := newTable(x.as != "")
	for i, k := range x.keys {
		key, err := k.value(f)
		if err != nil {
			return nil, err
		}
		if key = plain(key); key == nil {
			return nil, raise("System.ArgumentNullException", "A null key is not allowed in a hash literal.")
		}
		if t.has(key) {
			return nil, raise("System.ArgumentException", "Item has already been added. Key in dictionary: '"+
				text(key)+"'  Key being added: '"+text(key)+"'")
		}
		v, err := (&assign{x: x.values[i]}).assigned(f)
		if err != nil {
			return nil, err
		}
		t.set(key, v)
	}
	if x.as == "pscustomobject" {
		return t.object(), nil
	}
	return t, nil
}

// object is an object with the table's keys as properties.
func (t *table) object() *object {
	o := newObject(custom)
	for _, k := range t.keys {
		o.put(text(k), t.get(k))
	}
	return o
}

// hash reads @{ key = value; … }.
func (p *parser) hash(as string) (expr, error) {
	defer p.lists()()
	done, err := p.deeper()
	if err != nil {
		return nil, err
	}
	defer done()
	p.at += len("@{")
	x := &hashX{as: as}
	for {
		p.space()
		for p.take(";") {
			p.space()
		}
		if p.take("}") {
			return x, nil
		}
		key, err := p.hashKey()
		if err != nil {
			return nil, err
		}
		if err := p.expect("="); err != nil {
			return nil, err
		}
		p.space()
		v, err := p.statement()
		if err != nil {
			return nil, err
		}
		x.keys, x.values = append(x.keys, key), append(x.values, v)
		p.blanks()
		if r := p.peek(); !strings.ContainsRune(";\r\n}", r) || r == 0 {
			return nil, p.refuse("IncompleteHashLiteral", "The hash literal was incomplete.")
		}
	}
}

// hashKey reads a key: a name as it is, or an expression.
func (p *parser) hashKey() (expr, error) {
	begin := p.at
	if word := p.word(); word != "" && (word[0] < '0' || word[0] > '9') {
		return &literal{word}, nil
	}
	p.at = begin
	return p.unary()
}
