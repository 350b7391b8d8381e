package engine

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// ownProperty reports whether an object or a hash table has a property of its own of a name.
func ownProperty(of object.Value, name string) bool {
	switch o := of.(type) {
	case *object.Object:
		return o.Has(name)
	case *object.Hashtable:
		return o.Has(name)
	}

	return false
}

// intrinsic calls Where or ForEach, which every value has that has no method of this name
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_arrays#methods).
func (f *frame) intrinsic(of object.Value, name string, args []object.Value) (v object.Value, is bool, err error) {
	if (name != "where" && name != "foreach") || len(args) == 0 || of == nil {
		return nil, false, nil
	}
	if c := object.ClassOf(of); c != nil && object.Find(c.Methods, name) != nil {
		return nil, false, nil
	}
	items := slices.Collect(object.Each(of))
	if name == "where" {
		v, err = f.where(items, args)
	} else {
		v, err = f.forEach(items, args)
	}

	return v, true, err
}

// forEach carries out .ForEach: a script block for each item, a type to convert to, or a property or method of it.
func (f *frame) forEach(items, args []object.Value) (object.Value, error) {
	out := []object.Value{}
	for _, item := range items {
		var v object.Value
		var err error
		switch do := args[0].(type) {
		case *object.ScriptBlock:
			err = f.RunOn("ForEach", do, item, object.Collect(&out))
		case *object.Object:
			v, err = f.in.types().Converted(typeNameOf(do), item)
			out = append(out, v)
		default:
			name := strings.ToLower(object.Text(do))
			if c := object.ClassOf(item); c != nil && object.Find(c.Methods, name) != nil {
				v, err = f.Method(item, name, args[1:])
			} else if len(args) > 1 {
				err = f.setMember(&lang.Member{
					Of:      &lang.Literal{V: item},
					Name:    name,
					Written: name,
				}, args[1])
				if err == nil {
					continue
				}
			} else {
				v, err = object.Property(item, name)
			}
			out = append(out, v)
		}

		if err != nil {
			return nil, err
		}
	}

	return out, nil
}

// wheres returns the ways in which .Where picks.
func wheres() []string {
	return []string{"default", "first", "last", "skipuntil", "until", "split"}
}

// where carries out .Where: the items for which a block is true, in one of several ways, at most so many.
func (f *frame) where(items, args []object.Value) (object.Value, error) {
	block, how, most, err := whereOf(args)
	if err != nil {
		return nil, err
	}

	picked, others := []object.Value{}, []object.Value{}
	for n, item := range items {
		var got []object.Value
		if err := f.RunOn("Where", block, item, object.Collect(&got)); err != nil {
			return nil, err
		}
		yes := object.Truth(object.One(got))
		switch {
		case how == "skipuntil" && yes:
			return firstOf(items[n:], most), nil
		case how == "until" && yes:
			return firstOf(items[:n], most), nil
		case yes:
			picked = append(picked, item)
		default:
			others = append(others, item)
		}
		if how == "first" && int64(len(picked)) == max(most, 1) {
			return picked, nil
		}
	}

	switch how {
	case "skipuntil":
		return []object.Value{}, nil
	case "until":
		return firstOf(items, most), nil
	case "last":
		return picked[max(0, len(picked)-int(max(most, 1))):], nil
	case "split":
		return []object.Value{picked, others}, nil
	}

	return firstOf(picked, most), nil
}

// whereOf reads the arguments of .Where: the block, the way, and how many at most, or 0.
func whereOf(args []object.Value) (block *object.ScriptBlock, how string, most int64, err error) {
	block, ok := args[0].(*object.ScriptBlock)
	how = "default"
	if len(args) > 1 {
		how = strings.ToLower(object.Text(args[1]))
	}
	if len(args) > 2 {
		if most, err = object.Integer(args[2]); err != nil {
			return nil, "", 0, err
		}
	}

	if !ok || !slices.Contains(wheres(), how) {
		err = object.Thrown("Where of %s is not part of Mullion's PowerShell.", object.Text(args[len(args)-1]))
	}
	return block, how, most, err
}

// firstOf returns the first items, all if most is 0.
func firstOf(items []object.Value, most int64) []object.Value {
	if most > 0 && most < int64(len(items)) {
		return items[:most]
	}
	return items
}

// closure returns a block that keeps the variables of the scope that calls a method now.
func (in *Interpreter) closure(block any) any {
	b, ok := block.(*object.ScriptBlock)
	if !ok {
		return block
	}
	home := in.Top.child()
	home.File = true
	maps.Copy(home.Vars, in.within().Vars)
	script := *lang.ScriptOf(b)
	script.Home = home.Scope
	return script.Block()
}
