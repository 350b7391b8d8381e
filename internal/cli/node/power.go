package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Switch switches the hosts of a cluster's nodes off and on.
type Switch interface {
	Off(ctx context.Context, node string) error
	On(ctx context.Context, node string) error
}

func openSwitch(paths layout.Paths) (Switch, error) { return cluster.NewNodePower(paths) }

// powerWait is how long a host has to start.
const powerWait = 5 * time.Minute

func (a *commands) stop() *cobra.Command {
	return a.powerCommand("stop NODE", "Switch a node's host off, as if its power was cut",
		`Ends everything that runs on a node's host at once, pods too, as when a machine loses its power. Its disks and
images stay. The API server finds after 40 seconds that the node is not Ready; its pods are evicted after the five
minutes that they tolerate by default. `+"`mullion node start`"+` and `+"`mullion up`"+` switch it on.`,
		"mullion node stop win-1", func(ctx context.Context, s Switch, node string) error {
			if err := s.Off(ctx, node); err != nil {
				return err
			}
			fmt.Fprintf(a.Env.Out, "node %s is off; `mullion node start %[1]s` switches it on\n", node)
			return nil
		})
}

func (a *commands) start() *cobra.Command {
	return a.powerCommand("start NODE", "Switch a node's host on, and wait until the node is Ready",
		`Starts the host of a node that was switched off, and waits until the node is Ready. Pods that were on it and still are
the node's come back as their restart policies say.`,
		"mullion node start win-1", func(ctx context.Context, s Switch, node string) error {
			return a.switchOn(ctx, s, node)
		})
}

func (a *commands) restart() *cobra.Command {
	return a.powerCommand("restart NODE", "Switch a node's host off and on, as a reset button does",
		`Ends everything that runs on a node's host at once, pods too, starts the host again, and waits until the node is Ready.
Windows counts a boot more, containers count a restart more.`,
		"mullion node restart win-1", func(ctx context.Context, s Switch, node string) error {
			if err := s.Off(ctx, node); err != nil {
				return err
			}
			return a.switchOn(ctx, s, node)
		})
}

func (a *commands) powerCommand(use, short, long, example string,
	do func(ctx context.Context, s Switch, node string) error,
) *cobra.Command {
	return &cobra.Command{
		Use:               use,
		Short:             short,
		Long:              long,
		Example:           "  " + example,
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			if err := a.RequireRoot("starts and stops the processes of a node"); err != nil {
				return err
			}

			s, err := a.calls.Switch(paths)
			if err != nil {
				return powerError(paths, err)
			}
			ctx, held, err := a.Hold(cmd.Context(), paths)
			if err != nil {
				return err
			}
			defer held.Release()

			ctx, cancel := context.WithTimeout(ctx, powerWait)
			defer cancel()
			return powerError(paths, do(ctx, s, args[0]))
		},
	}
}

func (a *commands) switchOn(ctx context.Context, s Switch, node string) error {
	started := time.Now()
	if err := s.On(ctx, node); err != nil {
		return err
	}
	told := "node %s is Ready after %.1fs\n"
	if a.bareHost(node) {
		told = "bare host %s is on after %.1fs\n"
	}
	fmt.Fprintf(a.Env.Out, told, node, time.Since(started).Seconds())
	return nil
}

// bareHost reports whether a node of the cluster in the data folder is a bare host.
func (a *commands) bareHost(node string) bool {
	_, c, err := a.Cluster()
	return err == nil && slices.Contains(c.Bare(), node)
}

// powerError gives an error of a node's switch its remedy and exit code.
func powerError(paths layout.Paths, err error) error {
	var start *cluster.NodeStartError
	switch {
	case errors.As(err, &start):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: fmt.Sprintf("`mullion logs kubelet/%s --tail 50` may say why; try it again then", start.Node),
		}

	case errors.Is(err, cluster.ErrNotUp):
		return &exit.Error{
			Code:   exit.NotReady,
			Err:    err,
			Remedy: "`mullion up` brings it back",
		}
	case errors.Is(err, os.ErrNotExist):
		return remedy.NoCluster(paths.Data, err)
	}

	return remedy.NotFound(err)
}
