package operator

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
)

// ItemAt returns $of[at].
func ItemAt(of, at object.Value) (object.Value, error) {
	switch o := of.(type) {
	case nil:
		return nil, noIndex(of)
	case *object.Object:
		if o.Kind == object.Custom && o.Has(strings.ToLower(object.Text(at))) { // $Matches[1]
			return o.Props[strings.ToLower(object.Text(at))], nil
		}

	case *object.Hashtable:
		return o.At(at)
	case *object.Instance:
		if o.Of.Item != nil {
			v, err := o.Of.Item.Get(o, at)
			return v, object.Around(err, "Exception getting \"Item\": ")
		}
		if o.Of.Each != nil {
			of = o.Of.Each(o.V)
		}
	}

	switch at.(type) {
	case []object.Value, object.Range: // several at once
		out := []object.Value{}
		for n := range object.Each(at) {
			v, err := ItemAt(of, n)
			if err != nil {
				return nil, err
			}
			if v != nil || within(of, n) {
				out = append(out, v)
			}
		}

		return out, nil
	}

	n, err := object.Integer(at)
	if err != nil {
		return nil, err
	}
	return itemOf(of, n)
}

// within reports whether a place is one of a list's.
func within(of, at object.Value) bool {
	n, err := object.Integer(at)
	size := int64(len(object.Items(of)))
	return err == nil && n < size && n >= -size
}

// itemOf returns one of a value's items, counted from the end if n is negative; nil if there is none.
func itemOf(of object.Value, n int64) (object.Value, error) {
	var items []object.Value
	switch v := of.(type) {
	case *object.Object:
		items = []object.Value{v} // one object counts as a list of one
	case string:
		for _, r := range v {
			items = append(items, string(r))
		}

	case []object.Value:
		items = v
	case *object.ArrayList:
		items = v.Items
	case *object.Instance, *object.Hashtable, object.DateTime:
		items = []object.Value{v}
	case object.Range:
		return item(v, n), nil
	default:
		return nil, noIndex(of)
	}

	if n < 0 {
		n += int64(len(items))
	}
	if n < 0 || n >= int64(len(items)) {
		return nil, nil
	}
	return items[n], nil
}

// noIndex is the error of an item of what has none.
func noIndex(of object.Value) error {
	e := &object.Exception{
		Class:    object.RuntimeException,
		ID:       "CannotIndex",
		Category: object.InvalidOperating,
		Message:  "Unable to index into an object of type " + object.TypeName(of) + ".",
	}
	if of == nil {
		e.ID, e.Message = "NullArray", "Cannot index into a null array."
	}
	return e
}

// item returns the number at a place of a range, which may go down.
func item(s object.Range, n int64) object.Value {
	last := max(s.To-s.From, s.From-s.To)
	if n < 0 {
		n += last + 1
	}
	switch {
	case n < 0 || n > last:
		return nil
	case s.To < s.From:
		return s.From - n
	}
	return s.From + n
}

// Apply returns a op b, but for the operators that may not need their right side.
func Apply(op string, a, b object.Value) (object.Value, error) {
	switch op {
	case "-and", "-or":
		return object.Truth(b), nil
	case "-xor":
		return object.Truth(a) != object.Truth(b), nil
	case "+", "-", "*", "/", "%":
		return Arithmetic(op, a, b)
	case "-f":
		return object.FormatOperator(a, b)
	case "..", "-band", "-bor", "-bxor", "-shl", "-shr":
		return bits(op, a, b)
	}

	switch plain, exact := CaseOf(op); plain {
	case "-replace", "-split", "-join", "-contains", "-notcontains", "-in", "-notin":
		return Lists(plain, exact, a, b)
	}

	switch l := a.(type) {
	case []object.Value:
		return pick(op, l, b)
	case *object.ArrayList:
		return pick(op, l.Items, b)
	}

	return Compare(op, a, b)
}

// pick returns the result of a comparison with a list: the items for which it is true.
func pick(op string, items []object.Value, b object.Value) (object.Value, error) {
	out := []object.Value{}
	for _, item := range items {
		yes, err := Compare(op, item, b)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, item)
		}
	}
	return out, nil
}

func bits(op string, a, b object.Value) (object.Value, error) {
	m, err := object.Integer(a)
	if err != nil {
		return nil, err
	}
	n, err := object.Integer(b)
	if err != nil {
		return nil, err
	}

	switch op {
	case "..":
		for _, v := range []struct {
			v object.Value
			n int64
		}{{a, m}, {b, n}} {
			if int64(int32(v.n)) != v.n { // the numbers of a range are of 32 bits
				return nil, object.CannotConvert(v.v, "System.Int32")
			}
		}

		return object.Range{From: m, To: n}, nil

	case "-shl":
		return m << (n & 63), nil
	case "-shr":
		return m >> (n & 63), nil
	case "-band":
		return m & n, nil
	case "-bor":
		return m | n, nil
	}

	return m ^ n, nil
}

