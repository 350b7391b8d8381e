package powershell

import (
	"cmp"
	"slices"
	"strings"
)

// bind gives parameters their values; the remaining arguments are $args. It returns the parameters that are left to the
// pipeline.
func (f *frame) bind(caller *frame, s *Script, args []argument, piped bool) ([]param, error) {
	if err := s.lacks(); err != nil {
		return nil, err
	}
	var rest []value
	given := map[string]bool{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.param == "" {
			v, err := a.x.value(caller)
			if err != nil {
				return nil, err
			}
			rest = append(rest, plain(v))
			continue
		}
		p, err := s.param(a.param)
		if err != nil {
			return nil, err
		}
		if a.x == nil && p.to != "switch" && i+1 < len(args) && args[i+1].param == "" {
			i++
			a.x = args[i].x
		}
		v := value(true)
		if a.x != nil {
			var err error
			if v, err = a.x.value(caller); err != nil {
				return nil, err
			}
		}
		given[p.name] = true
		if err := f.argument(p, v); err != nil {
			return nil, err
		}
	}
	f.vars["psboundparameters"] = newTable(false)
	defer f.bound(s, given)
	return f.fill(s, given, rest, piped)
}

// bound puts the parameters that a call gave into $PSBoundParameters (about_Automatic_Variables).
func (f *frame) bound(s *Script, given map[string]bool) {
	t, ok := f.vars["psboundparameters"].(*table)
	if !ok {
		return
	}
	for _, p := range s.params {
		if given[p.name] {
			t.set(p.written, f.vars[p.name])
		}
	}
}

// lacks is the error of a call of what has attributes that are not here, nil without.
func (s *Script) lacks() error {
	all := slices.Clone(s.lacking)
	for _, p := range s.params {
		all = append(all, p.lacking...)
	}
	if len(all) == 0 {
		return nil
	}
	return (&lateX{strings.Join(all, ", ")}).err()
}

// param finds a parameter by its name or the beginning of its name.
func (s *Script) param(name string) (param, error) {
	var found []param
	for _, p := range s.params {
		if p.name == name || slices.Contains(p.aliases, name) {
			return p, nil
		}
		if strings.HasPrefix(p.name, name) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		if len(found) > 1 {
			return param{}, misfit(ambiguousID, "Parameter cannot be processed because the parameter name '%s' is ambiguous.",
				name)
		}
		return param{}, misfit(noParameterID, "A parameter cannot be found that matches parameter name '%s'.", name)
	}
	return found[0], nil
}

// places are the parameters that take arguments without a name, in order: those with a position, or else all.
func (s *Script) places() []param {
	var placed, all []param
	for _, p := range s.params {
		if p.position != nil {
			placed = append(placed, p)
		}
		if p.to != "switch" && !s.byName {
			all = append(all, p)
		}
	}
	if placed == nil {
		return all
	}
	slices.SortStableFunc(placed, func(a, b param) int { return cmp.Compare(*a.position, *b.position) })
	return placed
}

// byPlace gives the arguments without a name to the parameters that take them, and returns those that remain.
func (f *frame) byPlace(s *Script, given map[string]bool, rest []value) ([]value, error) {
	for _, p := range s.places() {
		if given[p.name] || len(rest) == 0 || p.remaining {
			continue
		}
		given[p.name] = true
		if err := f.argument(p, rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}
	for _, p := range s.params {
		if p.remaining && !given[p.name] && len(rest) > 0 {
			given[p.name] = true
			return nil, f.argument(p, rest)
		}
	}
	return rest, nil
}

// fill gives a value to each parameter that has none: first the arguments without a name, then the parameter's default.
func (f *frame) fill(s *Script, given map[string]bool, rest []value, piped bool) ([]param, error) {
	rest, err := f.byPlace(s, given, rest)
	if err != nil {
		return nil, err
	}
	for _, p := range s.params {
		var v value
		switch {
		case given[p.name]:
			continue
		case piped && (p.piped || p.pipedName):
			f.vars[p.name] = nil
			continue
		case p.mandatory:
			return nil, misfit(noMandatoryID,
				"Cannot process command because of one or more missing mandatory parameters: %s.", p.name)
		case p.fallback != nil:
			if v, err = p.fallback.value(f); err != nil {
				return nil, err
			}
		}
		if err := f.give(p, v); err != nil {
			return nil, err
		}
	}
	if s.advanced() && len(rest) > 0 {
		return nil, misfit(noPositionID,
			"A positional parameter cannot be found that accepts argument '%s'.", text(rest[0]))
	}
	f.vars["args"] = rest
	return s.fromPipeline(given), nil
}

// argument sets a parameter to an argument, which must meet the parameter's conditions.
func (f *frame) argument(p param, v value) error {
	if err := f.give(p, v); err != nil {
		return err
	}
	return f.valid(p, f.vars[p.name])
}

// give sets a parameter to a value, converted to its type.
func (f *frame) give(p param, v value) error {
	v = plain(v)
	if p.to != "" {
		var err error
		if s, ok := v.(string); ok && (p.to == "bool" || p.to == "switch") {
			return thrown("Cannot convert value %q to type System.Boolean.", s)
		}
		if v, err = converted(p.to, v); err != nil {
			return err
		}
	}
	f.vars[p.name] = v
	if p.to != "" && p.to != "switch" {
		f.types[p.name] = p.to
	}
	return nil
}
