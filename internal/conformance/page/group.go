package page

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/conformance/result"
)

// Group are the failures that one cause explains.
type Group struct {
	Cause    result.Cause
	Failures []Failure
}

// group puts failures together by cause: the classes in their order, in each the cause of most failures first.
func group(failures []Failure) []Group {
	type key struct {
		class result.Class
		note  string
	}
	at := map[key]int{}
	var groups []Group
	for _, f := range failures {
		k := key{f.Cause.Class, f.Cause.Note}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, Group{Cause: f.Cause})
		}
		groups[i].Failures = append(groups[i].Failures, f)
	}
	slices.SortFunc(groups, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(slices.Index(result.Classes(), a.Cause.Class), slices.Index(result.Classes(), b.Cause.Class)),
			cmp.Compare(len(b.Failures), len(a.Failures)),
			strings.Compare(a.Cause.Note, b.Cause.Note),
		)
	})
	return groups
}
