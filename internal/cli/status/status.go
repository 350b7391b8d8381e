// Package status owns `mullion status`: printing how a cluster is. It judges nothing.
package status

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster/health"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/spec"
)

// Every is the time between two pictures of `mullion status --watch`.
const Every = 2 * time.Second

// statusReport is what `mullion status -o json` prints.
type statusReport struct {
	Health       health.Picture     `json:"health"`
	Cluster      spec.Cluster       `json:"cluster"`
	CgroupParent string             `json:"cgroupParent"`
	Weights      view.Weights       `json:"weights"`
	Load         view.Loads         `json:"load"`
	Supervisor   *supervisor.Status `json:"supervisor"`
}

// commands is `mullion status`.
type commands struct {
	*reader.Reader

	every time.Duration
}

// New returns the command, whose --watch looks again so often.
func New(r *reader.Reader, every time.Duration) *cobra.Command {
	a := &commands{Reader: r, every: every}
	var output string
	var watch, verbose bool

	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the cluster's parts, nodes and pods, what is wrong and what to do",
		Long: `Prints a picture of the cluster: each part of the control plane, DNS and the load balancer; each node with its operating
system, its kubelet, kube-proxy, container runtime and HNS, and whether it reaches the API server; and the state of
the pods. Everything is asked anew. Below the picture it lists what is wrong and what to do about it; it names the
cause of a problem and leaves out what follows from that cause.

(own) beside a kubelet or kube-proxy says that it is not upstream's, but one of ` + "`mullion node set`" + `.

It works whether the cluster is up or not. The exit code is 0 for a cluster without problems, 5 for one that has a
problem or is not up, and 6 if there is no cluster. Pods that fail on their own ("What needs a look") do not make it
5, because the cluster is not the cause.`,
		Example: "  mullion status\n  mullion status --watch\n  mullion status -o json | jq .health.findings\n  until mullion status >/dev/null; do sleep 1; done",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, look, err := a.Looker()
			if err != nil {
				return err
			}
			if verbose && output == "text" {
				output = "verbose"
			}

			if watch {
				return a.watch(cmd.Context(), paths, look, output)
			}
			s, err := look(cmd.Context())
			if err != nil {
				return err
			}
			return Print(a.Env.Out, s, paths, output)
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, json or yaml")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "print also who gives way to whom on a busy machine, and what waits")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "look again every two seconds, until Ctrl-C")
	formats := []string{"text", "json", "yaml"}
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}

	cmd.PreRunE = func(c *cobra.Command, _ []string) error {
		if !slices.Contains(formats, output) {
			return exit.Misuse(fmt.Errorf("--output %q is none of text, json, yaml", output),
				fmt.Sprintf("see `%s --help`", c.CommandPath()))
		}
		return nil
	}

	return cmd
}

// Print prints one picture; its error says whether the cluster is healthy.
func Print(w io.Writer, s view.Status, paths layout.Paths, output string) error {
	report := statusReport{
		Health:       s.Health,
		Cluster:      s.Cluster,
		CgroupParent: s.CgroupParent,
		Weights:      s.Weights,
		Load:         s.Load,
		Supervisor:   s.Supervisor,
	}

	var err error
	switch output {
	case "json":
		err = json.NewEncoder(w).Encode(report)
	case "yaml":
		var text []byte
		if text, err = yaml.Marshal(report); err == nil {
			_, err = fmt.Fprintf(w, "---\n%s", text)
		}

	default:
		if err = s.Health.Text(w); err == nil && output == "verbose" {
			_, err = io.WriteString(w, s.Weights.Text()+s.Load.Text())
		}
	}

	if err != nil {
		return err
	}

	return statusError(s, paths)
}

func statusError(s view.Status, paths layout.Paths) error {
	p, problems := s.Health, 0
	for _, f := range p.Findings {
		if f.Severity == health.Problem {
			problems++
		}
	}

	switch p.State {
	case health.Healthy:
		return nil
	case health.Down:
		return &exit.Error{
			Code: exit.NotReady,
			Err: fmt.Errorf("cluster %q is described in %q, but it is not up: %s", p.Name, paths.Data,
				s.SupervisorError),
			Remedy: "`mullion up` brings it back, `mullion down` removes it",
		}

	case health.Unhealthy:
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    fmt.Errorf("cluster %q is not healthy: %d problem(s)", p.Name, problems),
			Remedy: "the picture above names each problem and what to do about it",
		}

	default:
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    fmt.Errorf("cluster %q is %s", p.Name, p.State),
			Remedy: "`mullion up` waits until it is ready",
		}
	}
}

// watch prints pictures until ctx ends. On a terminal each picture replaces the one before.
func (a *commands) watch(ctx context.Context, paths layout.Paths,
	look func(context.Context) (view.Status, error), output string,
) error {
	tick := time.NewTicker(a.every)
	defer tick.Stop()

	for {
		s, err := look(ctx)
		if ctx.Err() != nil {
			return nil // a picture taken while ctx ended says nothing
		}
		if err != nil {
			return err
		}

		var text bytes.Buffer
		human := output == "text" || output == "verbose"
		if a.Env.Terminal && human {
			text.WriteString("\033[H\033[2J")
		}
		_ = Print(&text, s, paths, output) // the picture shows the cluster's problems
		if human {
			fmt.Fprintf(&text, "\n%s\n", s.At.Format(time.TimeOnly))
		}

		if _, err := a.Env.Out.Write(text.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
