package utility

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// newObjectCmdlet carries out New-Object.
func newObjectCmdlet(c *cmdlet.Call) error {
	name := c.Text("typename")
	args, ok := c.Values["argumentlist"].([]object.Value)
	if v, given := c.Values["argumentlist"]; given && !ok {
		args = []object.Value{v}
	}
	made, err := dotnet.Construct(c.State, name, args)
	if object.IsNoType(err) {
		return c.Unbound(err)
	}

	if err != nil {
		return err
	}

	if properties, given := c.Values["property"]; given {
		t, ok := properties.(*object.Hashtable)
		if !ok {
			return object.Thrown("New-Object : -Property that is no hash table is not part of Mullion's PowerShell.")
		}

		for _, k := range t.Keys {
			if o, isObject := made.(*object.Object); isObject {
				o.Put(object.Text(k), t.Get(k))
				continue
			}
			if err := object.SetProperty(made, strings.ToLower(object.Text(k)), t.Get(k)); err != nil {
				return err
			}
		}
	}

	return c.Out.Put(made)
}

// permitsType refuses a type that New-Object does not make.
func permitsType(parameter, name string) error {
	if parameter != "typename" {
		return nil
	}
	if c := dotnet.ClassNamed(name); object.ExceptionName(name) == "" && (c == nil || c.Make == nil) {
		return fmt.Errorf("New-Object %s is %s", name, words.NotHere)
	}
	return nil
}

// enoughSelected returns how many objects Select-Object -First needs, with those that it skips
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/select-object).
func enoughSelected(given map[string]object.Value) (most int, ok bool) {
	n := int64(0)
	for name, v := range given {
		switch name {
		case "first", "skip":
			one, err := object.Integer(object.Plain(v))
			if v == nil || err != nil || one < 0 || one > object.MostItems {
				return 0, false
			}
			n += one
		case "last", "unique", "skiplast", "index", cmdlet.ObjectName:
			return 0, false
		}
	}

	_, ok = given["first"]
	return int(n), ok && n > 0
}

// selectObject takes the first objects, or properties of them.
func selectObject(c *cmdlet.Call) error {
	if c.Values["property"] != nil && c.Values["expandproperty"] != nil {
		return object.Thrown("Select-Object : -Property together with -ExpandProperty is not part of Mullion's PowerShell.")
	}
	items, err := skipAndTake(c, c.Input)
	if err != nil {
		return err
	}

	seen := map[string]bool{}
	for _, item := range items {
		picked, err := picked(c, item)
		if err != nil {
			return err
		}

		for v := range object.Each(picked) {
			name := object.Canonical(v, true)
			if o, ok := v.(*object.Object); ok {
				name = o.Text()
			}
			if c.Flags["unique"] && seen[name] {
				continue
			}

			seen[name] = true
			if err := c.Out.Put(v); err != nil {
				return err
			}
		}
	}

	return nil
}

// skipAndTake returns the objects that -Skip, -First and -Last leave. With -Last, -Skip leaves out objects at the end.
func skipAndTake(c *cmdlet.Call, items []object.Value) ([]object.Value, error) {
	numbers := map[string]int{}
	if at, given := c.Values["index"]; given {
		picked := []object.Value{}
		for v := range object.Each(at) {
			n, err := object.Integer(v)
			if err != nil {
				return nil, err
			}
			if n >= 0 && n < int64(len(items)) && !slices.Contains(places(picked), n) {
				picked = append(picked, n)
			}
		}

		at := places(picked)
		slices.Sort(at) // in the order of the input, as there
		out := []object.Value{}
		for _, n := range at {
			out = append(out, items[n])
		}

		return out, nil
	}

	for _, name := range []string{"skip", "first", "last", "skiplast"} {
		n, err := object.Integer(c.Values[name])
		if err != nil {
			return nil, err
		}
		numbers[name] = min(max(int(n), 0), len(items))
	}

	first, last := c.Values["first"] != nil, c.Values["last"] != nil
	switch {
	case first && last:
		return nil, object.Thrown("Select-Object : -First together with -Last is not part of Mullion's PowerShell.")
	case last:
		items = items[:len(items)-numbers["skip"]]
		return items[max(0, len(items)-numbers["last"]):], nil
	}

	items = items[numbers["skip"]:]
	items = items[:max(0, len(items)-numbers["skiplast"])]
	if first {
		items = items[:min(numbers["first"], len(items))]
	}

	return items, nil
}

// places returns the numbers of items.
func places(v []object.Value) []int64 {
	var all []int64
	for _, one := range v {
		n, _ := one.(int64)
		all = append(all, n)
	}
	return all
}

// picked returns what Select-Object makes of one object: the object, one of its properties, or an object with some of
// them.
func picked(c *cmdlet.Call, item object.Value) (object.Value, error) {
	if name := c.Text("expandproperty"); name != "" {
		if o, ok := item.(*object.Object); ok && !o.Has(strings.ToLower(name)) {
			return nil, c.Fail(words.Errorf("Property %q cannot be found.", name))
		}
		return object.Property(item, strings.ToLower(name))
	}
	if c.Values["property"] == nil {
		return item, nil
	}

	keys, err := keysFor(c, item)
	if err != nil {
		return nil, err
	}

	o := object.New(object.Custom)
	for _, k := range keys {
		left, err := c.Wanted("excludeproperty", k.name, map[string]bool{})
		if _, excludes := c.Values["excludeproperty"]; err != nil || (left && excludes) {
			continue
		}
		v, err := k.of(c, item)
		if err != nil {
			return nil, err
		}
		o.Put(k.name, v)
	}

	return o, nil
}
