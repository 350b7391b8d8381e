// Package docker owns `mullion docker`: bringing up Docker's engine on a Windows host without a cluster, saying how it is
// reached and how it is, and removing it. The engine, its host and its socket are package cluster's.
package docker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/spec"
)

const (
	// defaultName is the name of an engine unless another is given; defaultData is the folder of that engine, and the
	// beginning of the folders of others.
	defaultName = "mullion"
	defaultData = "/var/lib/mullion-docker"
)

// Calls are what the commands ask of packages that reach for the machine.
type Calls struct {
	Preflight bringup.Look
	// Free returns an error if the machine has the underlay of a specification already.
	Free func(spec.Cluster, layout.Paths) error
	Up   func(context.Context, cluster.UpOptions) (spec.Cluster, error)
	Down func(context.Context, layout.Paths, func(string)) error
}

// Real returns those of the program.
func Real() Calls {
	return Calls{
		Preflight: cluster.Preflight,
		Free:      cluster.CheckUnderlay,
		Up:        cluster.Up,
		Down:      cluster.Down,
	}
}

// commands are `mullion docker`.
type commands struct {
	*invoke.Call

	calls Calls
	name  string
}

// New returns the command with those below it.
func New(call *invoke.Call, calls Calls) *cobra.Command {
	a := &commands{Call: call, calls: calls}
	cmd := &cobra.Command{
		Use:   "docker",
		Short: "Docker's engine for Windows containers, for the docker command of Linux",
		Long: `Brings up upstream's dockerd.exe, unmodified, on a Windows host on this machine, without a cluster, and offers its API on
a Unix socket: the docker command of Linux and Testcontainers speak to it.

Its folder is ` + defaultData + ` (of an engine NAME ` + defaultData + `-NAME), unless --data-dir names another.
MULLION_DATA_DIR is a cluster's folder alone, and so is the default of --data-dir.

Whoever may use the socket is as good as root on this machine, as with Docker's own. It is root, the user who ran
` + "`sudo mullion docker up`" + `, and the members of the group that --group names.`,
		Example: `  sudo mullion docker up
  eval "$(mullion docker env)"
  docker version
  sudo mullion docker down`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.name, "name", defaultName,
		"name of the engine; its folder is "+defaultData+", or "+defaultData+"-NAME, unless --data-dir names another")
	cmd.AddCommand(a.up(), a.down(), a.env(), a.status())

	return cmd
}

// nameForm is a DNS label, which the name of a context of docker can be.
var nameForm = lazyregexp.New(`^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$`)

// paths returns the engine's: those of a folder of its own, unless another is given.
func (a *commands) paths(cmd *cobra.Command) (layout.Paths, error) {
	if !nameForm.MatchString(a.name) {
		return layout.Paths{}, exit.Misuse(fmt.Errorf("--name %q is not a DNS label of at most 40 characters", a.name),
			"for example: --name ci")
	}
	data := defaultData
	if a.name != defaultName {
		data += "-" + a.name
	}

	if cmd.Flags().Changed("data-dir") {
		var err error
		if data, err = filepath.Abs(a.DataDir); err != nil {
			return layout.Paths{}, err
		}
	}

	return layout.Paths{Data: data, Bin: filepath.Dir(a.Env.Executable)}, nil
}

// kept returns the engine that a folder holds; os.ErrNotExist if it holds none. A cluster's folder is an error.
func kept(paths layout.Paths) (spec.Cluster, error) {
	c, err := paths.LoadSpec()
	if err == nil && c.Docker == nil {
		err = &exit.Error{
			Code:   exit.Conflict,
			Err:    fmt.Errorf("data folder %q holds cluster %q, and not Docker's engine", paths.Data, c.Name),
			Remedy: "use another --data-dir, or none",
		}
	}
	return c, err
}

// address returns the socket as docker's -H and DOCKER_HOST take it.
func address(paths layout.Paths) string { return "unix://" + paths.Docker() }

// command returns this program with the flags that name the engine.
func (a *commands) command(cmd *cobra.Command, below string) string {
	words := []string{strings.TrimSuffix(a.program(), " "), "docker", below}
	if a.name != defaultName {
		words = append(words, "--name", a.name)
	}
	if cmd.Flags().Changed("data-dir") {
		words = append(words, "--data-dir", a.DataDir)
	}
	return strings.Join(words, " ")
}

// program returns this program as a person types it, without a folder.
func (a *commands) program() string {
	call := *a.Call
	call.DataDir = invoke.DefaultDataDir
	return call.Command()
}

// notUp is the error where no engine is.
func (a *commands) notUp(cmd *cobra.Command, paths layout.Paths) error {
	return &exit.Error{
		Code:   exit.NotFound,
		Err:    fmt.Errorf("no Docker engine is up in %s", paths.Data),
		Remedy: fmt.Sprintf("`%s` brings one up", a.command(cmd, "up")),
	}
}

func (a *commands) down() *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use:   "down",
		Short: "Remove the engine with its containers, images and volumes, and every trace of it",
		Long: `Ends every process of the engine, removes its mounts, namespaces, interfaces, tables, cgroups and its data folder: all
containers, images and volumes. It also removes what a crash has left, and is safe to repeat. A context of docker that
you made stays yours: ` + "`docker context rm`" + `.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, err := a.paths(cmd)
			if err != nil {
				return err
			}
			if err := a.OfNoCluster().RequireRoot("ends the engine's processes and removes what they made"); err != nil {
				return err
			}

			ctx, held, err := a.Hold(cmd.Context(), paths)
			if err != nil {
				return err
			}
			defer held.Release()

			if _, err := kept(paths); exit.Code(err) == exit.Conflict {
				return err
			} else if err != nil && !errors.Is(err, os.ErrNotExist) {
				fmt.Fprintf(a.Env.Err, "mullion: %v; removing what is there anyway\n", err)
			}

			return a.calls.Down(ctx, paths, func(step string) {
				if !quiet {
					fmt.Fprintf(a.Env.Out, "ok   %s\n", step)
				}
			})
		},
	}
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors")

	return cmd
}
