package powershell

import (
	"cmp"
	"slices"
	"strings"
)

func (x *literal) value(*frame) (value, error) { return x.v, nil }
func (x *blockX) value(*frame) (value, error)  { return &scriptBlock{x.script}, nil }
func (x *variable) value(f *frame) (value, error) {
	v, there := f.look(*x)
	if there {
		return v, nil
	}
	if !x.env && slices.Contains(missing(), x.name) {
		return nil, (&lateX{"the automatic variable $" + x.name}).err()
	}
	return nil, f.unset(*x)
}

// variable is a variable's value, $null if it is not there.
func (f *frame) variable(v variable) value {
	got, _ := f.look(v)
	return got
}

// look finds a variable's value.
func (f *frame) look(v variable) (got value, there bool) {
	if v.env {
		if s, ok := f.in.env[strings.ToUpper(v.name)]; ok {
			return s, true
		}
		return nil, false
	}
	if v.scope != "" {
		if got, there := f.scope(v.scope).vars[v.name]; there {
			return got, true
		}
		return f.own(v.name)
	}
	return f.find(v.name)
}

func (x *template) value(f *frame) (value, error) {
	var b strings.Builder
	for _, part := range x.parts {
		v, err := part.value(f)
		if err != nil {
			return nil, err
		}
		b.WriteString(text(v))
	}
	return b.String(), nil
}

func (x *list) value(f *frame) (value, error) {
	out := []value{}
	for _, item := range x.items {
		v, err := item.value(f)
		if err != nil {
			return nil, err
		}
		out = append(out, plain(v))
	}
	return out, nil
}

func (x *sub) value(f *frame) (value, error) {
	if x.paren && len(x.body) == 1 {
		if v, is, err := setting(x.body[0], f); is || err != nil {
			return v, err
		}
	}
	if x.paren && len(x.body) == 1 {
		if l, ok := x.body[0].(*pipeline); ok && l.expression() {
			f.in.at(l.stages[0].line)
			v, err := l.stages[0].x.value(f)
			f.in.ok = true
			return plain(v), err
		}
		got, err := captureOne(x.body[0], f, true)
		return one(got), err
	}
	got, err := capture(x.body, f, !x.array && len(x.body) == 1)
	if err != nil || x.array {
		return got, err
	}
	return one(got), nil
}

// expression reports whether a pipeline is one expression, whose value is not taken apart.
func (s *pipeline) expression() bool {
	return len(s.stages) == 1 && s.stages[0].x != nil && s.stages[0].file == nil && s.stages[0].errors == "" &&
		len(s.stages[0].others) == 0
}

func (x *unary) value(f *frame) (value, error) {
	v, err := x.x.value(f)
	if err != nil {
		return nil, err
	}
	switch x.op {
	case "-":
		return arithmetic("-", int64(0), v)
	case "+":
		return arithmetic("+", int64(0), v)
	case "-bnot":
		n, err := integer(v)
		return ^n, err
	case "-join":
		return lists("-join", false, plain(v), "")
	case "-split", "-csplit":
		return words(plain(v)), nil
	}
	return !truth(v), nil
}

func (x *cast) value(f *frame) (value, error) {
	v, err := x.x.value(f)
	if err != nil {
		return nil, err
	}
	c, err := f.converted(x.to, x.written, v)
	if err != nil && x.try && recordOf(err).id != noTypeID {
		return nil, nil
	}
	return c, err
}

func (x *index) value(f *frame) (value, error) {
	of, err := x.of.value(f)
	if err != nil {
		return nil, err
	}
	at, err := x.at.value(f)
	if err != nil {
		return nil, err
	}
	if err := f.outside(of, plain(at)); err != nil {
		return nil, err
	}
	return itemAt(of, plain(at))
}

