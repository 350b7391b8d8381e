package health

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/internal/process/component"
)

// Text prints the picture for a person.
func (p Picture) Text(w io.Writer) error {
	b := &strings.Builder{}
	fmt.Fprintf(b, "Cluster %s: %s\n", p.Name, p.State)
	if len(p.Parts) > 0 {
		p.textParts(b)
	}

	if p.State != Down {
		p.textNodes(b)
		p.textPods(b)
		if p.NetworkPolicies != "" {
			fmt.Fprintf(b, "Network policies: %s\n", p.NetworkPolicies)
		}
		if p.IPv6 != "" {
			fmt.Fprintf(b, "IPv6: %s\n", p.IPv6)
		}
	}

	p.textFindings(b)
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes rows in columns, without blanks at the ends of lines.
func table(b *strings.Builder, rows [][]string) {
	var lines strings.Builder
	t := tabwriter.NewWriter(&lines, 0, 4, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join(r, "\t"))
	}
	_ = t.Flush() // to memory
	for line := range strings.Lines(lines.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

func (p Picture) textParts(b *strings.Builder) {
	rows := [][]string{{"PART", "STATE", "PID", "RESTARTS", "WHY"}}
	for _, part := range p.Parts {
		pid, restarts := "", ""
		if part.PID != 0 || part.Restarts != 0 {
			pid, restarts = fmt.Sprint(part.PID), fmt.Sprint(part.Restarts)
		}
		rows = append(rows, []string{part.ID.String(), part.mark(), pid, restarts, cmp.Or(part.Why, part.Note)})
	}
	b.WriteByte('\n')
	table(b, rows)
}

// mark returns the state as the picture shows it: what does not work stands out.
func (p Part) mark() string {
	switch {
	case p.OK && p.State == component.Ready:
		return "ok"
	case p.OK, slices.Contains(underWay(), p.State):
		return string(p.State)
	}
	return strings.ToUpper(string(p.State))
}

// underWay returns the states of parts that do not work yet, or no longer, without being at fault.
func underWay() []component.State {
	return []component.State{component.Starting, component.Waiting, component.Stopping, component.Stopped}
}

func (p Picture) textNodes(b *strings.Builder) {
	rows := [][]string{{
		"NODE", "READY", "PODS", "NETWORK", "HOST", "RUNTIME", "HNS", "KUBELET", "KUBE-PROXY",
		"ADDRESS", "SYSTEM",
	}}

	for _, n := range p.Nodes {
		ready := map[string]string{"True": "yes", "False": "NO", "": "-"}[n.Ready]
		if n.Bare && n.Ready == "" {
			ready = "bare"
		}
		if ready == "" {
			ready = "UNKNOWN"
		}

		pods := fmt.Sprintf("%d/%d", n.PodsReady, n.PodsAll)
		if p.Unknown != "" {
			ready, pods = "?", "?"
		}

		row := []string{n.Name, ready, pods}
		for _, c := range columns() {
			part, ok := n.Parts[c.name]
			switch {
			case !ok:
				row = append(row, "-")
			case part.Own:
				row = append(row, part.mark()+" (own)")
			default:
				row = append(row, part.mark())
			}
		}

		address := n.Address
		if address == "" {
			address = "-"
		}
		rows = append(rows, append(row, address, strings.TrimSpace(n.Version)))
	}

	b.WriteByte('\n')
	table(b, rows)
}

func (p Picture) textPods(b *strings.Builder) {
	if p.Unknown != "" {
		fmt.Fprintf(b, "\nPods: not known, as the API does not answer: %s\n", firstLine(p.Unknown))
		return
	}

	var parts []string
	for _, c := range []struct {
		n    int
		word string
	}{
		{p.Pods.Ready, "ready"},
		{p.Pods.Waiting, "on their way"},
		{p.Pods.Failing, "FAILING"},
		{p.Pods.Lost, "ON NODES THAT ARE NOT READY"},
		{p.Pods.Done, "done"},
	} {
		if c.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "none")
	}

	fmt.Fprintf(b, "\nPods: %s\n", strings.Join(parts, ", "))
}

func (p Picture) textFindings(b *strings.Builder) {
	for _, s := range []struct {
		severity Severity
		title    string
	}{{Problem, "What is wrong"}, {Warning, "What needs a look"}} {
		first := true
		for _, f := range p.Findings {
			if f.Severity != s.severity {
				continue
			}
			if first {
				fmt.Fprintf(b, "\n%s:\n", s.title)
				first = false
			}
			fmt.Fprintf(b, "  %s: %s\n    → %s\n", f.Object, f.What, f.Do)
		}
	}
}
