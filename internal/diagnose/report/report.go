// Package report prints what the probes of package diagnose came to, in one of its formats. It decides nothing.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"mullion.dev/mullion/internal/base/junit"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/diagnose"
)

// Report is what is printed.
type Report struct {
	Results []diagnose.Result
	// Nodes are the names of the Windows nodes that were looked at.
	Nodes []string
	// Server is the API server's version.
	Server string
	// All has the text name the probes that found nothing, too.
	All bool
}

// Formats returns the names of the formats, the usual one first.
func Formats() []string { return []string{"text", "json", "junit"} }

// Write prints in one of Formats.
func (r Report) Write(w io.Writer, format string) error {
	switch format {
	case "json":
		return r.json(w)
	case "junit":
		return r.junit(w)
	}
	return r.text(w)
}

// count returns how many probes came to a verdict.
func (r Report) count(v diagnose.Verdict) int {
	n := 0
	for _, one := range r.Results {
		if one.Verdict == v {
			n++
		}
	}
	return n
}

// text prints for people: each trouble that was found with its evidence, cause and remedies, then what could not be
// looked at, and a summary.
func (r Report) text(w io.Writer) error {
	var b strings.Builder
	for _, one := range r.Results {
		for _, f := range one.Findings {
			fmt.Fprintf(&b, "%s: %s [%s]\n", plaintext.OneLine(f.Object), one.Probe.Title, one.Probe.ID)
			for _, line := range f.Evidence {
				fmt.Fprintf(&b, "    | %s\n", plaintext.OneLine(line))
			}

			fmt.Fprintf(&b, "  why: %s\n", plaintext.OneLine(f.Cause))
			for _, remedy := range f.Remedies {
				fmt.Fprintf(&b, "  → %s\n", plaintext.OneLine(remedy))
			}

			fmt.Fprintf(&b, "  see: %s\n", one.Probe.Source.URL)
		}
	}

	r.unknown(&b)
	for _, one := range r.Results {
		if r.All && one.Verdict == diagnose.OK {
			fmt.Fprintf(&b, "ok: %s [%s]\n", "not found: "+one.Probe.Title, one.Probe.ID)
		}
	}

	fmt.Fprintf(&b, "%d probes on %s: %d found something, %d nothing, %d cannot tell\n", len(r.Results), r.where(),
		r.count(diagnose.Found), r.count(diagnose.OK), r.count(diagnose.CannotTell))
	_, err := io.WriteString(w, b.String())
	return err
}

// unknown names the probes that cannot tell, by the reason.
func (r Report) unknown(b *strings.Builder) {
	probes := map[string][]string{}
	var reasons []string
	for _, one := range r.Results {
		if one.Verdict != diagnose.CannotTell {
			continue
		}
		if probes[one.Why] == nil {
			reasons = append(reasons, one.Why)
		}
		probes[one.Why] = append(probes[one.Why], one.Probe.ID)
	}

	for _, why := range reasons {
		fmt.Fprintf(b, "cannot tell: %s\n  why: %s\n", strings.Join(probes[why], ", "), plaintext.OneLine(why))
	}
}

// where says which nodes were looked at.
func (r Report) where() string {
	switch len(r.Nodes) {
	case 0:
		return "no Windows node"
	case 1:
		return "1 Windows node"
	}
	return fmt.Sprintf("%d Windows nodes", len(r.Nodes))
}

// probe is a result as JSON.
type probe struct {
	ID       string             `json:"id"`
	Title    string             `json:"title"`
	Verdict  diagnose.Verdict   `json:"verdict"`
	Why      string             `json:"why,omitempty"`
	Items    []int              `json:"items,omitempty"`
	Heading  string             `json:"heading"`
	URL      string             `json:"url"`
	Findings []diagnose.Finding `json:"findings,omitempty"`
}

// json prints one object.
func (r Report) json(w io.Writer) error {
	out := struct {
		Server string   `json:"serverVersion"`
		Nodes  []string `json:"nodes"`
		Probes []probe  `json:"probes"`
	}{r.Server, append([]string{}, r.Nodes...), []probe{}}

	for _, one := range r.Results {
		p := one.Probe
		out.Probes = append(out.Probes, probe{
			p.ID, p.Title, one.Verdict, one.Why, p.Items, p.Source.Heading, p.Source.URL, one.Findings,
		})
	}

	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// junit prints a suite of all probes: a case for each finding, which fails, and one for each probe without.
func (r Report) junit(w io.Writer) error {
	var cases []junit.Case
	for _, one := range r.Results {
		c := junit.Case{Class: one.Probe.ID, Name: one.Probe.Title}
		switch one.Verdict {
		case diagnose.OK:
			cases = append(cases, c)
		case diagnose.CannotTell:
			c.Skipped = &junit.Message{Message: one.Why}
			cases = append(cases, c)
		}

		for _, f := range one.Findings {
			text := append(append([]string{}, f.Evidence...), "why: "+f.Cause)
			for _, remedy := range f.Remedies {
				text = append(text, "→ "+remedy)
			}

			c.Name = f.Object
			c.Failure = &junit.Message{
				Message: one.Probe.Title,
				Type:    one.Probe.ID,
				Text:    strings.Join(append(text, one.Probe.Source.URL), "\n"),
			}
			cases = append(cases, c)
		}
	}

	out := junit.NewWriter(w, "mullion diagnose")
	if err := out.Suite("Windows nodes", cases); err != nil {
		return err
	}
	return out.Close()
}
