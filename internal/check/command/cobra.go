package command

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/rules"
)

// Program is the program that the command is a part of.
type Program struct {
	In      io.Reader
	Out     io.Writer
	Version string
	// Kubectl returns Options.Kubectl when a cluster is checked; nil: the kubectl in PATH.
	Kubectl func() []string
	// End turns the outcome and error of a run into the error that the program's command returns.
	End func(Outcome, error) error
}

// New returns the command `check`, with `check rules`, `check policy` and `check programs`.
func New(p Program) *cobra.Command {
	o := Options{}
	var explain string
	cmd := &cobra.Command{
		Use:   "check [PATH… | -]",
		Short: "Say what of a manifest will not work on Windows nodes",
		Long: `Reads Kubernetes manifests (files, folders, or standard input; YAML or JSON) and says field by field what will not work on Windows nodes, why,
and what to do. It needs no cluster. Pods for Linux are passed over; a pod that does not say its system is
judged like one for Windows.

Images are looked up in --image-layout, then in their registries, with the credentials of Docker's or Podman's
configuration; --offline asks no registry.`,
		Example: `  mullion check deploy/                                      a folder
  helm template NAME CHART | mullion check -                 rendered templates
  mullion check --cluster --windows-version ltsc2022         what is in the cluster of kubectl's current context
  mullion check deploy/ --fix=diff                           what --fix would change
  mullion check --explain host-network                       one rule`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if explain != "" {
				return p.End(Outcome{}, Explain(p.Out, explain))
			}
			var err error
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}

			o.Paths, o.Version = args, p.Version
			if o.Cluster && p.Kubectl != nil {
				o.Kubectl = p.Kubectl()
			}
			return p.End(Run(cmd.Context(), o, p.In, p.Out))
		},
	}
	addFlags(cmd, &o)
	cmd.Flags().StringVar(&explain, "explain", "", "explain a rule")
	var ids []string
	for _, r := range rules.All() {
		ids = append(ids, r.ID+"\t"+r.Title)
	}

	complete(cmd, "explain", ids)
	cmd.AddCommand(p.rules(), p.policy(), p.programs())
	return cmd
}

// rules lists the rules.
func (p Program) rules() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the rules",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.End(Outcome{}, listRules(p.Out, output)) },
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or markdown")
	complete(cmd, "output", []string{"text", "markdown"})
	return cmd
}

func listRules(out io.Writer, output string) error {
	switch output {
	case "markdown":
		return rules.Markdown(out)
	case "text":
	default:
		return &UsageError{fmt.Errorf("output %q: want text or markdown", output)}
	}
	t := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, "RULE\tSEVERITY\tCATEGORY\tTITLE")
	for _, r := range rules.All() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.ID, r.Severity, r.Category, r.Title)
	}
	return t.Flush()
}

// policy prints the rules as admission policies.
func (p Program) policy() *cobra.Command {
	o := Options{}
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Print the rules as admission policies, for `kubectl apply -f -`",
		Args:  cobra.NoArgs,
		Long: `Prints the rules that have a form in CEL as ValidatingAdmissionPolicies, which the API server itself holds: it refuses what cannot work on Windows
nodes and warns of the rest. From Kubernetes 1.36 on, MutatingAdmissionPolicies also add to pods whose system
is known the node selector of that system, and to pods for Windows the tolerations of the usual taints of
Windows nodes.`,
		RunE: func(*cobra.Command, []string) error {
			var err error
			if o.Dir, err = os.Getwd(); err == nil {
				err = WritePolicies(o, p.Out)
			}
			return p.End(Outcome{}, err)
		},
	}
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes-version", "",
		"Kubernetes version of the cluster, 1.30 or later (default "+version.KubernetesMinor()+")")
	cmd.Flags().StringVar(&o.Config, "config", "",
		"configuration file (default the nearest "+ConfigName+" from the working directory upward)")

	return cmd
}

// Explain prints everything that a rule says.
func Explain(out io.Writer, id string) error {
	for _, r := range rules.All() {
		if r.ID != id {
			continue
		}
		_, err := fmt.Fprintf(out, "%s (%s, %s)\n%s\n\nWhy: %s\nFix: %s\nSource: %s\n        %s\n%s",
			r.ID, r.Severity, r.Category, r.Title, r.Why, r.Remedy, r.Source.Title, r.Source.URL, versions(r))
		return err
	}
	return &UsageError{fmt.Errorf("there is no rule %q; `check rules` lists them", id)}
}

func versions(r check.Rule) string {
	var b strings.Builder
	if r.Since != 0 {
		fmt.Fprintf(&b, "From Kubernetes 1.%d on\n", r.Since)
	}
	if r.Until != 0 {
		fmt.Fprintf(&b, "Works from Kubernetes 1.%d on\n", r.Until)
	}

	if r.Refused != 0 {
		fmt.Fprintf(&b, "Refused from Kubernetes 1.%d on where spec.os.name is windows\n", r.Refused)
	}
	if r.SinceBuild != 0 {
		fmt.Fprintf(&b, "From Windows build %d on\n", r.SinceBuild)
	}
	if r.UntilBuild != 0 {
		fmt.Fprintf(&b, "Works from Windows build %d on\n", r.UntilBuild)
	}

	return b.String()
}
