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
	// values and flags are its parameters with and without a value; positions are those that an argument without a name is for, and
	// rest says that the last of them takes all that follow.
	values, flags, positions []string
	rest                     bool
	about                    string
	run                      func(c *call) error
}

// call is one run of a cmdlet.
type call struct {
	f      *frame
	name   string
	values map[string]value
	flags  map[string]bool
	input  []value
	piped  bool
	out    *sink
}

// common are the parameters of every cmdlet.
func common() (values, flags []string) {
	return []string{"erroraction"}, []string{"verbose"}
}

// Cmdlets are the names of the cmdlets, each with what it is about, for the support table.
func Cmdlets() map[string]string {
	names := map[string]string{}
	for _, c := range cmdlets() {
		names[c.name] = c.about
	}
	return names
}

func lookup(name string) (cmdlet, bool) {
	name = strings.TrimSuffix(name, ".exe.")
	for _, c := range cmdlets() {
		if lower(c.name) == name || slices.Contains(c.aliases, name) {
			return c, true
		}
	}
	return cmdlet{}, false
}

// parameter finds a parameter by its name or the beginning of one.
func (c cmdlet) parameter(name string) (full string, flag bool, err error) {
	values, flags := common()
	for _, set := range []struct{ values, flags []string }{{c.values, c.flags}, {values, flags}} {
		var found []string
		for _, p := range slices.Concat(set.values, set.flags) {
			if p == name {
				return p, slices.Contains(set.flags, p), nil
			}
			if strings.HasPrefix(p, name) {
				found = append(found, p)
			}
		}
		if len(found) == 1 {
			return found[0], slices.Contains(set.flags, found[0]), nil
		}
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

// call evaluates the parameters and runs the cmdlet.
func (c cmdlet) call(f *frame, args []argument, input []value, piped bool, out *sink) error {
	b, err := c.bind(args)
	if err != nil {
		return &Refusal{Line: 1, What: err.Error()}
	}
	l := &call{f: f, name: c.name, values: map[string]value{}, flags: map[string]bool{}, input: input, piped: piped, out: out}
	_, flags := common()
	flags = append(flags, c.flags...)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		var got []value
		for _, x := range b[name] {
			v, err := x.value(f)
			if err != nil {
				return err
			}
			got = append(got, plain(v))
		}
		if slices.Contains(flags, name) {
			l.flags[name] = truth(one(got))
		} else {
			l.values[name] = one(got)
		}
	}
	if action, ok := l.values["erroraction"]; ok {
		l.f = f.child()
		l.f.vars["erroractionpreference"] = action
	}
	f.in.ok = true
	return c.run(l)
}

// text is a parameter as a string.
func (c *call) text(name string) string { return text(c.values[name]) }

// paths are the items that a cmdlet is for: of a parameter, or from the pipeline.
func (c *call) paths() []string {
	var paths []string
	for _, name := range []string{"path", "literalpath"} {
		for v := range each(c.values[name]) {
			paths = append(paths, text(v))
		}
	}
	if len(paths) == 0 {
		for _, v := range c.input {
			paths = append(paths, text(v))
		}
	}
	return paths
}

// fail says what could not be done; the script goes on unless it is to stop at errors.
func (c *call) fail(err error) error {
	if lower(text(c.f.get("erroractionpreference"))) == "silentlycontinue" {
		c.f.in.ok = false
		return nil
	}
	return c.f.complain(c.name, err)
}
