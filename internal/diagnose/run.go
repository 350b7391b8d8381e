package diagnose

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Probes returns all probes, in the order in which they are looked for: the nodes first, then the network, then pods.
func Probes() []Probe {
	return slices.Concat(nodeProbes(), networkProbes(), flannelProbes(), imageProbes(), placementProbes(),
		securityProbes(), serviceProbes(), programProbes(), endingProbes())
}

// Validate returns an error for the first probe that breaks the table's rules.
func Validate(probes []Probe) error {
	id := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	seen := map[string]bool{}
	for _, p := range probes {
		switch {
		case !id.MatchString(p.ID) || seen[p.ID]:
			return fmt.Errorf("probe %q: the id has to be unique and in kebab case", p.ID)
		case slices.Contains([]string{p.Title, p.Source.Heading, p.Looks, p.Cause}, "") || len(p.Remedies) == 0:
			return fmt.Errorf("probe %q: title, heading, what it looks at, cause and remedies are needed", p.ID)
		case !strings.HasPrefix(p.Source.URL, "https://"):
			return fmt.Errorf("probe %q: its source has no address", p.ID)
		case p.look == nil:
			return fmt.Errorf("probe %q: it looks at nothing", p.ID)
		}

		seen[p.ID] = true
	}

	return nil
}

// Run has each probe look at the picture.
func Run(probes []Probe, p *Picture) []Result {
	v := newView(p)
	results := make([]Result, 0, len(probes))
	for i := range probes {
		probe := &probes[i]
		r := Result{
			Probe:    probe,
			Verdict:  OK,
			Findings: probe.look(v),
		}

		for j := range r.Findings {
			f := &r.Findings[j]
			if f.Cause == "" {
				f.Cause = probe.Cause
			}
			if len(f.Remedies) == 0 {
				f.Remedies = probe.Remedies
			}
		}

		switch why := v.lacks(probe.Needs); {
		case len(r.Findings) > 0:
			r.Verdict = Found
		case why != "":
			r.Verdict, r.Why = CannotTell, why
		}

		results = append(results, r)
	}

	return results
}

// lacks says which of the needs the picture does not have, "" if it has them all.
func (v *view) lacks(needs []Need) string {
	var lines []string
	for _, n := range needs {
		if lack, missing := v.Missing[n]; missing {
			lines = append(lines, fmt.Sprintf("%s: %s", n, lack.Why))
		}
	}
	return strings.Join(lines, "; ")
}

// has reports whether the picture has a part.
func (v *view) has(n Need) bool {
	_, missing := v.Missing[n]
	return !missing
}
