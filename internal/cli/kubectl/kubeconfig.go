package kubectl

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Kubeconfig returns `mullion kubeconfig`.
func (a *Commands) Kubeconfig() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print a kubeconfig of the cluster: root the administrator's",
		Long: `Prints the administrator's kubeconfig, if you are root. Keep it secret: it gives every right in the cluster. mullion up has
already added a context for the cluster to your own kubeconfig.

Anybody else gets that context, with the same rights. Without one, who may read the cluster gets a kubeconfig that may
only read, and no secrets; it ends after twelve hours.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			if a.Reads() {
				return a.printOwnKubeconfig(cmd.Context(), paths)
			}

			text, err := os.ReadFile(paths.AdminKubeconfig())
			if err != nil {
				return remedy.NoCluster(paths.Data, err)
			}
			_, err = a.Env.Out.Write(text)
			return err
		},
	}
}

// printOwnKubeconfig prints the kubeconfig of one who is not root.
func (a *Commands) printOwnKubeconfig(ctx context.Context, paths layout.Paths) error {
	x, err := a.Access(ctx, paths)
	if err != nil {
		return err
	}
	text, err := clientcmd.Write(*x.Config)
	if err != nil {
		return err
	}

	if x.Viewer {
		fmt.Fprintln(a.Env.Err, "mullion: this kubeconfig may only read; `sudo mullion kubeconfig` prints the administrator's")
	}
	_, err = a.Env.Out.Write(text)
	return err
}
