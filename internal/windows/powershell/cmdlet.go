package powershell

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// cmdlet is one cmdlet of this part of PowerShell.
type cmdlet struct {
	name    string
	aliases []string
	// values and flags are its parameters with and without a value; positions are those that an argument without a name
	// is for, and rest says that the last of them takes all that follow.
	values, flags, positions []string
	rest                     bool
	// takes is the parameter that the pipeline gives, "" where it gives none. needs are the parameters without which
	// there is nothing to do; a|b is either. In takes and needs path stands for literalpath too.
	takes string
	needs []string
	// stream says that run is called for each object of the pipeline as it comes.
	stream bool
	// allowed are the values that a parameter may have, in lower case.
	allowed map[string][]string
	about   string
	run     func(c *call) error
}

// call is one run of a cmdlet.
type call struct {
	cmdlet
	f      *frame
	action string // what becomes of errors
	values map[string]value
	flags  map[string]bool
	input  []value
	piped  bool
	out    *sink
}

// common is the parameter of every cmdlet.
const common = "erroraction"

// Cmdlets are the names of the cmdlets, each with what it is about, for the support table.
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

// parameter finds a parameter by its name or the beginning of one.
func (c cmdlet) parameter(name string) (full string, flag bool, err error) {
	var found []string
	for _, p := range append(slices.Concat(c.values, c.flags), common) {
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
	if name == "ea" {
		return common, false, nil
	}
	return "", false, fmt.Errorf("the parameter -%s of %s is not part of Mullion's PowerShell", name, c.name)
}

// bound are a call's parameters, not yet evaluated; the rest of positions has several.
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
				return nil, fmt.Errorf("the parameter -%s of %s needs a value", name, c.name)
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
		return nil, fmt.Errorf("%s has an argument too many", c.name)
	}
	return b, nil
}

// prepare evaluates the parameters of a call.
func (c cmdlet) prepare(f *frame, args []argument, piped bool, out *sink) (*call, error) {
	b, err := c.bind(args)
	if err == nil {
		err = c.verify(b, piped)
	}
	if err != nil { // of a name that is known only now
		return nil, thrown("%v.", err)
	}
	l := &call{
		cmdlet: c,
		f:      f,
		action: lower(text(f.get("erroractionpreference"))),
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
		if slices.Contains(c.flags, name) {
			l.flags[name] = truth(one(got))
			continue
		}
		l.values[name] = one(got)
		if err := c.permits(name, text(one(got))); err != nil {
			return nil, thrown("%v.", err)
		}
	}
	if action, ok := l.values[common]; ok {
		l.action = lower(text(action))
	}
	return l, nil
}

// do runs the cmdlet once on what the pipeline gave.
func (c *call) do(input []value) error {
	c.input = input
	return c.run(c)
}

// text is a parameter as a string.
func (c *call) text(name string) string { return text(c.values[name]) }

// items are the objects that a cmdlet is given: by a parameter, or by the pipeline.
func (c *call) items(name string) []value {
	if v, ok := c.values[name]; ok {
		return slices.Collect(each(v))
	}
	return c.input
}

// fail says what could not be done; the script goes on unless it is to stop at errors.
func (c *call) fail(err error) error { return c.f.complainAs(c.action, c.name, err) }
