package engine

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/absent"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/position"
	"mullion.dev/mullion/guest/powershell/words"
)

func (*frame) literalValue(x *lang.Literal) (object.Value, error) { return x.V, nil }

func (*frame) blockLiteralValue(x *lang.BlockLiteral) (object.Value, error) {
	return x.Script.Block(), nil
}

func (f *frame) variableValue(x *lang.Variable) (object.Value, error) {
	v, there := f.look(*x)
	if there {
		return v, nil
	}
	if !x.Env && slices.Contains(absent.Missing(), x.Name) {
		return nil, notHere(&lang.LateExpr{What: "the automatic variable $" + x.Name})
	}
	return nil, f.unset(*x)
}

// variable returns a variable's value, $null if it is not there.
func (f *frame) variable(v lang.Variable) object.Value {
	got, _ := f.look(v)
	return got
}

// look finds a variable's value.
func (f *frame) look(v lang.Variable) (got object.Value, there bool) {
	if v.Env {
		if s, ok := f.in.Env[strings.ToUpper(v.Name)]; ok {
			return s, true
		}
		return nil, false
	}

	if v.Scope == "using" { // of a job's block, which has the caller's variables around it
		return f.Find(v.Name)
	}
	if f.Drive(v.Scope) != nil {
		return f.DriveItem(v)
	}
	if v.Scope != "" {
		if got, there := f.Named(v.Scope).Vars[v.Name]; there {
			return got, true
		}
		return f.Session.Host.Own(v.Name)
	}

	return f.Find(v.Name)
}

func (f *frame) templateValue(x *lang.Template) (object.Value, error) {
	var parts []string
	for _, part := range x.Parts {
		v, err := f.value(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, object.Text(v))
	}

	return object.TextOf(parts, "")
}

func (f *frame) listValue(x *lang.List) (object.Value, error) {
	out := []object.Value{}
	for _, item := range x.Items {
		v, err := f.value(item)
		if err != nil {
			return nil, err
		}
		out = append(out, object.Plain(v))
	}

	return out, nil
}

func (f *frame) subValue(x *lang.SubExpr) (object.Value, error) {
	if x.Paren && len(x.Body) == 1 {
		if v, is, err := setting(x.Body[0], f); is || err != nil {
			return v, err
		}
	}

	if x.Paren && len(x.Body) == 1 {
		if l, ok := x.Body[0].(*lang.Pipeline); ok && l.Expression() {
			f.in.at(l.Stages[0].At)
			v, err := f.value(l.Stages[0].X)
			f.in.OK = true
			return object.Plain(v), err
		}
		got, err := captureOne(x.Body[0], f, true)
		return object.One(got), err
	}

	got, err := capture(x.Body, f, !x.Array && len(x.Body) == 1)
	if err != nil || x.Array {
		return got, err
	}
	return object.One(got), nil
}

func (f *frame) unaryValue(x *lang.Unary) (object.Value, error) {
	v, err := f.value(x.X)
	if err != nil {
		return nil, err
	}
	switch x.Op {
	case "-":
		return operator.Arithmetic("-", int64(0), v)
	case "+":
		return operator.Arithmetic("+", int64(0), v)
	case "-bnot":
		n, err := object.Integer(v)
		return ^n, err
	case "-join":
		return operator.Lists("-join", false, object.Plain(v), "")
	case "-split", "-csplit":
		return splitWords(object.Plain(v)), nil
	}

	return !object.Truth(v), nil
}

func (f *frame) castValue(x *lang.Cast) (object.Value, error) {
	if x.To == "ref" {
		return f.referenceValue(x)
	}
	v, err := f.value(x.X)
	if err != nil {
		return nil, err
	}
	c, err := f.converted(x.To, x.Written, v)
	if err != nil && x.Try && object.RecordOf(err).ID != object.NoTypeID {
		return nil, nil
	}
	return c, err
}

func (f *frame) indexValue(x *lang.Index) (object.Value, error) {
	of, err := f.value(x.Of)
	if err != nil {
		return nil, err
	}
	at, err := f.value(x.At)
	if err != nil {
		return nil, err
	}
	if err := f.outside(of, object.Plain(at)); err != nil {
		return nil, err
	}
	return operator.ItemAt(of, object.Plain(at))
}

