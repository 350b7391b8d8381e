package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

func (a *app) kubectl() *cobra.Command {
	return &cobra.Command{
		Use:   "kubectl [args…]",
		Short: "Upstream's kubectl, talking to this cluster",
		Long: `Upstream's kubectl, linked in, with this cluster's administrator kubeconfig unless --kubeconfig says otherwise.
Everything after "kubectl" is kubectl's own: mullion kubectl get pods -A`,
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.paths()
			if err != nil {
				return err
			}
			named := slices.ContainsFunc(args,
				func(s string) bool { return s == "--kubeconfig" || strings.HasPrefix(s, "--kubeconfig=") })
			if !named {
				if c, err := paths.LoadSpec(); err == nil && c.Join != nil {
					return noControlPlane(c)
				}
				if _, err := os.Stat(paths.AdminKubeconfig()); err != nil {
					return noCluster(paths.Data, err)
				}
				args = append([]string{"--kubeconfig=" + paths.AdminKubeconfig()}, args...)
			}
			return a.runKubectl(cmd.Context(), args)
		},
	}
}

// noCluster returns the error for commands that need a cluster if this user can see none.
func noCluster(data string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return &Error{
			Code:   ExitRequirement,
			Err:    fmt.Errorf("read the cluster's state in %q: %w", data, err),
			Remedy: "run it with sudo, or use your own kubeconfig with kubectl",
		}
	}
	return &Error{
		Code:   ExitNotFound,
		Err:    fmt.Errorf("no cluster in %q", data),
		Remedy: "bring one up with `mullion up`, or name its folder with --data-dir",
	}
}

func (a *app) runKubectl(ctx context.Context, args []string) error {
	a.env.releaseInterrupt() // kubectl's own handling of Ctrl-C
	code := 0
	kubectlutil.BehaviorOnFatal(func(msg string, c int) {
		code = max(c, 1)
		if msg != "" {
			fmt.Fprintln(a.env.Err, strings.TrimSuffix(msg, "\n"))
		}
		panic(kubectlExit{}) //nolint:forbidigo // if this returned, kubectl's code would go on; recovered below
	})
	flags := genericclioptions.NewConfigFlags(true).WithDeprecatedPasswordFlag().WithDiscoveryBurst(
		300).WithDiscoveryQPS(50)
	k := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		PluginHandler: kubectl.NewDefaultPluginHandler([]string{"kubectl"}),
		Arguments:     append([]string{"kubectl"}, args...),
		ConfigFlags:   flags,
		IOStreams:     genericiooptions.IOStreams{In: a.env.In, Out: a.env.Out, ErrOut: a.env.Err},
	})
	k.SetArgs(args)
	k.SetIn(a.env.In)
	k.SetOut(a.env.Out)
	k.SetErr(a.env.Err)
	err := func() (err error) {
		defer func() {
			r := recover()
			if _, ours := r.(kubectlExit); r != nil && !ours {
				err = fmt.Errorf("kubectl: %v", r)
			}
		}()
		return k.ExecuteContext(ctx)
	}()
	switch {
	case code != 0:
		return &silentError{code: code}
	case err != nil && !strings.HasPrefix(err.Error(), "kubectl: "):
		fmt.Fprintf(a.env.Err, "error: %v\n", err)
		return &silentError{code: 1}
	}
	return err
}

// kubectlExit is the panic that unwinds kubectl where it would have ended the process.
type kubectlExit struct{}
