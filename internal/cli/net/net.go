// Package net owns `mullion net`: testing the network of a cluster against what Windows documents. The flows are elsewhere.
package net

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/spec"
)

// Test carries out the flows of a cluster.
type Test func(context.Context, layout.Paths, nettest.Config) (nettest.Report, error)

// commands are `mullion net`.
type commands struct {
	*reader.Reader

	carryOut Test
}

// New returns the command with those below it.
func New(r *reader.Reader, test Test) *cobra.Command {
	a := &commands{Reader: r, carryOut: test}
	cmd := &cobra.Command{
		Use:   "net",
		Short: "Test the cluster's network against what Windows documents",
		Args:  cmdline.None,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.test(), a.flows())
	return cmd
}

func (a *commands) flows() *cobra.Command {
	var mode, profile, output string
	var dual bool

	cmd := &cobra.Command{
		Use:   "flows",
		Short: "List the flows that `mullion net test` carries out, with the expected result of each and where it is documented",
		Args:  cmdline.None,
		RunE: func(*cobra.Command, []string) error {
			switch {
			case output == "markdown":
				return nettest.Markdown(a.Env.Out)
			case output != "text":
				return exit.Misuse(fmt.Errorf("--output %q", output), "choose text or markdown")
			case !slices.Contains(modeNames(), mode):
				return exit.Misuse(fmt.Errorf("--mode %q", mode), "choose one of "+strings.Join(modeNames(), ", "))
			case !slices.Contains(profileNames(), profile):
				return exit.Misuse(fmt.Errorf("--profile %q", profile), "choose one of "+strings.Join(profileNames(), ", "))
			}

			if dual && mode != string(spec.ModeL2Bridge) {
				return exit.Misuse(fmt.Errorf("--dual-stack with --mode %s", mode),
					"choose --mode "+string(spec.ModeL2Bridge)+": no other mode has both families")
			}

			return nettest.List(a.Env.Out, spec.Mode(mode), spec.Profile(profile), dual)
		},
	}

	cmd.Flags().StringVar(&mode, "mode", string(spec.ModeL2Bridge), "the network mode whose flows are listed")
	cmd.Flags().StringVar(&profile, "profile", string(spec.ProfileFaithful),
		"the profile whose expectations are listed")
	cmd.Flags().BoolVar(&dual, "dual-stack", false, "list the flows over IPv6 too, which a dual-stack cluster has")
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text, or markdown for the table of all modes")
	cmdline.CompleteAll(cmd, map[string][]string{
		"mode": modeNames(), "profile": profileNames(),
		"output": {"text", "markdown"},
	})

	return cmd
}

type netTestFlags struct {
	mode, output, flows string
	timeout             time.Duration
}

func (a *commands) test() *cobra.Command {
	var f netTestFlags
	cmd := &cobra.Command{
		Use:   "test",
		Short: "Test every flow that Windows documents, also those that are documented not to work",
		Long: `Starts pods with Kubernetes' agnhost on Windows nodes and on a Linux node, and Services of every kind, in a namespace of
their own. Adds a place outside of the cluster to the underlay. Then it calls: from pods to pods, to Services by
address and by name, to nodes and to the outside; from nodes; and from the outside to node ports, external IPs,
load balancers and hostPorts. It calls over TCP, UDP and ping, and in a dual-stack cluster over IPv4 and IPv6.
Limitations that Windows documents are tested too (for example, that a node does not reach its own node ports): if
such a call is answered, that is a difference.

At the end, also after Ctrl-C, everything that the test made is removed; only the images ` + nettest.Image + ` and
` + nettest.LinuxImage + ` stay in the cluster's stores. The exit code is 0 if every flow went as documented, and 7 if
not. A flow that needs something that the cluster lacks is skipped, with the reason.`,
		Example: "  mullion net test\n  mullion net test --flows 'ClusterIP|NodePort'\n  mullion net test -o json | jq '.results[] | select(.outcome == \"DIFFERENT\")'",
		Args:    cmdline.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.runTest(cmd.Context(), f) },
	}

	flags := cmd.Flags()
	flags.StringVar(&f.mode, "mode", "",
		"the network mode to test; if the cluster has another one (networking.mode of cluster.yaml), nothing is tested")
	flags.StringVar(&f.flows, "flows", "",
		"carry out only the flows whose names match this regular expression; \"mullion net flows\" lists them")
	flags.StringVarP(&f.output, "output", "o", "text", "how to print the result: text or json")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Minute, "how long the test may take")
	cmdline.CompleteAll(cmd, map[string][]string{"mode": modeNames(), "output": {"text", "json"}})

	return cmd
}

