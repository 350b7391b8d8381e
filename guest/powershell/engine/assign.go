package engine

import (
	"errors"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/dotnet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/operator"
)

func (f *frame) runAssignTo(s *lang.AssignTo, _ *object.Sink) error {
	f.in.at(s.At)
	v, err := f.assigned(&lang.Assign{X: s.X})
	if err != nil {
		return err
	}
	if s.Op != "=" {
		before, err := f.value(s.To)
		if err != nil {
			return err
		}
		if v, err = operator.Arithmetic(s.Op[:1], before, v); err != nil {
			return err
		}
	}

	switch to := s.To.(type) {
	case *lang.Member:
		return f.setMember(to, v)
	case *lang.Index:
		return f.setItem(to, v)
	case *lang.Cast:
		return f.put(to, v)
	case *lang.StaticOf:
		found, err := f.staticFound(to)
		if err != nil {
			return err
		}
		return f.put(found, v)
	case *lang.Static:
		if err := f.staticLacks(to); err != nil {
			return err
		}
		of := object.FindField(f.in.class(to.Of).Fields, to.Name)
		if of.Keep != nil {
			return object.Around(of.Keep(f.in.State, v), "Exception setting \""+of.Name+"\": ")
		}
		if of.Set == nil {
			return object.Thrown("Setting [%s]::%s of .NET is not part of Mullion's PowerShell.", to.Written, to.Member)
		}
		return object.Around(of.Set(nil, v), "Exception setting \""+of.Name+"\": ")
	}

	return errors.ErrUnsupported
}

// setMember sets a property.
func (f *frame) setMember(to *lang.Member, v object.Value) error {
	of, err := f.value(to.Of)
	if err != nil {
		return err
	}
	written, err := f.memberName(to)
	if err != nil {
		return err
	}
	name := strings.ToLower(written)
	switch o := of.(type) {
	case *object.Hashtable:
		o.Set(written, v)
		return nil
	case *object.Instance:
		return object.SetProperty(o, name, v)
	}

	o, ok := of.(*object.Object)
	if ok && o.Class != nil {
		if p := object.FindField(o.Class().Props, name); p != nil && p.Set != nil {
			return object.Around(p.Set(o, v), "Exception setting \""+p.Name+"\": ")
		}
	}

	if c, is := computed(o, name); is {
		if c.Set == nil {
			return object.Raise(object.RuntimeException, "Set accessor for property \""+name+"\" is unavailable.")
		}
		return c.Set(o, v)
	}

	if !ok || o.Kind != object.Custom || !o.Has(name) {
		return object.NoProperty(written)
	}

	o.Props[name] = v
	return nil
}

// computed returns a property that a script computes, if it is one.
func computed(o *object.Object, name string) (*object.Computed, bool) {
	if o == nil {
		return nil, false
	}
	c, is := o.Props[name].(*object.Computed)
	return c, is
}

func (f *frame) runAssignSeveral(s *lang.AssignSeveral, _ *object.Sink) error {
	f.in.at(s.At)
	v, err := f.assigned(&lang.Assign{X: s.X})
	if err != nil {
		return err
	}
	items := slices.Collect(object.Each(v))
	for i, to := range s.To {
		var item object.Value
		switch {
		case i >= len(items):
		case i == len(s.To)-1:
			item = object.One(items[i:])
		default:
			item = items[i]
		}
		if err := f.put(to, item); err != nil {
			return err
		}
	}

	return nil
}

func (f *frame) setItem(to *lang.Index, v object.Value) error {
	of, err := f.value(to.Of)
	if err != nil {
		return err
	}
	at, err := f.value(to.At)
	if err != nil {
		return err
	}
	switch o := of.(type) {
	case *object.Hashtable:
		return o.SetAt(object.Plain(at), v)
	case *object.Instance:
		if o.Of.Item != nil && o.Of.Item.Set != nil {
			return object.Around(o.Of.Item.Set(o, at, v), "Exception setting \"Item\": ")
		}
	}

	n, err := object.Integer(at)
	if err != nil {
		return err
	}
	items, ok := of.([]object.Value)
	if l, isList := of.(*object.ArrayList); isList {
		items, ok = l.Items, true
	}
	if n < 0 {
		n += int64(len(items))
	}
	if !ok || n < 0 || n >= int64(len(items)) {
		return object.Thrown("Index was outside the bounds of the array.")
	}
	items[n] = v
	return nil
}

// invokeExpression runs a text as a script, in the scope it is called in.
func invokeExpression(c *cmdlet.Call) error {
	texts := c.Input
	if v, ok := c.Values["command"]; ok {
		texts = []object.Value{v}
	}
	for _, t := range texts {
		if err := frameOf(c).runText(object.Text(t), c.Out); err != nil {
			return err
		}
	}
	return nil
}

// runText runs a text as a script in this scope.
func (f *frame) runText(text string, out *object.Sink) error {
	script, err := lang.Parse(text, "", dotnet.KnownType)
	if err != nil {
		return late(err)
	}
	rise, err := f.in.descend()
	if err != nil {
		return err
	}
	defer rise()

	leave := f.in.Enter(script)
	err = f.RunScript(script, nil, Feed{}, out)
	f.in.mark(err)
	leave()
	return err
}
