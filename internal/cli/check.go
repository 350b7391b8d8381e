package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/check"
	"mullion.dev/mullion/internal/check/command"
	"mullion.dev/mullion/internal/check/rules"
	"mullion.dev/mullion/internal/version"
)

func (a *app) check() *cobra.Command {
	o := command.Options{}
	var explain string
	cmd := &cobra.Command{
		Use:   "check [PATH… | -]",
		Short: "Say what of a manifest will not work on Windows nodes",
		Long: `Reads Kubernetes manifests (files, folders, or standard input; YAML or JSON) and says field by field what will not work on Windows nodes, why,
and what to do. It needs no cluster. Pods for Linux are passed over; a pod that does not say its system is judged like one for Windows.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if explain != "" {
				return a.explainRule(explain)
			}
			o.Paths, o.Version = args, version.Mullion()
			if self, err := os.Executable(); err == nil && o.Cluster {
				o.Kubectl = []string{self, "kubectl", "--kubeconfig="} // the user's own configuration, by the kubectl that is linked in
			}
			var err error
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}
			got, err := command.Run(cmd.Context(), o, a.env.In, a.env.Out)
			var wrong *command.UsageError
			switch {
			case errors.As(err, &wrong):
				return usage(err, "see `mullion check --help`")
			case err != nil:
				return err
			case got.Unreadable:
				return &Error{Code: ExitUnreadable, Err: errors.New("check manifests: some of the input was not read"), Remedy: "what could be read was checked; the places are listed above"}
			case got.Findings:
				return &Error{Code: ExitFindings, Err: fmt.Errorf("check manifests: there are findings of severity %s or worse", got.FailOn), Remedy: "`mullion check --explain RULE` says more of a rule"}
			}
			return nil
		},
	}
	command.AddFlags(cmd, &o)
	cmd.Flags().StringVar(&explain, "explain", "", "explain a rule")
	cmd.AddCommand(a.checkRules(), a.checkPolicy())
	cmd.Args = cobra.ArbitraryArgs
	return cmd
}

// checkPolicy prints the rules as admission policies.
func (a *app) checkPolicy() *cobra.Command {
	o := command.Options{}
	cmd := &cobra.Command{
		Use: "policy", Short: "Print the rules as ValidatingAdmissionPolicies, for `kubectl apply -f -`", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			var err error
			if o.Dir, err = os.Getwd(); err != nil {
				return err
			}
			err = command.WritePolicies(o, a.env.Out)
			if _, wrong := errors.AsType[*command.UsageError](err); wrong {
				return usage(err, "see `mullion check policy --help`")
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Kubernetes, "kubernetes-version", "", "Kubernetes version of the cluster, 1.30 or later for policies (default 1.36)")
	cmd.Flags().StringVar(&o.Config, "config", "", "configuration file (default the nearest "+command.ConfigName+" from the working directory upward)")
	return cmd
}

// checkRules lists the rules.
func (a *app) checkRules() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "rules", Short: "List the rules", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			switch output {
			case "markdown":
				return rules.Markdown(a.env.Out)
			case "text":
			default:
				return usage(fmt.Errorf("output %q: want text or markdown", output), "see `mullion check rules --help`")
			}
			t := tabwriter.NewWriter(a.env.Out, 0, 4, 2, ' ', 0)
			fmt.Fprintln(t, "RULE\tSEVERITY\tCATEGORY\tTITLE")
			for _, r := range rules.All() {
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", r.ID, r.Severity, r.Category, r.Title)
			}
			return t.Flush()
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or markdown")
	return cmd
}

// explainRule prints everything that a rule says.
func (a *app) explainRule(id string) error {
	for _, r := range rules.All() {
		if r.ID != id {
			continue
		}
		_, err := fmt.Fprintf(a.env.Out, "%s (%s, %s)\n%s\n\nWhy: %s\nFix: %s\nSource: %s\n        %s\n%s",
			r.ID, r.Severity, r.Category, r.Title, r.Why, r.Remedy, r.Source.Title, r.Source.URL, versions(r))
		return err
	}
	return usage(fmt.Errorf("there is no rule %q", id), "`mullion check rules` lists them")
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
