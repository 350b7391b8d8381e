// Package down owns `mullion down`, `stop` and `leave`: how a cluster, or a machine's part of one, ends. Ending it is
// elsewhere.
package down

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/kubeconfig"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/join"
	"mullion.dev/mullion/internal/cluster/layout"
)

// Calls are what the commands ask of packages that reach for the machine.
type Calls struct {
	Stop, Down func(context.Context, layout.Paths, func(string)) error
	Leave      func(context.Context, layout.Paths, kubeclient.Interface) error
}

// Real returns those of the program.
func Real() Calls {
	return Calls{
		Stop:  cluster.Stop,
		Down:  cluster.Down,
		Leave: join.Leave,
	}
}

// Commands are `mullion down`, `mullion stop` and `mullion leave`.
type Commands struct {
	*reader.Reader

	calls Calls
}

// New returns the commands.
func New(r *reader.Reader, calls Calls) *Commands { return &Commands{Reader: r, calls: calls} }

// Down returns `mullion down`.
func (a *Commands) Down() *cobra.Command {
	var kubeconfigFlag string
	var ofRun, volumes bool
	var out progress.Flags

	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the cluster and every trace of it",
		Long: `Ends every process of the cluster, removes its mounts, namespaces, interfaces, tables, cgroups and its data folder, and
removes its context from your kubeconfig. It also removes what a crash has left, and is safe to repeat. On a
machine that joined a cluster with mullion join, it does the same as ` + "`mullion leave --force`" + `.

With --run it leaves the cluster alone, and removes the engine of ` + "`mullion run`" + ` with its containers and
images. Volumes with a name are data, and stay: --volumes removes them too.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case ofRun && kubeconfigFlag != "":
				return exit.Misuse(errors.New("--kubeconfig is for a cluster, and --run leaves that alone"), "leave one of them out")
			case volumes && !ofRun:
				return exit.Misuse(errors.New("--volumes is for single containers"), "add --run; a cluster's volumes go with it")
			case ofRun:
				return engine.Remove(a.Call, cmd, volumes, out.Quiet)
			}
			return a.runDown(cmd.Context(), kubeconfigFlag, out.Steps(a.Env.Out))
		},
	}

	cmd.Flags().StringVar(&kubeconfigFlag, "kubeconfig", "",
		"kubeconfig file that has the context (default: $KUBECONFIG or ~/.kube/config)")
	cmd.Flags().BoolVar(&ofRun, "run", false,
		"remove the engine of single containers (mullion run) and its images, not the cluster")
	cmd.Flags().BoolVar(&volumes, "volumes", false, "with --run, also the volumes that have a name")
	out.AddQuiet(cmd)

	return cmd
}

// runDown removes the cluster, and its context from the kubeconfig that is named, or else from the person's.
func (a *Commands) runDown(ctx context.Context, kubeconfigFlag string, step func(string)) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}
	if err := a.RequireRoot("ends the cluster's processes and removes what they made"); err != nil {
		return err
	}

	ctx, held, err := a.Hold(ctx, paths)
	if err != nil {
		return err
	}
	defer held.Release()

	name := ""
	if c, err := paths.LoadSpec(); (err == nil && c.Join != nil) || paths.Leftover() {
		return a.runLeave(ctx, "", true) // its nodes are removed too, if possible
	} else if err == nil {
		name = c.Name
	} else if !errors.Is(err, os.ErrNotExist) {
		fmt.Fprintf(a.Env.Err, "mullion: %v; removing what is there anyway\n", err)
	}

	if err := a.calls.Down(ctx, paths, step); err != nil {
		return err
	}
	person, err := kubeconfig.PersonalOf(a.Env.Environ, kubeconfigFlag)
	if err != nil || name == "" {
		return err
	}

	return person.Remove(ctx, paths, name)
}

// Stop returns `mullion stop`.
func (a *Commands) Stop() *cobra.Command {
	var out progress.Flags
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "End the cluster's processes and keep its state",
		Long:  "Ends every process of the cluster, pods included, and keeps its state. `mullion up` brings the cluster back, `mullion down` removes it.",
		Args:  cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			if err := a.RequireRoot("ends the cluster's processes"); err != nil {
				return err
			}
			return a.calls.Stop(cmd.Context(), paths, out.Steps(a.Env.Out))
		},
	}
	out.AddQuiet(cmd)

	return cmd
}
