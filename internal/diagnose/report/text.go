// Package report prints what the probes of package diagnose came to, in one of its formats. It decides nothing.
package report

import (
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/internal/diagnose"
)

// Text prints for people: each trouble that was found with its evidence, cause and remedies, then what could not be
// looked at, and a summary. With all it names the probes that found nothing, too.
func Text(w io.Writer, results []diagnose.Result, nodes int, all bool) error {
	var b strings.Builder
	count := map[diagnose.Verdict]int{}
	for _, r := range results {
		count[r.Verdict]++
		if r.Verdict != diagnose.Found {
			continue
		}
		for _, f := range r.Findings {
			fmt.Fprintf(&b, "%s: %s [%s]\n", f.Object, r.Probe.Title, r.Probe.ID)
			for _, line := range f.Evidence {
				fmt.Fprintf(&b, "    | %s\n", line)
			}
			fmt.Fprintf(&b, "  %s\n", f.Cause)
			for _, remedy := range f.Remedies {
				fmt.Fprintf(&b, "  → %s\n", remedy)
			}
		}
	}
	why := map[string][]string{}
	var order []string
	for _, r := range results {
		if r.Verdict == diagnose.CannotTell {
			if why[r.Why] == nil {
				order = append(order, r.Why)
			}
			why[r.Why] = append(why[r.Why], r.Probe.ID)
		}
	}
	for _, reason := range order {
		fmt.Fprintf(&b, "cannot tell: %s\n  %s\n", strings.Join(why[reason], ", "), reason)
	}
	if all {
		for _, r := range results {
			if r.Verdict == diagnose.OK {
				fmt.Fprintf(&b, "ok: %s: not found: %s\n", r.Probe.ID, r.Probe.Title)
			}
		}
	}
	fmt.Fprintf(&b, "%d Windows nodes, %d probes: %d found something, %d nothing, %d cannot tell\n", nodes, len(results),
		count[diagnose.Found], count[diagnose.OK], count[diagnose.CannotTell])
	_, err := io.WriteString(w, b.String())
	return err
}
