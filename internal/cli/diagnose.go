package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/gather"
	"mullion.dev/mullion/internal/diagnose/report"
)

// diagnoseFlags are those of `mullion diagnose`.
type diagnoseFlags struct {
	kubeconfig, context, output string
	all                         bool
}

func (a *app) diagnoseNodes() *cobra.Command {
	var f diagnoseFlags
	cmd := &cobra.Command{
		Use:   "diagnose [NODE…]",
		Short: "Find the known troubles of Windows nodes in this or any cluster, with cause and remedy",
		Long: `Looks for the troubles that the documents about Windows nodes tell of: a pod that waits for its pause image, kube-proxy
without the node's name, flannel that waits for its network, and others. For each it prints what shows it, its cause and
what to do.

It looks at this machine's cluster, or with --kubeconfig or --context at any other, whose Windows nodes need not be
Mullion's. It only reads, by the API server. NODE narrows it to some Windows nodes.

The exit code is 0 if nothing was found, 1 if something was, 2 for wrong flags, and 3 if the cluster could not be asked.`,
		Example: `  mullion diagnose
  mullion diagnose win-1
  mullion diagnose --kubeconfig ~/.kube/config --context prod -o junit > troubles.xml`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.windowsNodes(f, args), cobra.ShellCompDirectiveNoFileComp
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(report.Formats(), f.output) {
				return usage(fmt.Errorf("--output %q is none of %s", f.output, strings.Join(report.Formats(), ", ")),
					fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runDiagnose(cmd.Context(), f, args)
		},
	}
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster (default: this machine's cluster)")
	cmd.Flags().StringVar(&f.context, "context", "",
		"context in the kubeconfig file; without --kubeconfig that is $KUBECONFIG or ~/.kube/config")
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or junit")
	cmd.Flags().BoolVar(&f.all, "all", false, "name the probes that found nothing, too")
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}
	return cmd
}

// windowsNodes are the Windows nodes of this machine's cluster that are not among args, for the shell to complete. Another
// cluster is not asked.
func (a *app) windowsNodes(f diagnoseFlags, args []string) []string {
	_, c, err := a.cluster()
	if err != nil || f.kubeconfig != "" || f.context != "" {
		return nil
	}
	var names []string
	for _, n := range c.Nodes {
		if !n.Linux() && !slices.Contains(args, n.Name) {
			names = append(names, n.Name)
		}
	}
	return names
}

func (a *app) runDiagnose(ctx context.Context, f diagnoseFlags, nodes []string) error {
	ctx, cancel := context.WithTimeout(ctx, a.calls.apiPatience)
	defer cancel()
	client, err := a.diagnoseClient(f)
	if err != nil {
		return err
	}
	picture, err := gather.Picture(ctx, client, nodes)
	if unknown, ok := errors.AsType[*gather.UnknownNodeError](err); ok {
		return usage(unknown, "`kubectl get nodes -L kubernetes.io/os` lists the nodes with their system")
	}
	if err != nil {
		return cannotAsk(err)
	}
	r := report.Report{
		Results: diagnose.Run(diagnose.Probes(), picture),
		Server:  picture.Version,
		All:     f.all,
	}
	for i := range picture.Nodes {
		if picture.Looked(picture.Nodes[i].Name) {
			r.Nodes = append(r.Nodes, picture.Nodes[i].Name)
		}
	}
	if err := r.Write(a.env.Out, f.output); err != nil {
		return err
	}
	return diagnoseEnd(r.Results, picture)
}

// diagnoseEnd is the error, with its exit code, that results end with: nothing was found only where all that the API
// server was asked for could be had.
func diagnoseEnd(results []diagnose.Result, picture *diagnose.Picture) error {
	found := 0
	for _, r := range results {
		found += len(r.Findings)
	}
	switch refused := slices.Sorted(maps.Keys(picture.Missing)); {
	case found > 0:
		return &Error{
			Code:   ExitFound,
			Err:    fmt.Errorf("diagnose: %d trouble(s) found", found),
			Remedy: "each is listed above with its cause and what to do",
		}
	case len(refused) > 0:
		return &Error{
			Code:   ExitRequirement,
			Err:    fmt.Errorf("diagnose: nothing found, but not all could be looked at: %s", picture.Missing[refused[0]]),
			Remedy: "use a kubeconfig whose user may read pods, events and Services in all namespaces",
		}
	}
	return nil
}

// cannotAsk is the error where a cluster could not be asked.
func cannotAsk(err error) error {
	return &Error{
		Code:   ExitRequirement,
		Err:    err,
		Remedy: "see whether `kubectl get nodes` works with the same kubeconfig and context",
	}
}

// diagnoseClient asks the cluster that the flags name; without flags the one of this machine.
func (a *app) diagnoseClient(f diagnoseFlags) (kubernetes.Interface, error) {
	if f.kubeconfig == "" && f.context == "" {
		paths, c, err := a.cluster()
		if err != nil {
			return nil, err
		}
		client, err := a.calls.client(paths)
		if errors.Is(err, fs.ErrNotExist) && c.Join != nil {
			return nil, noControlPlane(c)
		}
		return client, err
	}
	cfg, err := a.foreignConfig(f)
	if err != nil {
		return nil, usage(err, "`kubectl config get-contexts` lists the contexts")
	}
	cfg.QPS, cfg.Burst = 50, 100
	return kubernetes.NewForConfig(cfg)
}

// foreignConfig reads the person's own kubeconfig.
func (a *app) foreignConfig(f diagnoseFlags) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}
	if f.kubeconfig == "" {
		target, err := kubeconfig.Locate(a.env.Environ)
		if err != nil {
			return nil, err
		}
		rules.Precedence = target.Paths
	}
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: f.context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	return cfg, nil
}
