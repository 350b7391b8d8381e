// Package diagnose owns `mullion diagnose` and `mullion collect`: which cluster and which nodes they ask, and how. The
// troubles, and what is collected, are elsewhere.
package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/hosts"
	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/diagnose"
	"mullion.dev/mullion/internal/diagnose/collect"
	"mullion.dev/mullion/internal/diagnose/gather"
	"mullion.dev/mullion/internal/diagnose/nodefacts"
	"mullion.dev/mullion/internal/diagnose/nodepod"
	"mullion.dev/mullion/internal/diagnose/report"
)

// askFlags are those of `mullion diagnose`.
type askFlags struct {
	kubeconfig, context, output string
	image                       string
	all, nodePods               bool
}

// addTo adds the flags that say which cluster is asked, and how its nodes are.
func (f *askFlags) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster (default: this machine's cluster)")
	cmd.Flags().StringVar(&f.context, "context", "",
		"context in the kubeconfig file; without --kubeconfig that is $KUBECONFIG or ~/.kube/config")
	cmd.Flags().BoolVar(&f.nodePods, "node-pods", false,
		"ask the nodes themselves, too, by a HostProcess pod on each, which is removed afterwards")
	cmd.Flags().StringVar(&f.image, "node-pod-image", nodepod.DefaultImage,
		"image of the HostProcess pods; any for Windows that the nodes can pull")
}

// own reports whether it is this machine's cluster.
func (f askFlags) own() bool { return f.kubeconfig == "" && f.context == "" }

// commands are `mullion diagnose`.
type commands struct{ *reader.Reader }

// New returns the command with those below it.
func New(r *reader.Reader) *cobra.Command {
	a := &commands{r}
	var f askFlags

	cmd := &cobra.Command{
		Use:   "diagnose [NODE…]",
		Short: "Find the known troubles of Windows nodes in this or any cluster, with cause and remedy",
		Long: `Looks for the troubles that the documents about Windows nodes tell of: a pod that waits for its pause image, kube-proxy
without the node's name, flannel that waits for its network, and others. For each it prints what shows it, its cause and
what to do.

It looks at this machine's cluster, or with --kubeconfig or --context at any other, whose Windows nodes need not be
Mullion's. NODE narrows it to some Windows nodes. It reads what the API server has, and changes nothing.

Some troubles only the node itself shows: its services, HNS' networks, files of flannel. The hosts of this machine are
asked directly. Other nodes are asked only with --node-pods: it makes a HostProcess pod on each node, in
kube-system, which prints what it sees, and removes it afterwards.

The exit code is 0 if nothing was found, 8 if something was, 2 for wrong flags, and 3 if the cluster could not be asked,
or not all of it and nothing was found. Who looks at this machine's cluster without root is told what only root may
see; that does not make it 3.`,
		Example: `  mullion diagnose
  mullion diagnose win-1
  mullion diagnose --context prod --node-pods
  mullion diagnose --kubeconfig ~/.kube/config --context prod -o junit > troubles.xml`,
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.windowsNodes(cmd.Context(), f, args), cobra.ShellCompDirectiveNoFileComp
		},
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(report.Formats(), f.output) {
				return exit.Misuse(fmt.Errorf("--output %q is none of %s", f.output, strings.Join(report.Formats(), ", ")),
					fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runDiagnose(cmd.Context(), f, args)
		},
	}

	f.addTo(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "text, json or junit")
	cmd.Flags().BoolVar(&f.all, "all", false, "name the probes that found nothing, too")
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(report.Formats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}
	cmd.AddCommand(a.probes())
	return cmd
}

