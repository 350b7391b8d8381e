package lang

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/object"
)

// allSets is the parameter set of a function that names none, as $PSCmdlet.ParameterSetName has it.
const allSets = "__AllParameterSets"

// noSetID is the identifier of the error of a call whose parameters are those of no set, or of several.
const noSetID = "AmbiguousParameterSet"

// Choose picks the parameter set of a call, and returns the script whose parameters have their roles in this set. Given
// are the parameters that the call names, loose is how many arguments have no name
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_parameter_sets).
func Choose(s *Script, given map[string]bool, loose int, piped bool) (*Script, string, error) {
	if s.DefaultSet == "" && !slices.ContainsFunc(s.Params, func(p Param) bool { return len(p.Roles) > 0 }) {
		return s, allSets, nil
	}

	fitting := slices.DeleteFunc(setsOf(s), func(set string) bool {
		return slices.ContainsFunc(s.Params, func(p Param) bool {
			_, member := roleIn(p, set)
			return given[p.Name] && !member
		})
	})

	set := ""
	switch len(fitting) {
	case 0:
		return nil, "", unresolved()
	case 1:
		set = fitting[0]
	default:
		var one bool
		if set, one = pick(s, fitting, given, loose, piped); !one {
			return nil, "", unresolved()
		}
	}

	in := *s
	in.Params = slices.Clone(s.Params)
	for i, p := range in.Params {
		in.Params[i].Role, _ = roleIn(p, set)
	}

	return &in, set, nil
}

func unresolved() error {
	return object.Misfit(noSetID, "Parameter set cannot be resolved using the specified named parameters.")
}

// setsOf returns the parameter sets that a function names, each once, the default first; or the one of all parameters.
func setsOf(s *Script) []string {
	var sets []string
	add := func(set string) {
		if set != "" && !slices.ContainsFunc(sets, func(other string) bool { return strings.EqualFold(other, set) }) {
			sets = append(sets, set)
		}
	}

	add(s.DefaultSet)
	for _, p := range s.Params {
		for _, r := range p.Roles {
			add(r.Set)
		}
	}

	if sets == nil {
		return []string{allSets}
	}
	return sets
}

// roleIn returns the role of a parameter in a set, and whether it has one. A parameter without attributes is one of
// each set.
func roleIn(p Param, set string) (r Role, member bool) {
	if len(p.Roles) == 0 {
		return r, true
	}
	for _, r := range p.Roles {
		if strings.EqualFold(r.Set, set) {
			return r, true
		}
	}

	for _, r := range p.Roles {
		if r.Set == "" || strings.EqualFold(r.Set, allSets) {
			return r, true
		}
	}

	return Role{}, false
}

// pick picks one of several sets that fit: of those that have a place for each argument and lack no mandatory parameter
// the default, or the only one; if all lack one, the default.
func pick(s *Script, sets []string, given map[string]bool, loose int, piped bool) (set string, one bool) {
	isDefault := func(set string) bool { return strings.EqualFold(set, s.DefaultSet) }
	whole := slices.DeleteFunc(slices.Clone(sets), func(set string) bool { return lacks(s, set, given, loose, piped) })

	for _, from := range [][]string{whole, sets} {
		if i := slices.IndexFunc(from, isDefault); i >= 0 {
			return from[i], true
		}
		if len(from) > 0 {
			return from[0], len(from) == 1
		}
	}
	return "", false
}

// lacks reports whether a call gives a mandatory parameter of a set no value, or has an argument without a place.
func lacks(s *Script, set string, given map[string]bool, loose int, piped bool) bool {
	in := withSet(s, set)
	filled := map[string]bool{}
	for _, p := range Places(&in) {
		if loose > 0 && !given[p.Name] && !p.Remaining {
			filled[p.Name] = true
			loose--
		}
	}

	for _, p := range in.Params {
		if p.Remaining && !given[p.Name] && loose > 0 {
			filled[p.Name] = true
			loose = 0
		}
	}

	return loose > 0 || slices.ContainsFunc(in.Params, func(p Param) bool {
		return p.Mandatory && !given[p.Name] && !filled[p.Name] && (!piped || (!p.Piped && !p.PipedName))
	})
}

// withSet returns a script with the parameters of one set alone.
func withSet(s *Script, set string) Script {
	in := *s
	in.Params = nil
	for _, p := range s.Params {
		role, member := roleIn(p, set)
		if member {
			p.Role = role
			in.Params = append(in.Params, p)
		}
	}

	return in
}

// Places returns the parameters that take arguments without a name, in order: those with a position, or else all.
func Places(s *Script) []Param {
	var placed, all []Param
	for _, p := range s.Params {
		if p.Position != nil {
			placed = append(placed, p)
		}
		if p.To != "switch" && !s.ByName {
			all = append(all, p)
		}
	}
	if placed == nil && !explicit(s) {
		return all
	}

	slices.SortStableFunc(placed, func(a, b Param) int { return cmp.Compare(*a.Position, *b.Position) })
	return placed
}

// explicit reports whether a function says where its parameters stand: then those of which it does not say it have to
// be named. A parameter set says it too.
func explicit(s *Script) bool {
	return slices.ContainsFunc(s.Params, func(p Param) bool {
		return slices.ContainsFunc(p.Roles, func(r Role) bool { return r.Set != "" || r.Position != nil })
	})
}
