package fieldtemplate

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
	"text/template/parse"
)

// plain returns what is in an interface.
func plain(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// pointed returns what a value points to, by way of interfaces, too; a nil pointer stays what it is.
func pointed(v reflect.Value) reflect.Value {
	for {
		v = plain(v)
		if v.Kind() != reflect.Pointer || v.IsNil() {
			return v
		}
		v = v.Elem()
	}
}

// fields returns the field of the field of a value, and so on.
func (t *Template) fields(v reflect.Value, names []string) (_ reflect.Value, err error) {
	for _, of := range names {
		if v, err = t.field(v, of); err != nil {
			return v, err
		}
	}
	return v, nil
}

// field returns a field of a struct, or an entry of a map; that which is not there in a map is no value, or an error.
func (t *Template) field(v reflect.Value, of string) (reflect.Value, error) {
	if !v.IsValid() {
		return v, nil
	}

	v, from := pointed(v), v.Type()
	switch v.Kind() {
	case reflect.Invalid, reflect.Pointer:
		return v, fmt.Errorf("%s: .%s of nothing, where a %s should be", name, of, from)
	case reflect.Struct:
		if f, ok := v.Type().FieldByName(of); ok && f.IsExported() {
			return v.FieldByIndexErr(f.Index)
		}

	case reflect.Map:
		if key := reflect.ValueOf(of); key.Type().AssignableTo(v.Type().Key()) {
			if entry := v.MapIndex(key); entry.IsValid() || !t.Strict {
				return entry, nil
			}
		}
	}

	return v, fmt.Errorf("%s: there is no field %s in a %s", name, of, v.Type())
}

// number returns a number as the template has it: a float64 where it is written as one, else an int.
func number(n *parse.NumberNode) (reflect.Value, error) {
	written := !strings.HasPrefix(n.Text, "0x") && !strings.HasPrefix(n.Text, "'") && strings.ContainsAny(n.Text, ".eEpP")
	switch {
	case n.IsFloat && written:
		return reflect.ValueOf(n.Float64), nil
	case n.IsInt && int64(int(n.Int64)) == n.Int64:
		return reflect.ValueOf(int(n.Int64)), nil
	}
	return reflect.Value{}, fmt.Errorf("%s: the number %s is not taken", name, n.Text)
}

// truth reports whether a value is not the zero of its kind: of what has a length, whether something is in it.
func truth(v reflect.Value) bool {
	v = plain(v)
	switch v.Kind() {
	case reflect.Invalid:
		return false
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return !v.IsZero()
}

// elements calls do with each element and its key, of a map in the order of its keys, of a number with those below it.
// It reports whether there was one.
func elements(over reflect.Value, do func(key, element reflect.Value) error) (some bool, err error) {
	over = pointed(over)
	switch {
	case !over.IsValid():
		return false, nil
	case over.Kind() == reflect.Map:
		keys := over.MapKeys()
		sort.Slice(keys, func(i, j int) bool {
			less, err := less(keys[i], keys[j])
			return err == nil && less
		})

		for _, key := range keys {
			if err := do(key, over.MapIndex(key)); err != nil {
				return true, err
			}
		}

		return len(keys) > 0, nil

	case over.Kind() == reflect.Slice, over.Kind() == reflect.Array:
		for i := range over.Len() {
			if err := do(reflect.ValueOf(i), over.Index(i)); err != nil {
				return true, err
			}
		}

		return over.Len() > 0, nil

	case over.CanInt():
		for i := range over.Int() {
			n := reflect.ValueOf(i).Convert(over.Type())
			if err := do(n, n); err != nil {
				return true, err
			}
		}
		return over.Int() > 0, nil
	}

	return false, fmt.Errorf("%s: a %s has no elements", name, over.Type())
}

// call calls a function with what it takes.
func call(f reflect.Value, called string, args []reflect.Value) (reflect.Value, error) {
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	if len(args) < fixed || (len(args) > fixed && !t.IsVariadic()) {
		return reflect.Value{}, fmt.Errorf("%s: %s takes %d arguments, not %d", name, called, fixed, len(args))
	}

	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		wanted := t.In(min(i, t.NumIn()-1))
		if i >= fixed {
			wanted = wanted.Elem()
		}
		var err error
		if in[i], err = fitting(arg, wanted); err != nil {
			return arg, fmt.Errorf("%s: argument %d of %s: %w", name, i+1, called, err)
		}
	}

	out := f.Call(in)
	if len(out) > 1 && !out[1].IsNil() {
		err, _ := reflect.TypeAssert[error](out[1])
		return out[0], fmt.Errorf("%s: %s: %w", name, called, err)
	}

	return plain(out[0]), nil
}

// fitting returns an argument as a function takes it.
func fitting(v reflect.Value, wanted reflect.Type) (reflect.Value, error) {
	switch {
	case wanted == reflect.TypeFor[reflect.Value]():
		return reflect.ValueOf(v), nil
	case !v.IsValid():
		switch wanted.Kind() {
		case reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice, reflect.Func:
			return reflect.Zero(wanted), nil
		}
		return v, fmt.Errorf("nothing is no %s", wanted)

	case v.Type().AssignableTo(wanted):
		return v, nil
	case v.Kind() == reflect.Pointer && !v.IsNil() && v.Elem().Type().AssignableTo(wanted):
		return v.Elem(), nil
	case v.CanInt() && (reflect.Zero(wanted).CanInt() || reflect.Zero(wanted).CanFloat()):
		return v.Convert(wanted), nil
	}

	return v, fmt.Errorf("a %s is no %s", v.Type(), wanted)
}