// probes lists the probes.
func (a *commands) probes() *cobra.Command {
	var output string
	formats := []string{"text", "markdown"}

	cmd := &cobra.Command{
		Use:   "probes",
		Short: "List the troubles that are looked for",
		Args:  cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch output {
			case "text":
				return report.Probes(a.Env.Out, diagnose.Probes())
			case "markdown":
				return report.Page(a.Env.Out, diagnose.Probes())
			}
			return exit.Misuse(fmt.Errorf("--output %q is neither text nor markdown", output),
				fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or markdown")
	if err := cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		cmd.PrintErrln(err)
	}

	return cmd
}

// windowsNodes returns the Windows nodes of this machine's cluster that are not among args, for the shell to complete.
// Another cluster is not asked.
func (a *commands) windowsNodes(ctx context.Context, f askFlags, args []string) []string {
	if !f.own() {
		return nil
	}
	c, err := a.ForCompletion(ctx)
	if err != nil {
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

func (a *commands) runDiagnose(ctx context.Context, f askFlags, nodes []string) error {
	client, err := a.client(ctx, f)
	if err != nil {
		return err
	}
	picture, err := a.pictureOf(ctx, client, nodes)
	if err != nil {
		return err
	}

	gather.Nodes(ctx, picture, a.nodeAsker(f, client))
	gather.Later(ctx, client, picture)
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

	if err := r.Write(a.Env.Out, f.output); err != nil {
		return err
	}

	if !f.nodePods {
		delete(picture.Missing, diagnose.Facts) // nobody asked for them
	}
	if a.Reads() && f.own() {
		a.excuseForbidden(picture)
	}
	return diagnoseEnd(r.Results, picture)
}

// excuseForbidden forgets what is missing because one without root may not see it: the report has said so, and it is no
// sign of trouble.
func (a *commands) excuseForbidden(picture *diagnose.Picture) {
	before := len(picture.Missing)
	maps.DeleteFunc(picture.Missing, func(_ diagnose.Need, lack diagnose.Lack) bool { return lack.Forbidden })
	if len(picture.Missing) < before {
		fmt.Fprintln(a.Env.Err, "With root, all is looked at: "+a.WithSudo())
	}
}

// pictureOf returns what the API server says of a cluster, whose Windows nodes it narrows to those that are named.
func (a *commands) pictureOf(ctx context.Context, client kubeclient.Interface, nodes []string) (
	*diagnose.Picture, error,
) {
	patience, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	picture, err := gather.Picture(patience, client, nodes)
	if unknown, ok := errors.AsType[*gather.UnknownNodeError](err); ok {
		return nil, exit.Misuse(unknown, "`kubectl get nodes -L kubernetes.io/os` lists the nodes with their system")
	}
	if err != nil {
		return nil, cannotAsk(err)
	}
	return picture, nil
}

// nodeAsker asks one node about itself, in the way that is allowed.
func (a *commands) nodeAsker(f askFlags, client kubeclient.Interface) gather.Asker {
	switch {
	case f.nodePods:
		return gather.Asker{
			Begin: func(ctx context.Context) error { return nodepod.Sweep(ctx, client) },
			Ask: func(ctx context.Context, node string) (diagnose.NodeFacts, error) {
				return factsOf(node, func() (string, error) {
					return nodepod.Ask(ctx, client, node, f.image, nodefacts.Command())
				})
			},
		}

	case f.own():
		return gather.Asker{Ask: a.askHost}
	}

	return gather.Asker{Refused: "only the nodes themselves know; --node-pods asks them by a HostProcess pod on each"}
}

// factsOf asks a node for what the probes want to know.
func factsOf(node string, ask func() (string, error)) (diagnose.NodeFacts, error) {
	text, err := ask()
	if err != nil {
		return diagnose.NodeFacts{}, err
	}
	facts, whole := nodefacts.Parse(text)
	if !whole {
		return facts, endsEarly(node, text)
	}
	return facts, nil
}

func endsEarly(node, text string) error {
	return fmt.Errorf("ask node %s: its answer ends early: %.200q", node, text)
}

// askHost asks a host of this machine.
func (a *commands) askHost(ctx context.Context, node string) (diagnose.NodeFacts, error) {
	return factsOf(node, func() (string, error) {
		return a.answerOfHost(ctx, a.Patience, node, questionDiagnose)
	})
}

// answerOfHost asks a host of this machine one of the questions, and returns what it printed.
func (a *commands) answerOfHost(ctx context.Context, patience time.Duration, node, question string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if a.Reads() {
		return a.readAnswer(ctx, node, question)
	}
	if _, err := hosts.Windows(a.Call, node); err != nil {
		return "", err
	}

	paths, err := a.Paths()
	if err != nil {
		return "", err
	}
	text, err := cluster.AskHost(ctx, paths, node, Questions()[question])
	return text, remedy.NodeDown(node, err)
}

// diagnoseEnd returns the error, with its exit code, that results end with: nothing was found only where nothing of
// what the API server was asked for is missing.
func diagnoseEnd(results []diagnose.Result, picture *diagnose.Picture) error {
	found := 0
	for _, r := range results {
		found += len(r.Findings)
	}

	switch missing := slices.Sorted(maps.Keys(picture.Missing)); {
	case found > 0:
		return &exit.Error{
			Code:   exit.Findings,
			Err:    fmt.Errorf("diagnose: %d trouble(s) found", found),
			Remedy: "each is listed above with its cause and what to do",
		}

	case len(missing) > 0:
		lack := picture.Missing[missing[0]]
		remedy := "see whether the API server answers, then look again"
		if lack.Forbidden {
			remedy = "use a kubeconfig whose user may read pods, events and Services in all namespaces"
		}
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    fmt.Errorf("diagnose: nothing found, but not all could be looked at: %s", lack.Why),
			Remedy: remedy,
		}
	}

	return nil
}

// cannotAsk returns the error where a cluster could not be asked.
func cannotAsk(err error) error {
	return &exit.Error{
		Code: exit.Requirement,
		Err:  err,
		Remedy: "see whether `kubectl get nodes` works with the same kubeconfig and context; of this machine's cluster " +
			"`mullion status` says whether it is up",
	}
}

// client asks the cluster that the flags name; without flags the one of this machine.
func (a *commands) client(ctx context.Context, f askFlags) (kubeclient.Interface, error) {
	if f.own() {
		client, _, err := a.OwnClient(ctx)
		return client, err
	}

	cfg, err := a.foreignConfig(f)
	if err != nil {
		return nil, exit.Misuse(err, "`kubectl config get-contexts` lists the contexts")
	}
	cfg.QPS, cfg.Burst = 50, 100
	return kubeclient.NewForConfig(cfg)
}

// foreignConfig reads the person's own kubeconfig.
func (a *commands) foreignConfig(f askFlags) (*rest.Config, error) {
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: f.kubeconfig}
	if f.kubeconfig == "" {
		target, err := kubeconfig.Locate(a.Env.Environ)
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

// The questions by which a Windows node is asked about itself.
const (
	questionDiagnose = "diagnose"
	questionCollect  = "collect"
)

// Questions returns the programs with their arguments, all of which only read.
func Questions() map[string][]string {
	return map[string][]string{questionDiagnose: nodefacts.Command(), questionCollect: collect.Command()}
}

// readAnswer returns what a Windows node says of itself, by the cluster's socket.
func (a *commands) readAnswer(ctx context.Context, node, question string) (string, error) {
	paths, err := a.Paths()
	if err != nil {
		return "", err
	}
	answer, err := a.View(paths).Open(ctx, view.Path("ask", node, question), nil)
	if err != nil {
		return "", a.ReadError(paths, err)
	}
	text, err := io.ReadAll(answer)
	return string(text), a.ReadError(paths, errors.Join(err, answer.Close()))
}
