package engine

import (
	"errors"
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/words"
)

// method adds a method, if what is derived has none that takes its place.
func (c *scriptClass) method(m *lang.ClassMethod) {
	of := &c.of.Methods
	if m.Static {
		of = &c.of.Calls
	}
	if object.Find(*of, m.Name) != nil {
		return // all of its name are looked for when it is called
	}
	*of = append(*of, object.Method{
		Name: m.Name,
		Most: 1 << 10,
		Do: func(call *object.Call) (object.Value, error) {
			return c.call(m.Name, m.Static, call.On, call.Args)
		},
	})
}

// call calls the method of a name that fits the arguments best, that of the class itself before that of its base.
func (c *scriptClass) call(name string, static bool, this object.Value, args []object.Value) (object.Value, error) {
	var best *lang.ClassMethod
	var at *scriptClass
	least := 0
	for k := c; k != nil; k = k.base {
		for i := range k.s.Methods {
			m := &k.s.Methods[i]
			if !strings.EqualFold(m.Name, name) || m.Static != static || k.s.Constructor(m) {
				continue
			}
			if far, ok := c.distance(m, args); ok && (best == nil || far < least) {
				best, at = m, k
				least = far
			}
		}
	}

	if best == nil {
		return nil, noOverload(name, args)
	}
	v, err := at.run(best, this, args)
	if err != nil || words.TypeName(best.To) == "void" {
		return nil, err
	}
	if best.To == "" {
		return v, nil
	}
	return c.home.in.types().Converted(best.To, v)
}

// distance returns how far the arguments are from a method's parameters, and whether it can be called with them.
func (c *scriptClass) distance(m *lang.ClassMethod, args []object.Value) (far int, ok bool) {
	if len(args) != len(m.Script.Params) {
		return 0, false
	}
	types := c.home.in.types()
	for i, p := range m.Script.Params {
		_, isTable := args[i].(*object.Hashtable)
		switch {
		case p.To == "" || p.To == "object":
			far++
		case types.Is(args[i], p.To):
		case types.Class(p.To) != nil && args[i] != nil && !isTable:
			return 0, false
		case types.Class(p.To) == nil:
			if _, err := types.Converted(p.To, args[i]); err != nil {
				return 0, false
			}
			fallthrough
		default:
			far += 2
		}
	}

	return far, true
}

func noOverload(name string, args []object.Value) error {
	return &object.Exception{
		Class:    object.MethodException,
		ID:       "MethodCountCouldNotFindBest",
		Category: "NotSpecified",
		Message:  fmt.Sprintf("Cannot find an overload for %q and the argument count: \"%d\".", name, len(args)),
	}
}

// scope returns where a method runs: it sees its parameters, $this and the variables of the file.
func (c *scriptClass) scope(m *lang.ClassMethod, this object.Value, args []object.Value) (*frame, error) {
	scope := c.home.child()
	if this != nil {
		scope.Vars["this"] = this
	}
	for i, p := range m.Script.Params {
		if err := scope.argument(p, args[i]); err != nil {
			return nil, err
		}
	}

	return scope, nil
}

// run runs a method. What it outputs other than by return is lost.
func (c *scriptClass) run(m *lang.ClassMethod, this object.Value, args []object.Value) (object.Value, error) {
	scope, err := c.scope(m, this, args)
	if err != nil {
		return nil, err
	}
	return c.within(scope, m)
}

func (c *scriptClass) within(scope *frame, m *lang.ClassMethod) (object.Value, error) {
	in := c.home.in
	rise, err := in.descend()
	if err != nil {
		return nil, err
	}
	defer rise()
	defer in.Enter(m.Script)()
	var got []object.Value
	nowhere := func(object.Value) error { return nil }
	err = scope.runBlock(m.Script.Body, &object.Sink{Put: nowhere, Returns: object.Collect(&got)})
	if left, ok := errors.AsType[*object.Leaving](err); ok && left.Word == "return" {
		err = nil
	}
	in.mark(err)
	return object.One(got), err
}

// baseCall calls the method of a base: ([Base]$this).Method( … ).
func (f *frame) baseCall(x *lang.Member, of object.Value, args []object.Value) (v object.Value, is bool, err error) {
	paren, ok := x.Of.(*lang.SubExpr)
	if !ok || !paren.Paren || len(paren.Body) != 1 || x.By != nil {
		return nil, false, nil
	}
	l, ok := paren.Body[0].(*lang.Pipeline)
	if !ok || !l.Expression() {
		return nil, false, nil
	}
	to, ok := l.Stages[0].X.(*lang.Cast)
	if !ok {
		return nil, false, nil
	}
	base := f.in.types().Class(to.To)
	if base == nil || object.Find(base.Methods, x.Name) == nil || !object.ClassOf(of).Descends(base) {
		return nil, false, nil
	}
	v, err = f.in.classes[base].call(x.Name, false, of, args)
	return v, true, err
}
