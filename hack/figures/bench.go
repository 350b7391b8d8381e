package main

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"mullion.dev/mullion/hack/kept"
)

// bench is the suite of kept results that `make bench` writes.
const bench = "bench"

// measured returns the table of docs/benchmarks.md: each figure that a kept run of `make bench` has measured, as the
// newest of them has it, and below it those runs with their machine and load.
func measured(runs []kept.Result) string {
	var rows, from strings.Builder
	shown := map[string]bool{}
	for _, r := range runs {
		number := strings.Count(from.String(), "\n") + 1
		any := false
		for _, f := range r.Figures {
			if shown[f.What] || len(f.Values) == 0 {
				continue
			}
			shown[f.What], any = true, true
			v := slices.Sorted(slices.Values(f.Values))
			fmt.Fprintf(&rows, "| %s | %s | %.2f %s | %.2f – %.2f | %d | %d |\n", f.What, f.Asked, v[len(v)/2], f.Unit, v[0],
				v[len(v)-1], len(v), number)
		}
		if any {
			fmt.Fprintf(&from, "%d. [%s](%s): `hack/bench.sh %s`, commit %s, load %.1f before and %.1f at most, %s\n", number,
				r.Began.Format("2006-01-02 15:04"), path.Join("..", kept.Folder, bench, r.Name()), strings.Join(r.Args, " "),
				commit(r), r.Load.Before, r.Load.Most, machine(r.Machine))
		}
	}

	if rows.Len() == 0 {
		return "No run is kept yet.\n"
	}
	return "| what | asked | median | spread | runs | of |\n|---|---|---|---|---|---|\n" + rows.String() + "\n" + from.String()
}
