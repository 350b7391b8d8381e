package documents

import (
	"fmt"
	"strings"
)

// Run is the last run, of those that are kept, of what a statement names.
type Run struct {
	// Date is the day, Commit what was tested, File the result's file, from the repository's folder.
	Date, Commit, File string
	// Outcome says how it ended: "passed", or what else.
	Outcome string
	// Seconds are how long it took; 0: the result does not say.
	Seconds float64
}

// Runs are the last runs by what statements name, as they name it. What is not there has no run that is kept.
type Runs map[string]Run

// Passed is the outcome of a run without a fault.
const Passed = "passed"

// KeptAs returns the name that a test has in results that are kept, by what a statement names: a test in Go with its
// package, or all tests below a name. It is "" for a suite of upstream's, which is kept as a list of specs, and for
// a sample.
func KeptAs(shown string) string {
	kind, name, _ := strings.Cut(shown, " ")
	switch {
	case shown == "net test":
		return "test/e2e TestCluster/network"
	case shown == "suite smoke":
		return "test/e2e TestConformance"
	case kind == "script":
		return "test/e2e TestCluster/scripts/" + name
	case kind == "rule":
		return "internal/check/rules TestFixtures/" + name
	case kind == "probe":
		return "internal/diagnose TestEachTroubleIsFound/" + name
	case kind == "suite", kind == "sample":
		return ""
	}
	return shown
}

// shownBy returns a cell: what a statement names, each with its last run.
func (r Runs) shownBy(s Statement) string {
	lines := make([]string, 0, len(s.Shown))
	for _, shown := range s.Shown {
		lines = append(lines, shown+": "+r.last(shown))
	}
	return cell(strings.Join(lines, "<br>"))
}

// last returns the last run of what a statement names, in words.
func (r Runs) last(shown string) string {
	run, ok := r[shown]
	if !ok {
		return "no result is kept"
	}

	text := strings.TrimSpace(fmt.Sprintf("[%s](../../%s) %s", run.Date, run.File, run.Commit))
	if run.Seconds > 0 {
		text += fmt.Sprintf(", %.3g s", run.Seconds)
	}
	if run.Outcome != Passed {
		text += ", " + run.Outcome
	}

	return text
}

// Shows reports whether a run that is kept shows a statement: something that it names has passed, and nothing failed.
func (r Runs) Shows(s Statement) bool {
	passed := false
	for _, shown := range s.Shown {
		run, ok := r[shown]
		if ok && strings.HasPrefix(run.Outcome, "failed") {
			return false
		}
		passed = passed || ok
	}
	return passed
}
