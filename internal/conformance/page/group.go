package page

import (
	"cmp"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/conformance/result"
)

// Group is a cause with the failures that it explains.
type Group struct {
	Cause    result.Cause
	Failures []Failure
}

// group groups failures by cause: classes in their order, and in each class the cause with most failures first.
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