func modeNames() []string {
	var names []string
	for _, m := range spec.Modes() {
		names = append(names, string(m))
	}
	return names
}

func profileNames() []string {
	var names []string
	for _, p := range spec.Profiles() {
		names = append(names, string(p))
	}
	return names
}

func (a *commands) runTest(ctx context.Context, f netTestFlags) error {
	if f.output != "text" && f.output != "json" {
		return exit.Misuse(fmt.Errorf("--output %q", f.output), "choose text or json")
	}

	var only *regexp.Regexp
	if f.flows != "" {
		var err error
		if only, err = regexp.Compile(f.flows); err != nil {
			return exit.Misuse(fmt.Errorf("--flows: %w", err), "give a regular expression, as --flows 'ClusterIP|NodePort'")
		}
	}

	if err := a.RequireRoot("makes network namespaces and loads images"); err != nil {
		return err
	}

	paths, c, err := a.Cluster()
	if err != nil {
		return err
	}
	if f.mode != "" && f.mode != string(c.Networking.Mode) {
		return exit.Misuse(fmt.Errorf("cluster %q has network mode %s, not %s", c.Name, c.Networking.Mode, f.mode),
			"bring up a cluster whose cluster.yaml says so (networking.mode)")
	}

	ctx, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	p := &progress{env: a.Env, quiet: f.output == "json"}
	if err := stores.Agnhost(ctx, a.Call, paths, c, p.step); err != nil {
		return err
	}

	report, err := a.carryOut(ctx, paths, nettest.Config{
		Only: only,
		Step: p.step,
		Done: p.done,
	})
	p.end()
	if errors.Is(err, nettest.ErrNoFlow) {
		return exit.Misuse(err, "`mullion net flows` lists the names")
	}

	if err != nil {
		return remedy.Up(err, paths)
	}
	write := report.Text
	if f.output == "json" {
		write = report.JSON
	}

	if err := write(a.Env.Out); err != nil {
		return err
	}
	if report.Count(nettest.Different) > 0 {
		return exit.Silent(exit.Different)
	}

	return nil
}

// progress prints the test's progress to standard error, so that standard output has only the result: on a terminal
// one line that changes, otherwise a line for each step and each difference.
type progress struct {
	env   invoke.Env
	quiet bool
	mu    sync.Mutex
}

func (p *progress) step(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.env.Terminal {
		fmt.Fprintf(p.env.Err, "\r\033[K… %s", text)
	} else if !p.quiet {
		fmt.Fprintf(p.env.Err, "… %s\n", text)
	}
}

func (p *progress) done(done, all int, r nettest.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("%d/%d %s, %s: %s", done, all, r.Flow, r.Protocol, r.Outcome)
	if p.env.Terminal {
		fmt.Fprintf(p.env.Err, "\r\033[K%s", strings.TrimSpace(fmt.Sprintf("%.78s", line)))
	} else if !p.quiet && r.Outcome == nettest.Different {
		fmt.Fprintln(p.env.Err, line)
	}
}

func (p *progress) end() {
	if p.env.Terminal {
		fmt.Fprint(p.env.Err, "\r\033[K")
	}
}
