package engine

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/words"
)

// put assigns a value to what can be assigned to.
func (f *frame) put(to lang.Expr, v object.Value) error {
	given := &lang.GivenStmt{V: v}
	switch to := to.(type) {
	case *lang.Variable:
		return f.Assign(*to, v)
	case *lang.Cast:
		c, err := f.converted(to.To, to.Written, v)
		if err != nil {
			return err
		}
		if x, ok := to.X.(*lang.Variable); ok {
			f.Named(x.Scope).Types[x.Name] = to.To
		}
		return f.put(to.X, c)
	}

	return f.runAssignTo(&lang.AssignTo{
		To: to,
		Op: "=",
		X:  given,
	}, nil)
}

func (*frame) runGiven(s *lang.GivenStmt, out *object.Sink) error { return out.Put(s.V) }

// incrementValue returns the number before or after (about_Arithmetic_Operators).
func (f *frame) incrementValue(x *lang.Increment) (object.Value, error) {
	before, err := f.value(x.To)
	if err != nil {
		return nil, err
	}
	if before == nil {
		before = int64(0)
	}
	after, err := operator.Arithmetic(x.Op[:1], object.Plain(before), int64(1))
	if err != nil {
		return nil, err
	}
	if x.Prefix {
		before = after
	}
	return before, f.put(x.To, after)
}

func (f *frame) staticOfValue(x *lang.StaticOf) (object.Value, error) {
	s, err := f.staticFound(x)
	if err != nil {
		return nil, err
	}
	return f.staticValue(s)
}

// staticFound returns the static member of the type that the value is.
func (f *frame) staticFound(x *lang.StaticOf) (*lang.Static, error) {
	of, err := f.value(x.Of)
	if err != nil {
		return nil, err
	}
	s := x.Static
	s.Written = typeNameOf(object.Plain(of))
	if s.Written == "" {
		return nil, &object.Exception{
			Class: object.RuntimeException, Category: object.InvalidOperating, ID: "NonNullTypeExpected",
			Message: "The member '" + x.Member + "' is one of a type, and " + object.TypeName(object.Plain(of)) + " is no type.",
		}
	}

	s.Of = words.TypeName(s.Written)
	return &s, nil
}

// typeNameOf returns the name of a type that is a value: the type itself, its name, or an object's type; "" for $null.
func typeNameOf(v object.Value) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return strings.Trim(v, "[]")
	case *object.Object:
		if v.Kind == object.TypeKind {
			return object.Text(v.Props["fullname"])
		}
	}

	return object.TypeName(v)
}

func (f *frame) typeOperandValue(x *lang.TypeOperand) (object.Value, error) {
	t, err := f.value(x.T)
	if err != nil {
		return nil, err
	}
	name := ""
	switch t := object.Plain(t).(type) {
	case string:
		name = typeNameOf(t)
	case *object.Object:
		if t.Kind == object.TypeKind {
			name = typeNameOf(t)
		}
	}

	if name == "" {
		return nil, object.Thrown("The right operand of '%s' must be a type.", x.Op)
	}
	if x.Op == "-as" {
		return f.castValue(&lang.Cast{
			To:      words.TypeName(name),
			X:       x.X,
			Try:     true,
			Written: name,
		})
	}
	return f.typeTestValue(&lang.TypeTest{
		X:       x.X,
		Of:      words.TypeName(name),
		Not:     x.Op == "-isnot",
		Written: name,
	})
}

// splitWords returns the parts of texts between blanks: -split with one operand (about_Split).
func splitWords(v object.Value) object.Value {
	out := []object.Value{}
	for item := range object.Each(v) {
		for part := range strings.FieldsSeq(object.Text(item)) {
			out = append(out, part)
		}
	}

	return out
}

// splitBy carries out -split with a block, which says of each character whether a text is parted there (about_Split).
func (f *frame) splitBy(block *object.ScriptBlock, v, most object.Value) (object.Value, error) {
	limit, err := object.Integer(most)
	if err != nil {
		return nil, err
	}

	out := []object.Value{}
	for item := range object.Each(v) {
		part := ""
		for _, r := range object.Text(item) {
			var got []object.Value
			if limit <= 0 || int64(len(out)) < limit-1 {
				if err := f.RunOn("-split", block, string(r), object.Collect(&got)); err != nil {
					return nil, err
				}
			}
			if object.Truth(object.One(got)) {
				out, part = append(out, part), ""
				continue
			}
			part += string(r)
		}
		out = append(out, part)
	}

	return out, nil
}
