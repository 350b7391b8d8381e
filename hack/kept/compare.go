package kept

import (
	"cmp"
	"maps"
	"slices"

	"mullion.dev/mullion/internal/conformance/result"
)

// Difference is a test that ended otherwise in another run. The state of a test that a run did not have is empty.
type Difference struct {
	Name          string
	Before, After result.State
}

// Compare returns the tests whose states differ in two runs, by name.
func Compare(before, after Result) []Difference {
	was, is := states(before), states(after)
	names := slices.Collect(maps.Keys(was))
	for name := range is {
		if _, both := was[name]; !both {
			names = append(names, name)
		}
	}

	var found []Difference
	for _, name := range names {
		if was[name] != is[name] {
			found = append(found, Difference{name, was[name], is[name]})
		}
	}

	slices.SortFunc(found, func(a, b Difference) int { return cmp.Compare(a.Name, b.Name) })
	return found
}

func states(r Result) map[string]result.State {
	of := make(map[string]result.State, len(r.Tests))
	for _, t := range r.Tests {
		of[t.Name] = t.State
	}
	return of
}
