package operator

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/library"
	"mullion.dev/mullion/guest/powershell/object"
)

// ofObjects does arithmetic with hash tables, lists, times and time spans; done is false for other values.
func ofObjects(op string, a, b object.Value) (v object.Value, done bool, err error) {
	switch x := a.(type) {
	case *object.Hashtable:
		if y, ok := b.(*object.Hashtable); ok && op == "+" {
			v, err = x.Plus(y)
			return v, true, err
		}
		return nil, true, object.Thrown("%s of a hash table and %q is not part of Mullion's PowerShell.",
			op, object.Text(b))

	case *object.ArrayList:
		if op == "+" {
			v, _ := object.Joined(slices.Clone(x.Items), b)
			return v, true, nil
		}
	case object.DateTime:
		v, err = timeArithmetic(x, op, b)
		return v, true, err

	case *object.Instance:
		v, err = instanceArithmetic(x, op, b)
		return v, true, err
	}

	return nil, false, nil
}

// timeArithmetic returns a time less another, or a time and a time span.
func timeArithmetic(m object.DateTime, op string, b object.Value) (object.Value, error) {
	if op == "-" {
		return m.Minus(b)
	}
	d, ok := durationOf(b)
	if op != "+" || !ok {
		return nil, object.Thrown("%s of a time and %q is not part of Mullion's PowerShell.", op, object.Text(b))
	}
	return object.DateTime{At: m.At.Add(d)}, nil
}

// instanceArithmetic returns the sum or difference of two time spans, or a character and a text.
func instanceArithmetic(i *object.Instance, op string, b object.Value) (object.Value, error) {
	d, ok := i.V.(time.Duration)
	e, both := durationOf(b)
	s, isText := b.(string)
	switch {
	case ok && both && op == "+":
		return &object.Instance{Of: object.SpanClass(), V: d + e}, nil
	case ok && both && op == "-":
		return &object.Instance{Of: object.SpanClass(), V: d - e}, nil
	case isText && op == "+" && i.Of.Name == object.CharName:
		return object.Text(i) + s, nil
	}
	return nil, object.Thrown("%s of %s and %q is not part of Mullion's PowerShell.",
		op, object.TypeName(i), object.Text(b))
}

func durationOf(v object.Value) (time.Duration, bool) {
	i, ok := v.(*object.Instance)
	if !ok {
		return 0, false
	}
	d, ok := i.V.(time.Duration)
	return d, ok
}

// orderObjects compares an object with a value; done is false for other values.
func orderObjects(equality bool, a, b object.Value) (n int, done bool, err error) {
	switch x := a.(type) {
	case *object.Hashtable, *object.ArrayList:
		if equality {
			if a == b {
				return 0, true, nil
			}
			return 1, true, nil
		}

	case *object.Instance:
		d, ok := x.V.(time.Duration)
		if e, both := durationOf(b); ok && both {
			return cmp.Compare(d, e), true, nil
		}
		if v, ok := x.V.(library.Version); ok {
			w, err := object.ToClass(library.VersionName, library.ParseVersion)(b)
			return v.Compare(object.Own[library.Version](w)), true, err
		}

		if y, ok := b.(*object.Instance); ok && equality {
			if object.Canonical(x, false) == object.Canonical(y, false) {
				return 0, true, nil
			}
			return 1, true, nil
		}
		if equality {
			return strings.Compare(strings.ToLower(object.Text(a)), strings.ToLower(object.Text(b))), true, nil
		}

	default:
		return 0, false, nil
	}

	return 0, true, object.Thrown("Comparing %s with %q is not part of Mullion's PowerShell.",
		object.TypeName(a), object.Text(b))
}

// Arithmetic does + - * / %; integers that leave 64 bits become floating numbers.
func Arithmetic(op string, a, b object.Value) (object.Value, error) {
	a, b = object.Plain(a), object.Plain(b)
	if v, done, err := ofObjects(op, a, b); done {
		return v, err
	}

	if op == "+" {
		if s, ok := a.(string); ok {
			return object.TextOf([]string{s, object.Text(b)}, "")
		}
		if v, ok := object.Joined(a, b); ok {
			return v, nil
		}
	}

	_, isText := a.(string)
	if _, isList := a.([]object.Value); op == "*" && (isText || isList) {
		n, err := object.Integer(b)
		if err != nil || n < 0 {
			return nil, object.Thrown("Cannot repeat a string %s times.", object.Text(b))
		}
		return object.Repeated(a, n)
	}

	x, y := object.Whole(a), object.Whole(b)
	if x != nil && y != nil {
		if v, ok := object.Integers(op, *x, *y); ok {
			return v, nil
		}
	}

	p, err := object.Floating(a)
	if err != nil {
		return nil, err
	}
	q, err := object.Floating(b)
	if err != nil {
		return nil, err
	}

	return object.Floats(op, p, q)
}
