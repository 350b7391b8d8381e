package fieldtemplate

import (
	"cmp"
	"fmt"
	"reflect"
)

// builtins returns the functions that every template has, as in text/template
// (https://pkg.go.dev/text/template#hdr-Functions).
func builtins() Funcs {
	order := func(holds func(int) bool) any {
		return func(a, b reflect.Value) (bool, error) {
			c, err := compare(a, b)
			return err == nil && holds(c), err
		}
	}
	none := func(...any) bool { return false } // they are the template's own: run.function

	return Funcs{
		"and":     none,
		"or":      none,
		"not":     func(v reflect.Value) bool { return !truth(v) },
		"len":     length,
		"index":   index,
		"print":   fmt.Sprint,
		"printf":  fmt.Sprintf,
		"println": fmt.Sprintln,
		"eq":      equalsAny,
		"ne": func(a, b reflect.Value) (bool, error) {
			same, err := equal(a, b)
			return err == nil && !same, err
		},
		"lt": order(func(c int) bool { return c < 0 }),
		"le": order(func(c int) bool { return c <= 0 }),
		"gt": order(func(c int) bool { return c > 0 }),
		"ge": order(func(c int) bool { return c >= 0 }),
	}
}

// length returns how much is in a value.
func length(v reflect.Value) (int, error) {
	v = pointed(v)
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len(), nil
	}
	return 0, fmt.Errorf("%s has no length", described(v))
}

func described(v reflect.Value) string {
	if !v.IsValid() {
		return "nothing"
	}
	return "a " + v.Type().String()
}

// index returns the element of the element of a value, and so on. That which is not there in a map is its zero.
func index(v reflect.Value, keys ...reflect.Value) (any, error) {
	for _, key := range keys {
		v = pointed(v)
		switch v.Kind() {
		case reflect.Array, reflect.Slice, reflect.String:
			if !key.CanInt() || key.Int() < 0 || key.Int() >= int64(v.Len()) {
				return nil, fmt.Errorf("there is no element %v of %d", key, v.Len())
			}
			v = v.Index(int(key.Int()))

		case reflect.Map:
			k, err := fitting(key, v.Type().Key())
			if err != nil {
				return nil, err
			}
			of := v
			if v = of.MapIndex(k); !v.IsValid() {
				v = reflect.Zero(of.Type().Elem())
			}

		default:
			return nil, fmt.Errorf("%s has no elements", described(v))
		}
	}

	if v = plain(v); !v.IsValid() {
		return nil, nil //nolint:nilnil // the value is nothing
	}
	return v.Interface(), nil
}

// equalsAny reports whether a value is one of several.
func equalsAny(a reflect.Value, others ...reflect.Value) (bool, error) {
	if len(others) == 0 {
		return false, fmt.Errorf("eq has nothing to compare with")
	}
	for _, b := range others {
		if same, err := equal(a, b); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

// equal compares values of one kind. Nothing is equal to nothing.
func equal(a, b reflect.Value) (bool, error) {
	if !a.IsValid() || !b.IsValid() {
		return a.IsValid() == b.IsValid(), nil
	}
	if a.Kind() == reflect.Bool && b.Kind() == reflect.Bool {
		return a.Bool() == b.Bool(), nil
	}
	c, err := compare(a, b)
	return c == 0, err
}

// less is the order of the keys of a map.
func less(a, b reflect.Value) (bool, error) {
	c, err := compare(plain(a), plain(b))
	return c < 0, err
}

// compare compares values that have an order, of one kind: -1, 0 or 1. Whole numbers are of one kind.
func compare(a, b reflect.Value) (int, error) {
	switch {
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int()), nil
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint()), nil
	case a.CanInt() && b.CanUint():
		if a.Int() < 0 {
			return -1, nil
		}
		return cmp.Compare(uint64(a.Int()), b.Uint()), nil //nolint:gosec // it is not below 0

	case a.CanUint() && b.CanInt():
		c, err := compare(b, a)
		return -c, err
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float()), nil
	case a.Kind() == reflect.String && b.Kind() == reflect.String:
		return cmp.Compare(a.String(), b.String()), nil
	}

	return 0, fmt.Errorf("%s and %s cannot be compared", described(a), described(b))
}