// Lists returns the result of an operator of lists: -join, -contains, -in, -replace, -split.
func Lists(op string, exact bool, a, b object.Value) (object.Value, error) {
	switch op {
	case "-join":
		var parts []string
		for item := range object.Each(a) {
			parts = append(parts, object.Text(item))
		}
		return object.TextOf(parts, object.Text(b))

	case "-contains", "-notcontains", "-in", "-notin":
		if strings.HasSuffix(op, "in") {
			a, b = b, a
		}

		found := false
		equal := map[bool]string{false: "-eq", true: "-ceq"}[exact]
		for item := range object.Each(a) {
			same, err := Compare(equal, item, b)
			if err != nil {
				return nil, err
			}
			found = found || same
		}

		return found != strings.HasPrefix(op, "-not"), nil
	}

	if op == "-replace" {
		return pattern.Replace(a, b, exact)
	}
	return pattern.SplitBy(a, b, exact)
}

// CaseOf returns an operator without the c for which the case of letters matters, and whether it had one.
func CaseOf(op string) (plain string, exact bool) {
	if rest, ok := strings.CutPrefix(op, "-c"); ok && slices.Contains(WithCase(), rest) {
		return "-" + rest, true
	}
	return op, false
}

// WithCase returns the operators that exist with c and i before their names too.
func WithCase() []string {
	return []string{
		"eq", "ne", "gt", "ge", "lt", "le", "like", "notlike", "match", "notmatch", "contains", "notcontains", "in",
		"notin", "replace", "split",
	}
}

// Compare compares by the left side's type; the case of letters matters only for operators that begin with c.
func Compare(op string, a, b object.Value) (bool, error) {
	given := op
	op, exact := CaseOf(op)
	switch op {
	case "-like", "-notlike":
		re, err := pattern.WildcardAs(object.Text(b), exact)
		if err != nil {
			return false, err
		}
		return re.MatchString(object.Text(a)) == (op == "-like"), nil

	case "-match", "-notmatch":
		p, err := pattern.CompileAs(b, exact)
		if err != nil {
			return false, err
		}
		yes, err := p.Matches(object.Text(a))
		return yes == (op == "-match"), err
	}

	c, err := Order(given, a, b)
	if err != nil {
		return false, err
	}

	switch op {
	case "-eq":
		return c == 0, nil
	case "-ne":
		return c != 0, nil
	case "-gt":
		return c > 0, nil
	case "-ge":
		return c >= 0, nil
	case "-lt":
		return c < 0, nil
	}

	return c <= 0, nil
}

// Order returns a negative number, 0 or a positive one if a is less than, equal to or greater than b. $null equals only
// $null, and is less than everything but negative numbers.
func Order(op string, a, b object.Value) (int, error) {
	equality := strings.HasSuffix(op, "eq") || strings.HasSuffix(op, "ne")
	if a == nil || b == nil {
		return orderNothing(a, b), nil
	}

	switch a := a.(type) {
	case object.Enum:
		return a.Order(equality, b)
	case int64, float64:
		return orderNumbers(equality, a, b)
	case object.DateTime:
		return a.Order(b)
	case *object.Hashtable, *object.ArrayList, *object.Instance:
		n, _, err := orderObjects(equality, a, b)
		return n, err

	case bool:
		if object.Truth(b) == a {
			return 0, nil
		}
		return 1, nil
	}

	if _, exact := CaseOf(op); exact {
		return strings.Compare(object.Text(a), object.Text(b)), nil
	}
	return strings.Compare(strings.ToLower(object.Text(a)), strings.ToLower(object.Text(b))), nil
}

func orderNothing(a, b object.Value) int {
	sign := 1
	v := a
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		sign, v = -1, b
	}
	if n, err := object.Floating(v); err == nil && n < 0 {
		return -sign
	}
	return sign
}

func orderNumbers(equality bool, a, b object.Value) (int, error) {
	if s, ok := b.(string); ok {
		if n, err := object.Integer(s); err == nil {
			b = n
		}
	}

	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil
		}
	}
	x, err := object.Floating(a)
	if err != nil {
		return 0, err
	}

	y, err := object.Floating(b)
	if err != nil && equality {
		return 1, nil
	}
	return cmp.Compare(x, y), err
}

// Comparisons returns the operators that Where-Object has as parameters.
func Comparisons() []string {
	var all []string
	for _, op := range WithCase() {
		if op != "replace" && op != "split" {
			all = append(all, op, "i"+op, "c"+op)
		}
	}
	return all
}