func (f *frame) binaryValue(x *lang.Binary) (object.Value, error) {
	a, err := f.value(x.A)
	if err != nil {
		return nil, err
	}
	switch x.Op { // these operators may not need the right side
	case "-and":
		if !object.Truth(a) {
			return false, nil
		}
	case "-or":
		if object.Truth(a) {
			return true, nil
		}
	}

	b, err := f.value(x.B)
	if err != nil {
		return nil, err
	}
	list, err := object.Listed(object.Plain(a)) // what stands left decides what the operator does
	if err != nil {
		return nil, err
	}
	return f.binaryOf(x, list, object.Plain(b))
}

// binaryOf returns the operator's result for its two sides. -match and -notmatch of one text set $Matches.
func (f *frame) binaryOf(x *lang.Binary, a, b object.Value) (object.Value, error) {
	switch op, _ := operator.CaseOf(x.Op); op {
	case "-match", "-notmatch":
		if _, several := a.([]object.Value); !several {
			return f.match(x.Op, object.Text(a), b)
		}
	case "-split":
		operands := append(object.Items(b), nil)
		if block, is := operands[0].(*object.ScriptBlock); is {
			return f.splitBy(block, a, operands[1])
		}
	}

	return operator.Apply(x.Op, a, b)
}

// match carries out -match and -notmatch of one text; it sets $Matches.
func (f *frame) match(op, s string, b object.Value) (object.Value, error) {
	op, exact := operator.CaseOf(op)
	p, err := pattern.CompileAs(b, exact)
	if err != nil {
		return nil, err
	}
	m, err := p.First(s)
	if err != nil {
		return nil, err
	}
	if m != nil {
		f.in.matches = p.Groups(m)
	}
	return (m != nil) == (op == "-match"), nil
}

func (f *frame) hashValue(x *lang.HashLiteral) (object.Value, error) {
	t := object.NewTable(x.As != "")
	for i, k := range x.Keys {
		key, err := f.value(k)
		if err != nil {
			return nil, err
		}
		if key = object.Plain(key); key == nil {
			return nil, object.Raise("System.ArgumentNullException", "A null key is not allowed in a hash literal.")
		}
		if t.Has(key) {
			return nil, object.Raise("System.ArgumentException", "Item has already been added. Key in dictionary: '"+
				object.Text(key)+"'  Key being added: '"+object.Text(key)+"'")
		}
		v, err := f.assigned(&lang.Assign{X: x.Values[i]})
		if err != nil {
			return nil, err
		}
		t.Set(key, v)
	}

	if x.As == "pscustomobject" {
		return t.Object(), nil
	}
	return t, nil
}

func (*frame) lateValue(x *lang.LateExpr) (object.Value, error) {
	return nil, notHere(x)
}

// notHere returns the error of what is not here.
func notHere(x *lang.LateExpr) error {
	return &object.Exception{
		Class:    object.RuntimeException,
		ID:       "NotImplemented",
		Category: "NotImplemented",
		Message:  object.UpperFirst(x.What) + " is " + words.NotHere + ".",
	}
}

func (f *frame) runLateStatement(s *lang.LateStmt, _ *object.Sink) error {
	f.in.at(s.At)
	return notHere(&s.LateExpr)
}

// noCommand returns the error of a command that is neither a cmdlet here, nor a function, a script file or a program.
func noCommand(word string, at position.Extent) error {
	const message = "The term '%s' is not recognized as the name of a cmdlet, function, script file, or operable program. " +
		"Check the spelling of the name, or if a path was included, verify that the path is correct and try again."
	r := &object.ErrorRecord{
		Message:  fmt.Sprintf(message, word),
		Class:    object.CommandException,
		Target:   word,
		ID:       object.NoCommandID,
		Category: object.ObjectNotFound,
	}

	if err := absent.Unknown(word); err != nil {
		r.Message += " In Mullion: " + err.Error() + "."
	}
	r.By, r.At = &object.Invoked{Name: word}, at
	return &object.Leaving{
		Word:      "throw",
		Statement: true,
		What:      &object.Instance{Of: object.RecordClass(), V: r},
	}
}
