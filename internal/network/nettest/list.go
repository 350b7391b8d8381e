package nettest

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"mullion.dev/mullion/internal/spec"
)

// List prints the flows of a mode with the expected results, without carrying them out. dual adds the flows over IPv6
// of a cluster with both families.
func List(w io.Writer, mode spec.Mode, profile spec.Profile, dual bool) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "FLOW\tPROTOCOLS\tEXPECTED\tDOCUMENTED IN")
	for _, f := range flowsOf(mode, profile, dual) {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", f.Name, protocols(f), f.want, f.source.Title)
	}
	return t.Flush()
}

// flowsOf returns the flows of a mode; dual adds those over IPv6.
func flowsOf(mode spec.Mode, profile spec.Profile, dual bool) []Flow {
	flows := Flows(mode, profile)
	if dual {
		flows = append(flows, Flows6(mode, profile)...)
	}
	return flows
}

func protocols(f Flow) string {
	var all []string
	for _, p := range f.Protocols {
		all = append(all, string(p))
	}
	return strings.Join(all, ", ")
}

// row is a line of the table of all modes: a flow with the modes that have the same expectation.
type row struct {
	flow  Flow
	modes []string
}

func rows() []row {
	var all []row
	for _, mode := range spec.Modes() {
		for _, f := range Flows(mode, spec.ProfileFaithful) {
			i := slices.IndexFunc(all, func(r row) bool {
				return r.flow.Name == f.Name &&
					r.flow.want.String() == f.want.String()
			})
			if i < 0 {
				all, i = append(all, row{flow: f}), len(all)
			}
			all[i].modes = append(all[i].modes, string(mode))
		}
	}

	slices.SortStableFunc(all, func(a, b row) int { return strings.Compare(a.flow.Name, b.flow.Name) })
	return all
}

// Markdown prints the table of all modes, as the documentation has it.
func Markdown(w io.Writer) error {
	fmt.Fprint(
		w, "# Flows of the network\n\nWhat `mullion net test` carries out, and what it expects; printed by `mullion net flows -o markdown`.\n\n")
	fmt.Fprint(w, "| flow | over | in mode | expected | documented in |\n|---|---|---|---|---|\n")
	for _, r := range rows() {
		modes := strings.Join(r.modes, ", ")
		if len(r.modes) == len(spec.Modes()) {
			modes = "every"
		}
		_, err := fmt.Fprintf(w, "| %s | %s | %s | %s | [%s](%s) |\n", r.flow.Name, protocols(r.flow), modes,
			r.flow.want, r.flow.source.Title, r.flow.source.URL)
		if err != nil {
			return err
		}
	}

	if err := markdown6(w); err != nil {
		return err
	}

	fmt.Fprint(
		w, "\nWith `profile: modern` limits of Windows are lifted, and these flows go otherwise:\n\n| flow | expected |\n|---|---|\n")
	for _, r := range rows() {
		if r.flow.modern != nil {
			fmt.Fprintf(w, "| %s | %s |\n", r.flow.Name, r.flow.modern)
		}
	}

	fmt.Fprint(w, "\nBefore Windows Server 2022 these flows go otherwise:\n\n| flow | expected |\n|---|---|\n")
	for _, r := range rows() {
		if r.flow.older != nil {
			fmt.Fprintf(w, "| %s | %s |\n", r.flow.Name, r.flow.older)
		}
	}

	return nil
}

// markdown6 prints the flows over IPv6.
func markdown6(w io.Writer) error {
	fmt.Fprint(
		w, "\nIn a cluster of both families (dual stack, mode l2bridge) these are carried out over IPv6 too:\n\n| flow | over | expected | documented in |\n|---|---|---|---|\n")
	flows := Flows6(spec.ModeL2Bridge, spec.ProfileFaithful)
	slices.SortStableFunc(flows, func(a, b Flow) int { return strings.Compare(a.Name, b.Name) })
	for _, f := range flows {
		if _, err := fmt.Fprintf(w, "| %s | %s | %s | [%s](%s) |\n", f.Name, protocols(f), f.want, f.source.Title,
			f.source.URL); err != nil {
			return err
		}
	}
	return nil
}
