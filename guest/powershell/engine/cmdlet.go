package engine

import (
	"maps"
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// bound holds a call's parameters, not yet evaluated; several expressions for the last of positions with rest.
type bound map[string][]lang.Expr

func bind(c cmdlet.Cmdlet, args []lang.Argument) (bound, error) {
	b := bound{}
	var free []lang.Expr
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Param == "" {
			free = append(free, a.X)
			continue
		}
		name, flag, err := c.Parameter(a.Param)
		if err != nil {
			return nil, err
		}
		x := a.X
		if flag {
			if x == nil {
				x = &lang.Literal{V: true}
			}
			b[name] = []lang.Expr{x}
			continue
		}
		if x == nil {
			if i+1 >= len(args) || args[i+1].Param != "" {
				return nil, object.Misfit(object.NoArgumentID,
					"Missing an argument for parameter '%s'. Specify a parameter of type "+
						"'System.Object' and try again.", name)
			}
			i++
			x = args[i].X
		}
		b[name] = []lang.Expr{x}
	}
	for _, p := range c.Positions {
		if _, given := b[p]; given || len(free) == 0 {
			continue
		}
		if c.Rest && p == c.Positions[len(c.Positions)-1] {
			b[p], free = free, nil
			break
		}
		b[p], free = free[:1], free[1:]
	}
	if len(free) > 0 {
		shown := ""
		if s, whole := lang.Beginning(free[0]); whole {
			shown = s
		}
		return nil, object.Misfit(object.NoPositionID,
			"A positional parameter cannot be found that accepts argument '%s'.", shown)
	}
	return b, nil
}

// prepare evaluates the parameters of a call.
func (f *frame) prepare(c cmdlet.Cmdlet, args []lang.Argument, piped bool, out *object.Sink) (*cmdlet.Call, error) {
	b, err := bind(c, args)
	if err == nil {
		err = verify(c, b, piped)
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
			if err := permits(c, name, object.Text(v)); err != nil {
				return nil, c.Unbound(err)
			}
		}
	}
	if action, ok := l.Values[cmdlet.ErrorAction]; ok {
		l.Action = actionOf(action)
	}
	if action, ok := l.Values[cmdlet.WarningAction]; ok {
		if err := checkPreference(cmdlet.WarningAction, action); err != nil {
			return nil, c.Unbound(err)
		}
		l.Warnings = actionOf(action)
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
