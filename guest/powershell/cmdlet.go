package powershell

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// cmdlet is one cmdlet of this part of PowerShell.
type cmdlet struct {
	name    string
	aliases []string
	// values and flags are the parameters with and without a value. positions are the parameters for arguments without
	// a name, in order; rest says that the last of them takes all that remain.
	values, flags, positions []string
	rest                     bool
	// takes is the parameter that gets its value from the pipeline, "" if none does; a|b means the first of them that
	// has no value. needs are the required parameters; a|b means either of them. In takes and needs, path stands for
	// literalpath too.
	takes string
	needs []string
	// stream says that run is called for each object of the pipeline as it comes.
	stream bool
	// also are further names of parameters.
	also map[string]string
	// allowed are the values that a parameter may have, in lower case.
	allowed map[string][]string
	about   string
	run     func(c *call) error
}

// call is one run of a cmdlet.
type call struct {
	cmdlet
	f      *frame
	action string // what to do on errors, as ErrorAction
	values map[string]value
	flags  map[string]bool
	input  []value
	piped  bool
	out    *sink
	kept   kept
}

// Cmdlets returns the names of the cmdlets, each with a description, for the support table.
func Cmdlets() map[string]string {
	names := map[string]string{}
	for _, c := range cmdlets() {
		names[c.name] = c.about
	}
	return names
}

func lookup(name string) (cmdlet, bool) {
	for _, c := range cmdlets() {
		if lower(c.name) == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return cmdlet{}, false
}

// parameter finds a parameter by its name or the beginning of its name.
func (c cmdlet) parameter(name string) (full string, flag bool, err error) {
	if other, ok := c.also[name]; ok {
		name = other
	}
	var found []string
	for _, p := range slices.Concat(c.values, c.flags) {
		if p == name {
			return p, slices.Contains(c.flags, p), nil
		}
		if strings.HasPrefix(p, name) {
			found = append(found, p)
		}
	}
	if len(found) == 1 {
		return found[0], slices.Contains(c.flags, found[0]), nil
	}
	switch of := commonNamed(name); {
	case len(found) > 1: // PowerShell's own error
	case slices.Contains(commonValues(), of):
		return of, false, nil
	case slices.Contains(commonFlags(), name):
		return name, true, nil
	}
	if len(found) > 1 {
		return "", false, misfit(ambiguousID, "Parameter cannot be processed because the parameter name '%s' is ambiguous. "+
			"Possible matches include: -%s.", name, strings.Join(found, " -"))
	}
	return "", false, misfit(noParameterID, "A parameter cannot be found that matches parameter name '%s'. The "+
		"parameter -%[1]s of %s is not part of Mullion's PowerShell.", name, c.name)
}

// bound holds a call's parameters, not yet evaluated; several expressions for the last of positions with rest.
type bound map[string][]expr

func (c cmdlet) bind(args []argument) (bound, error) {
	b := bound{}
	var free []expr
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.param == "" {
			free = append(free, a.x)
			continue
		}
		name, flag, err := c.parameter(a.param)
		if err != nil {
			return nil, err
		}
		x := a.x
		if flag {
			if x == nil {
				x = &literal{true}
			}
			b[name] = []expr{x}
			continue
		}
		if x == nil {
			if i+1 >= len(args) || args[i+1].param != "" {
				return nil, misfit(noArgumentID, "Missing an argument for parameter '%s'. Specify a parameter of type "+
					"'System.Object' and try again.", name)
			}
			i++
			x = args[i].x
		}
		b[name] = []expr{x}
	}
	for _, p := range c.positions {
		if _, given := b[p]; given || len(free) == 0 {
			continue
		}
		if c.rest && p == c.positions[len(c.positions)-1] {
			b[p], free = free, nil
			break
		}
		b[p], free = free[:1], free[1:]
	}
	if len(free) > 0 {
		shown := ""
		if s, whole := beginning(free[0]); whole {
			shown = s
		}
		return nil, misfit(noPositionID, "A positional parameter cannot be found that accepts argument '%s'.", shown)
	}
	return b, nil
}

// prepare evaluates the parameters of a call.
func (c cmdlet) prepare(f *frame, args []argument, piped bool, out *sink) (*call, error) {
	b, err := c.bind(args)
	if err == nil {
		err = c.verify(b, piped)
	}
	if err != nil {
		return nil, c.unbound(err)
	}
	l := &call{
		cmdlet: c,
		f:      f,
		action: f.preference("erroractionpreference"),
		values: map[string]value{},
		flags:  map[string]bool{},
		piped:  piped,
		out:    out,
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		var got []value
		for _, x := range b[name] {
			v, err := x.value(f)
			if err != nil {
				return nil, err
			}
			got = append(got, plain(v))
		}
		if slices.Contains(append(commonFlags(), c.flags...), name) {
			l.flags[name] = truth(one(got))
			continue
		}
		l.values[name] = one(got)
		for v := range each(one(got)) {
			switch v.(type) {
			case *scriptBlock, *table:
				continue
			}
			if err := c.permits(name, text(v)); err != nil {
				return nil, c.unbound(err)
			}
		}
	}
	if action, ok := l.values[common]; ok {
		l.action = actionOf(action)
	}
	if l.kept, err = f.keeps(l.values); err != nil {
		return nil, err
	}
	l.out = l.kept.sink(f.in, out)
	for _, name := range commonValues() {
		delete(l.values, name)
	}
	return l, nil
}

// unbound is the error of a call that cannot be carried out as it is written.
func (c cmdlet) unbound(err error) error {
	r := recordOf(err)
	if _, own := errors.AsType[*exception](err); !own {
		r = recordOf(misfit("ParameterArgumentValidationError", "%v", err))
	}
	r.activity, r.shown = c.name, c.name+" : "+r.message
	return &leaving{word: "throw", statement: true, what: &instance{recordClass(), r}}
}

// do runs the cmdlet once on input from the pipeline.
func (c *call) do(input []value) error {
	c.input = input
	return c.f.keeping(c.kept.errors, func() error { return c.run(c) })
}

// text returns a parameter as a string.
func (c *call) text(name string) string { return text(c.values[name]) }

// items returns the objects that a cmdlet gets by a parameter or from the pipeline.
func (c *call) items(name string) []value {
	if v, ok := c.values[name]; ok {
		return slices.Collect(each(v))
	}
	return c.input
}

// fail reports an error of the cmdlet; the script goes on unless it has to stop at errors.
func (c *call) fail(err error) error { return c.f.complainAs(c.action, c.name, err) }
