// Package explain owns `mullion explain`: printing what the programs of a pod asked of Windows that Wine has not.
package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/support"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/runtime/explain"
	"mullion.dev/mullion/internal/windows/winapi"
	"mullion.dev/mullion/internal/windows/wineapi"
)

// explained is what a container's programs met.
type explained struct {
	Node      string            `json:"node"`
	Container string            `json:"container"`
	ID        string            `json:"id"`
	Findings  []explain.Finding `json:"findings"`
	// More counts lines of kinds that were too many to keep.
	More int `json:"more,omitempty"`
	// Off says that the container was not asked for it.
	Off bool `json:"off,omitempty"`
}

// commands is `mullion explain`.
type commands struct{ *reader.Reader }

// New returns the command.
func New(r *reader.Reader) *cobra.Command {
	a := &commands{r}
	var namespace, output string

	cmd := &cobra.Command{
		Use:   "explain POD",
		Short: "Print what the programs of a Windows pod asked of Windows that Wine has not",
		Long: `Prints what Wine said of the programs of a pod while they ran: which functions are not implemented, or only partly, what
failed, and what a program ended for, each with how often it was met. The pod asks for it by the annotation
` + explain.Annotation + `: "true", before it is made; it costs time, so it is off otherwise. Containers that have
ended are there until Kubernetes removes them. Only the pods of this machine's nodes are known, and no HostProcess
pods; programs that ` + "`kubectl exec`" + ` starts are not explained.`,
		Example: `  mullion explain web-7d4b9c-x2x7k -n shop
  mullion explain web-7d4b9c-x2x7k -n shop -o json`,
		Args: cmdline.Exactly("POD"),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := a.explained(cmd.Context(), namespace, args[0])
			if err != nil {
				return err
			}
			if output == "json" {
				return json.NewEncoder(a.Env.Out).Encode(found)
			}
			return printExplained(a.Env.Out, found)
		},
	}

	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "the pod's namespace")
	cmdline.Output(cmd, &output)
	return cmd
}

// explained reads what was kept of the containers of a pod.
func (a *commands) explained(ctx context.Context, namespace, pod string) ([]explained, error) {
	kept, err := a.keptOfPod(ctx, namespace, pod)
	if err != nil {
		return nil, err
	}
	api, err := wineapi.Load()
	if err != nil {
		return nil, err
	}

	var out []explained
	for _, n := range kept {
		for _, one := range n.Containers {
			e := explained{
				Node:      n.Node,
				Container: one.Name,
				ID:        one.ID,
				More:      one.More,
				Off:       one.Off,
			}

			e.Findings = explain.Findings(one.Met, api.Exporters)
			for i := range e.Findings {
				e.Findings[i].Row = rowAbout(e.Findings[i])
			}

			out = append(out, e)
		}
	}

	if len(out) == 0 {
		return nil, &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("no Windows pod %s/%s on this machine's nodes", namespace, pod),
			Remedy: "`mullion kubectl get pods -A -o wide` lists the pods with their nodes, `mullion status` says whether the cluster is up",
		}
	}

	return out, nil
}

// keptOfPod returns what the nodes have kept of a pod.
func (a *commands) keptOfPod(ctx context.Context, namespace, pod string) (kept []cluster.Explained, err error) {
	if !a.Reads() {
		paths, _, err := a.Cluster()
		if err != nil {
			return nil, err
		}
		return cluster.ExplainPod(paths, namespace, pod)
	}

	paths, err := a.Paths()
	if err != nil {
		return nil, err
	}
	err = a.Ask(ctx, paths, "explained", url.Values{"namespace": {namespace}, "pod": {pod}}, &kept)
	return kept, err
}

// rowAbout returns the support row that names a function, by its API or in its name; "" if there is none.
func rowAbout(f explain.Finding) string {
	if f.Function == "" {
		return ""
	}
	about := func(r support.Row) bool {
		words := strings.FieldsFunc(r.Name, func(c rune) bool { return strings.ContainsRune(" ,():", c) })
		return slices.Contains(words, f.Function) ||
			slices.ContainsFunc(r.API, func(n string) bool { return strings.EqualFold(n, f.Library+" "+f.Function) })
	}

	rows := winapi.SupportRows()
	i := slices.IndexFunc(rows, about)
	switch {
	case i < 0:
		return ""
	case rows[i].Level == support.Supported: // Wine is asked first, and says so
		return rows[i].Name + ": supported, Mullion answers in Wine's place"
	}

	return rows[i].Name + ": " + rows[i].Note
}

func printExplained(w io.Writer, all []explained) error {
	var b strings.Builder
	for _, e := range all {
		fmt.Fprintf(&b, "container %s (%.13s) on %s\n", e.Container, e.ID, e.Node)
		switch {
		case e.Off:
			fmt.Fprintf(&b, "  not asked for: make the pod with the annotation %s: \"true\"\n", explain.Annotation)
		case len(e.Findings) == 0:
			b.WriteString("  Wine said nothing of its programs\n")
		}

		for _, f := range e.Findings {
			fmt.Fprintf(&b, "  %s\n", plaintext.OneLine(plaintext.Shortened(f.String(), 1000)))
			if f.Row != "" {
				fmt.Fprintf(&b, "      mullion support: %s\n", f.Row)
			}
		}

		if e.More > 0 {
			fmt.Fprintf(&b, "  and %d lines of more kinds than are kept\n", e.More)
		}
	}

	_, err := io.WriteString(w, plaintext.Printable(b.String())) // the lines come from a container
	return err
}
