package engine

import (
	"maps"
	"slices"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// prepare evaluates the parameters of a call.
func (f *frame) prepare(c cmdlet.Cmdlet, args []lang.Argument, piped bool, out *object.Sink) (*cmdlet.Call, error) {
	b, err := binding.Bind(c, args)
	if err == nil {
		err = f.withDefaults(c, b)
	}
	if err == nil {
		err = binding.Verify(c, b, piped)
	}
	if err == nil {
		err = f.asksBefore(c, b)
	}
	if err != nil {
		return nil, c.Unbound(err)
	}
	l := &cmdlet.Call{
		Cmdlet: c,
		Scope:  f,
		State:  f.in.State,
		Action: f.Preference("erroractionpreference"),
		Values: map[string]object.Value{},
		Flags:  map[string]bool{},
		Piped:  piped,
		Out:    out,
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		var got []object.Value
		for _, x := range b[name] {
			v, err := f.value(x)
			if err != nil {
				return nil, err
			}
			got = append(got, object.Plain(v))
		}
		if slices.Contains(append(cmdlet.CommonFlags(), c.Flags...), name) {
			l.Flags[name] = object.Truth(object.One(got))
			continue
		}
		l.Values[name] = object.One(got)
		for v := range object.Each(object.One(got)) {
			switch v.(type) {
			case *object.ScriptBlock, *object.Hashtable:
				continue
			}
			if err := binding.Permits(c, name, object.Text(v)); err != nil {
				return nil, c.Unbound(err)
			}
		}
	}
	if action, ok := l.Values[cmdlet.ErrorAction]; ok {
		l.Action = binding.ActionOf(action)
	}
	if action, ok := l.Values[cmdlet.WarningAction]; ok {
		if err := binding.CheckPreference(cmdlet.WarningAction, action); err != nil {
			return nil, c.Unbound(err)
		}
		l.Warnings = binding.ActionOf(action)
	}
	if l.Kept, err = f.keeps(l.Values); err != nil {
		return nil, err
	}
	l.Out = keptSink(l.Kept, f.in, out)
	for _, name := range cmdlet.CommonValues() {
		delete(l.Values, name)
	}
	return l, nil
}

// runCall runs the cmdlet once on input from the pipeline.
func runCall(c *cmdlet.Call, input []object.Value) error {
	c.Input = input
	return frameOf(c).keeping(c.Kept.Errors, func() error { return c.Run(c) })
}
