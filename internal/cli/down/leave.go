package down

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
)

// Leave returns `mullion leave`.
func (a *Commands) Leave() *cobra.Command {
	var force bool
	var kubeconfig string
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Take this machine's nodes out of the cluster that it joined, and remove every trace of them",
		Long: `Ends the pods on this machine's nodes, deletes the nodes from the cluster and removes everything that ` + "`mullion join`" + ` made here, also
after a join that was interrupted. To move the pods to other nodes first, drain the nodes on the server:
mullion kubectl drain NODE --ignore-daemonsets`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runLeave(cmd.Context(), kubeconfig, force) },
	}

	cmd.Flags().BoolVar(&force, "force", false,
		"go on if the cluster cannot be reached; an administrator then has to delete the nodes in the cluster")
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "",
		"an administrator's kubeconfig, if the cluster does not let nodes delete themselves")
	return cmd
}

func (a *Commands) runLeave(ctx context.Context, kubeconfig string, force bool) error {
	paths, err := a.joined()
	if err != nil {
		return err
	}
	if err := a.RequireRoot("takes this machine's nodes down"); err != nil {
		return err
	}

	var admin kubeclient.Interface
	if kubeconfig != "" {
		if admin, err = bootstrap.Client(kubeconfig, nil); err != nil {
			return exit.Misuse(fmt.Errorf("--kubeconfig: %w", err), "name the kubeconfig of an administrator of the cluster")
		}
	}

	ctx, held, err := a.Hold(ctx, paths)
	if err != nil {
		return err
	}
	defer held.Release()
	said := func(step string) { fmt.Fprintf(a.Env.Out, "ok   %s\n", step) }
	if err := a.calls.Stop(ctx, paths, said); err != nil {
		return err
	}

	leaving, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()

	err = a.calls.Leave(leaving, paths, admin)
	switch {
	case err == nil:
		said("took the nodes out of the cluster")
	case force:
		fmt.Fprintf(a.Env.Err, "mullion: %v; going on (--force)\n", err)
	case errors.Is(err, join.ErrNodesStay):
		return &exit.Error{
			Code:   exit.Refused,
			Err:    err,
			Remedy: "`mullion leave --kubeconfig FILE` with an administrator's kubeconfig; or `mullion leave --force` here, and `kubectl delete node` by an administrator",
		}

	case errors.Is(err, os.ErrNotExist):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "after a reboot, run `mullion up` first; or `mullion leave --force` here, and `kubectl delete node` on the server",
		}

	default:
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "try again when the server answers; or `mullion leave --force` here, and `kubectl delete node` on the server",
		}
	}

	return a.calls.Down(ctx, paths, said)
}

// joined returns the data folder of a machine that joined a cluster, or began to.
func (a *Commands) joined() (layout.Paths, error) {
	paths, err := a.Paths()
	if err != nil || paths.Leftover() {
		return paths, err
	}

	paths, c, err := a.Cluster()
	if err == nil && c.Join == nil {
		err = &exit.Error{
			Code:   exit.Conflict,
			Err:    fmt.Errorf("this machine has not joined a cluster: cluster %q is its own", c.Name),
			Remedy: "`mullion down` removes the cluster",
		}
	}

	return paths, err
}
