package engine

import (
	"maps"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/binding"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// prepare evaluates the parameters of a call.
func (f *frame) prepare(c cmdlet.Cmdlet, s lang.Stage, piped bool, out *object.Sink) (*cmdlet.Call, error) {
	if asksHelp(s) {
		help, _ := f.Table().Lookup("get-help")
		s.Args = []lang.Argument{{X: &lang.Literal{V: c.Name}}}
		c, piped = help, false
	}
	by := &object.Invoked{
		Name:    s.Word,
		Command: c.Name,
		Kind:    "Cmdlet",
		At:      s.At,
	}
	unbound := func(err error) error {
		err = c.Unbound(err)
		object.Blame(err, by)
		return err
	}

	b, err := f.boundTo(c, s, piped)
	if err != nil {
		err = unbound(err)
		if a, is := unknownParameter(c, s); is {
			err = asWritten(err, a)
			object.PlaceOf(err).At = a.At
		}
		return nil, err
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
		By:     by,
	}

	for _, name := range slices.Sorted(maps.Keys(b)) {
		got, err := f.all(b[name])
		if err != nil {
			return nil, err
		}
		if name == cmdlet.WhatIfName || slices.Contains(append(cmdlet.CommonFlags(), c.Flags...), name) {
			l.Flags[name] = object.Truth(got)
			continue
		}
		l.Values[name] = got
		if err := permits(c, name, got); err != nil {
			return nil, unbound(err)
		}
	}

	if action, ok := l.Values[cmdlet.ErrorAction]; ok {
		l.Action = binding.ActionOf(action)
	}
	if action, ok := l.Values[cmdlet.WarningAction]; ok {
		if err := binding.CheckPreference(cmdlet.WarningAction, action); err != nil {
			return nil, unbound(err)
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

// asksHelp reports whether a call is followed by -? alone, which stands for Get-Help
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/get-help).
func asksHelp(s lang.Stage) bool {
	if len(s.Args) != 1 || s.Args[0].Param != "" {
		return false
	}
	text, whole := lang.Beginning(s.Args[0].X)
	return whole && text == "-?"
}

// boundTo finds the parameters of a call, with their defaults, and refuses what they cannot be.
func (f *frame) boundTo(c cmdlet.Cmdlet, s lang.Stage, piped bool) (binding.Bound, error) {
	b, err := binding.Bind(c, s.Args)
	if err == nil {
		err = f.withDefaults(c, b)
	}
	if err == nil {
		err = binding.Verify(c, b, piped)
	}
	if err == nil {
		err = f.asksBefore(c, b)
	}
	return b, err
}

// all returns the values of the expressions of a parameter as one.
func (f *frame) all(of []lang.Expr) (object.Value, error) {
	var got []object.Value
	for _, x := range of {
		v, err := f.value(x)
		if err != nil {
			return nil, err
		}
		got = append(got, object.Plain(v))
	}

	return object.One(got), nil
}

// permits refuses values that a parameter cannot have.
func permits(c cmdlet.Cmdlet, name string, values object.Value) error {
	for v := range object.Each(values) {
		switch v.(type) {
		case *object.ScriptBlock, *object.Hashtable:
			continue
		}
		if err := binding.Permits(c, name, object.Text(v)); err != nil {
			return err
		}
	}

	return nil
}

// runCall runs the cmdlet once on input from the pipeline.
func runCall(c *cmdlet.Call, input []object.Value) error {
	c.Input = input
	f := frameOf(c)
	run := c.Run
	if c.WhatIf != nil && f.whatIf(c) {
		run = f.sayDeeds
	}
	return f.keeping(c.Kept.Errors, func() error { return blamed(c, run(c)) })
}

// blamed returns an error of a cmdlet, and lets it know by whom it is.
func blamed(c *cmdlet.Call, err error) error {
	if err != nil {
		object.Blame(err, c.By)
	}
	return err
}

// unknownParameter returns the argument that names a parameter that a cmdlet does not have, if there is one.
func unknownParameter(c cmdlet.Cmdlet, s lang.Stage) (a lang.Argument, is bool) {
	for _, a := range s.Args {
		if a.Param == "" || !a.At.Known() {
			continue
		}
		if _, _, err := c.Parameter(a.Param); err != nil {
			return a, true
		}
	}

	return lang.Argument{}, false
}

// asWritten returns an error about a parameter, with its name as it is written.
func asWritten(err error, a lang.Argument) error {
	r := object.RecordOf(err)
	name := strings.Trim(a.Text, "-:")
	r.Message = strings.ReplaceAll(r.Message, "'"+a.Param+"'", "'"+name+"'")
	r.Message = strings.ReplaceAll(r.Message, "-"+a.Param+" ", "-"+name+" ")
	return &object.Leaving{
		Word:      "throw",
		Statement: true,
		What:      &object.Instance{Of: object.RecordClass(), V: r},
	}
}
