package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/internal/diagnose"
)

// Probes lists the probes for people.
func Probes(w io.Writer, probes []diagnose.Probe) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "PROBE\tTROUBLE\tITEMS")
	for _, p := range probes {
		fmt.Fprintf(t, "%s\t%s\t%s\n", p.ID, p.Title, items(p))
	}
	return t.Flush()
}

// Page writes the page of the probes: each with the heading of the documents, what it looks at, cause and remedy.
func Page(w io.Writer, probes []diagnose.Probe) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# The probes of `mullion diagnose`\n\nPrinted by `mullion diagnose probes -o markdown`; `make update` "+
		"writes it. %d probes. The numbers are those of the troubleshooting items in\n[Kubernetes' documents]"+
		"(https://v1-20.docs.kubernetes.io/docs/setup/production-environment/windows/intro-windows-in-kubernetes/#troubleshooting).\n\n"+
		"| probe | trouble | documents | looks at | cause | what to do |\n|---|---|---|---|---|---|\n", len(probes))

	cell := strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;")
	for _, p := range probes {
		source := fmt.Sprintf("[%s](%s)", p.Source.Heading, p.Source.URL)
		if n := items(p); n != "" {
			source = n + ": " + source
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", p.ID, cell.Replace(p.Title), cell.Replace(source),
			cell.Replace(p.Looks), cell.Replace(p.Cause), cell.Replace(strings.Join(p.Remedies, "; ")))
	}

	_, err := io.WriteString(w, b.String())
	return err
}

// items returns the numbers of a probe's items: "7, 8".
func items(p diagnose.Probe) string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.Items)), ", "), "[]")
}
