package engine

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/lang"
	"mullion.dev/mullion/guest/powershell/object"
)

// bind gives parameters their values; the remaining arguments are $args. It returns the parameters that are left to the
// pipeline.
func (f *frame) bind(caller *frame, s *lang.Script, args []lang.Argument, piped bool) ([]lang.Param, error) {
	if err := scriptLacks(s); err != nil {
		return nil, err
	}
	given, rest, err := f.arguments(caller, s, args)
	if err != nil {
		return nil, err
	}
	s, set, err := lang.Choose(s, given, len(rest), piped)
	if err != nil {
		return nil, err
	}
	if advanced(s) {
		f.Vars["pscmdlet"] = f.running(s, set)
	}

	f.Vars["psboundparameters"] = object.NewTable(false)
	defer f.bound(s, given)
	return f.fill(s, given, rest, piped)
}

// arguments gives parameters the values that a call names, and returns which, and the values without a name.
func (f *frame) arguments(caller *frame, s *lang.Script, args []lang.Argument) (
	given map[string]bool, rest []object.Value, err error,
) {
	given = map[string]bool{}
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.Param == "" {
			v, err := caller.value(a.X)
			if err != nil {
				return nil, nil, err
			}
			rest = append(rest, object.Plain(v))
			continue
		}

		p, err := param(s, a.Param)
		if err != nil {
			err = asWritten(err, a)
			object.PlaceOf(err).At = a.At
			return nil, nil, err
		}
		if a.X == nil && p.To != "switch" && i+1 < len(args) && args[i+1].Param == "" {
			i++
			a.X = args[i].X
		}

		v, err := caller.valueOrTrue(a.X)
		if err != nil {
			return nil, nil, err
		}
		given[p.Name] = true
		if err := f.argument(p, v); err != nil {
			if at := object.PlaceOf(err); at != nil && at.Trace == "" {
				at.At = args[i].At
			}
			return nil, nil, err
		}
	}

	return given, rest, nil
}

// valueOrTrue returns the value of an argument; a parameter without one is true.
func (f *frame) valueOrTrue(x lang.Expr) (object.Value, error) {
	if x == nil {
		return true, nil
	}
	return f.value(x)
}

// bound puts the parameters that a call gave into $PSBoundParameters (about_Automatic_Variables).
func (f *frame) bound(s *lang.Script, given map[string]bool) {
	t, ok := f.Vars["psboundparameters"].(*object.Hashtable)
	if !ok {
		return
	}
	for _, p := range s.Params {
		if given[p.Name] {
			t.Set(p.Written, f.Vars[p.Name])
		}
	}
}

// scriptLacks returns the error of a call of what has attributes that are not here, nil without.
func scriptLacks(s *lang.Script) error {
	all := slices.Clone(s.Lacking)
	for _, p := range s.Params {
		all = append(all, p.Lacking...)
	}
	if len(all) == 0 {
		return nil
	}
	return notHere(&lang.LateExpr{What: strings.Join(all, ", ")})
}

// param finds a parameter by its name or the beginning of its name.
func param(s *lang.Script, name string) (lang.Param, error) {
	var found []lang.Param
	for _, p := range s.Params {
		if p.Name == name || slices.Contains(p.Aliases, name) {
			return p, nil
		}
		if strings.HasPrefix(p.Name, name) {
			found = append(found, p)
		}
	}

	if len(found) != 1 {
		if len(found) > 1 {
			return lang.Param{}, object.Misfit(object.AmbiguousID,
				"Parameter cannot be processed because the parameter name '%s' is ambiguous.",
				name)
		}
		return lang.Param{}, object.Misfit(object.NoParameterID,
			"A parameter cannot be found that matches parameter name '%s'.", name)
	}

	return found[0], nil
}

// byPlace gives the arguments without a name to the parameters that take them, and returns those that remain.
func (f *frame) byPlace(s *lang.Script, given map[string]bool, rest []object.Value) ([]object.Value, error) {
	for _, p := range lang.Places(s) {
		if given[p.Name] || len(rest) == 0 || p.Remaining {
			continue
		}
		given[p.Name] = true
		if err := f.argument(p, rest[0]); err != nil {
			return nil, err
		}
		rest = rest[1:]
	}

	for _, p := range s.Params {
		if p.Remaining && !given[p.Name] && len(rest) > 0 {
			given[p.Name] = true
			return nil, f.argument(p, rest)
		}
	}

	return rest, nil
}

// fill gives a value to each parameter that has none: first the arguments without a name, then the parameter's default.
func (f *frame) fill(s *lang.Script, given map[string]bool, rest []object.Value, piped bool) ([]lang.Param, error) {
	rest, err := f.byPlace(s, given, rest)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Params {
		var v object.Value
		switch {
		case given[p.Name]:
			continue
		case piped && (p.Piped || p.PipedName):
			f.Vars[p.Name] = nil
			continue
		case p.Mandatory:
			return nil, object.Misfit(object.NoMandatoryID,
				"Cannot process command because of one or more missing mandatory parameters: %s.", p.Name)
		case p.Fallback != nil:
			if v, err = f.value(p.Fallback); err != nil {
				return nil, err
			}
		}
		if err := f.give(p, v); err != nil && p.Fallback != nil {
			return nil, err
		} else if err != nil { // of a type that has no value for none
			f.Vars[p.Name] = nil
		}
	}

	if advanced(s) && len(rest) > 0 {
		return nil, object.Misfit(object.NoPositionID,
			"A positional parameter cannot be found that accepts argument '%s'.", object.Text(rest[0]))
	}
	f.Vars["args"] = rest
	return fromPipeline(s, given), nil
}

// argument sets a parameter to an argument, which must meet the parameter's conditions.
func (f *frame) argument(p lang.Param, v object.Value) error {
	if err := f.give(p, v); err != nil {
		return err
	}
	return f.valid(p, f.Vars[p.Name])
}

// untransformed returns the error of an argument that cannot be converted to its parameter's type.
func untransformed(p lang.Param, err error) error {
	if !object.Catchable(err) {
		return err
	}
	return &object.Exception{
		Class:    object.TransformationException,
		ID:       "ParameterArgumentTransformationError",
		Category: "InvalidData",
		Message: fmt.Sprintf("Cannot process argument transformation on parameter '%s'. %s", p.Written,
			object.RecordOf(err).Message),
	}
}

// give sets a parameter to a value, converted to its type.
func (f *frame) give(p lang.Param, v object.Value) error {
	v = object.Plain(v)
	if p.To != "" {
		var err error
		to := map[string]string{"bool": "System.Boolean", "switch": "System.Management.Automation.SwitchParameter"}[p.To]
		if _, isText := v.(string); isText && to != "" {
			return untransformed(p, object.Thrown("Cannot convert value \"System.String\" to type %q. "+
				"Boolean parameters accept only Boolean values and numbers, such as $True, $False, 1 or 0.", to))
		}
		if v, err = f.in.types().Converted(p.To, v); err != nil {
			return untransformed(p, err)
		}
	}

	f.Vars[p.Name] = v
	if p.To != "" && p.To != "switch" {
		f.Types[p.Name] = p.To
	}
	return nil
}