// itemAt is $of[at].
func itemAt(of, at value) (value, error) {
	switch o := of.(type) {
	case *object:
		if o.kind == custom && o.has(lower(text(at))) { // $Matches[1]
			return o.props[lower(text(at))], nil
		}
	case *table:
		return o.at(at)
	case *instance:
		if o.of.item != nil {
			v, err := o.of.item.get(o, at)
			return v, around(err, "Exception getting \"Item\": ")
		}
		if o.of.each != nil {
			of = o.of.each(o.v)
		}
	}
	switch at.(type) {
	case []value, span: // several at once
		out := []value{}
		for n := range each(at) {
			v, err := itemAt(of, n)
			if err != nil {
				return nil, err
			}
			if v != nil || within(of, n) {
				out = append(out, v)
			}
		}
		return out, nil
	}
	n, err := integer(at)
	if err != nil {
		return nil, err
	}
	return itemOf(of, n)
}

// within reports whether a place is one of a list's.
func within(of, at value) bool {
	n, err := integer(at)
	size := int64(len(itemsOf(of)))
	return err == nil && n < size && n >= -size
}

// itemOf returns one of a value's items, counted from the end if n is negative; nil if there is none.
func itemOf(of value, n int64) (value, error) {
	var items []value
	switch v := of.(type) {
	case *object:
		items = []value{v} // one object counts as a list of one
	case string:
		for _, r := range v {
			items = append(items, string(r))
		}
	case []value:
		items = v
	case *arrayList:
		items = v.items
	case *instance, *table, moment:
		items = []value{v}
	case span:
		return v.item(n), nil
	default:
		return nil, thrown("Cannot index into %s.", text(of))
	}
	if n < 0 {
		n += int64(len(items))
	}
	if n < 0 || n >= int64(len(items)) {
		return nil, nil
	}
	return items[n], nil
}

// item returns the number at a place of a range, which may go down.
func (s span) item(n int64) value {
	last := max(s.to-s.from, s.from-s.to)
	if n < 0 {
		n += last + 1
	}
	switch {
	case n < 0 || n > last:
		return nil
	case s.to < s.from:
		return s.from - n
	}
	return s.from + n
}

func (x *binary) value(f *frame) (value, error) {
	a, err := x.a.value(f)
	if err != nil {
		return nil, err
	}
	switch x.op { // these operators may not need the right side
	case "-and":
		if !truth(a) {
			return false, nil
		}
	case "-or":
		if truth(a) {
			return true, nil
		}
	}
	b, err := x.b.value(f)
	if err != nil {
		return nil, err
	}
	return x.of(f, plain(a), plain(b))
}

// of is the operator's result for its two sides.
func (x *binary) of(f *frame, a, b value) (value, error) {
	switch x.op {
	case "-and", "-or":
		return truth(b), nil
	case "-xor":
		return truth(a) != truth(b), nil
	case "+", "-", "*", "/", "%":
		return arithmetic(x.op, a, b)
	case "-f":
		return formatOperator(a, b)
	case "..", "-band", "-bor", "-bxor", "-shl", "-shr":
		return bits(x.op, a, b)
	}
	switch op, exact := caseOf(x.op); op {
	case "-replace", "-split", "-join", "-contains", "-notcontains", "-in", "-notin":
		return lists(op, exact, a, b)
	case "-match", "-notmatch":
		if _, several := a.([]value); !several {
			return f.match(x.op, text(a), b)
		}
	}
	switch l := a.(type) {
	case []value:
		return pick(x.op, l, b)
	case *arrayList:
		return pick(x.op, l.items, b)
	}
	return compare(x.op, a, b)
}

// match is -match and -notmatch of one text; it sets $Matches.
func (f *frame) match(op, s string, b value) (value, error) {
	op, exact := caseOf(op)
	p, err := compileAs(b, exact)
	if err != nil {
		return nil, err
	}
	yes, err := p.matches(s)
	if err != nil {
		return nil, err
	}
	if yes {
		f.in.matches = p.groups(s)
	}
	return yes == (op == "-match"), nil
}

// pick is the result of a comparison with a list: the items for which it is true.
func pick(op string, items []value, b value) (value, error) {
	out := []value{}
	for _, item := range items {
		yes, err := compare(op, item, b)
		if err != nil {
			return nil, err
		}
		if yes {
			out = append(out, item)
		}
	}
	return out, nil
}

func bits(op string, a, b value) (value, error) {
	m, err := integer(a)
	if err != nil {
		return nil, err
	}
	n, err := integer(b)
	if err != nil {
		return nil, err
	}
	switch op {
	case "..":
		return span{m, n}, nil
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

func lists(op string, exact bool, a, b value) (value, error) {
	switch op {
	case "-join":
		var parts []string
		for item := range each(a) {
			parts = append(parts, text(item))
		}
		return strings.Join(parts, text(b)), nil
	case "-contains", "-notcontains", "-in", "-notin":
		if strings.HasSuffix(op, "in") {
			a, b = b, a
		}
		found := false
		equal := map[bool]string{false: "-eq", true: "-ceq"}[exact]
		for item := range each(a) {
			same, err := compare(equal, item, b)
			if err != nil {
				return nil, err
			}
			found = found || same
		}
		return found != strings.HasPrefix(op, "-not"), nil
	}
	if op == "-replace" {
		return replace(a, b, exact)
	}
	return splitBy(a, b, exact)
}

// caseOf returns an operator without the c for which the case of letters matters, and whether it had one.
func caseOf(op string) (plain string, exact bool) {
	if rest, ok := strings.CutPrefix(op, "-c"); ok && slices.Contains(withCase(), rest) {
		return "-" + rest, true
	}
	return op, false
}

// withCase are the operators that exist with c and i before their names too.
func withCase() []string {
	return []string{
		"eq", "ne", "gt", "ge", "lt", "le", "like", "notlike", "match", "notmatch", "contains", "notcontains", "in",
		"notin", "replace", "split",
	}
}

// compare compares by the left side's type; the case of letters matters only for operators that begin with c.
func compare(op string, a, b value) (bool, error) {
	given := op
	op, exact := caseOf(op)
	switch op {
	case "-like", "-notlike":
		re, err := wildcardAs(text(b), exact)
		if err != nil {
			return false, err
		}
		return re.MatchString(text(a)) == (op == "-like"), nil
	case "-match", "-notmatch":
		p, err := compileAs(b, exact)
		if err != nil {
			return false, err
		}
		yes, err := p.matches(text(a))
		return yes == (op == "-match"), err
	}
	c, err := order(given, a, b)
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

// order is negative, 0 or positive if a is less than, equal to or greater than b. $null equals only $null, and is less
// than everything but negative numbers.
func order(op string, a, b value) (int, error) {
	equality := strings.HasSuffix(op, "eq") || strings.HasSuffix(op, "ne")
	if a == nil || b == nil {
		return orderNothing(a, b), nil
	}
	switch a := a.(type) {
	case enum:
		return a.order(equality, b)
	case int64, float64:
		return orderNumbers(equality, a, b)
	case moment:
		return a.order(b)
	case *table, *arrayList, *instance:
		n, _, err := orderObjects(equality, a, b)
		return n, err
	case bool:
		if truth(b) == a {
			return 0, nil
		}
		return 1, nil
	}
	if _, exact := caseOf(op); exact {
		return strings.Compare(text(a), text(b)), nil
	}
	return strings.Compare(lower(text(a)), lower(text(b))), nil
}

func orderNothing(a, b value) int {
	sign := 1
	v := a
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		sign, v = -1, b
	}
	if n, err := floating(v); err == nil && n < 0 {
		return -sign
	}
	return sign
}

func orderNumbers(equality bool, a, b value) (int, error) {
	if s, ok := b.(string); ok {
		if n, err := integer(s); err == nil {
			b = n
		}
	}
	if x, ok := a.(int64); ok {
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y), nil
		}
	}
	x, err := floating(a)
	if err != nil {
		return 0, err
	}
	y, err := floating(b)
	if err != nil && equality {
		return 1, nil
	}
	return cmp.Compare(x, y), err
}
