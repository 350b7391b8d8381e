// Package container owns `mullion container`: what is done with the containers of `mullion run`, in Docker's words.
// What they are, package single knows.
package container

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/single"
)

// commands are `mullion container`.
type commands struct{ *invoke.Call }

// New returns the command with those below it.
func New(call *invoke.Call) *cobra.Command {
	a := &commands{call}
	cmd := &cobra.Command{
		Use:   "container",
		Short: "List, read, enter, stop and remove the containers of `mullion run`",
		Long: `Works on the containers of ` + "`mullion run`" + `, with the words of ` + "`docker container`" + `. CONTAINER is a
name, an id or the beginning of one.

A container that has ended stays in the list with its log and exit code, unless it was run with --rm, until it is
removed; of more than 200 the oldest go. What it has written to its C: goes with its program. Containers live as long
as their engine: if that is killed, they have ended with it, with exit code 255. Of a run with --data-dir, that folder
is named here, too.`,
		Example: `  mullion run -d --name web ./server.exe
  mullion container ls
  mullion container logs -f web
  mullion container exec -it web cmd
  mullion container stop web && mullion container rm web`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.list(), a.logs(), a.exec(), a.inspect(), a.port(), a.stats(), a.start(), a.restart(), a.stop(),
		a.kill(), a.wait(), a.rename(), a.remove(), a.prune(), a.copy())
	cmd.AddCommand(looking{a}.attach(), looking{a}.top())
	cmd.AddCommand(refused()...)

	return cmd
}

// client returns a client for a command that deals with containers.
func (a *commands) client(cmd *cobra.Command) (*single.Client, error) {
	if err := a.OfNoCluster().RequireRoot("asks the engine of single containers"); err != nil {
		return nil, err
	}
	return engine.Client(a.Call, cmd)
}

// atLeastOne takes at least one container.
func atLeastOne(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return exit.Misuse(fmt.Errorf("`%s` takes at least one CONTAINER, got none", cmd.CommandPath()),
		"`mullion container ls -a` lists them")
}

// each does something with each container that is named, and prints what is said of it. What goes wrong with
// one does not keep it from the next.
func (a *commands) each(cmd *cobra.Command, names []string,
	do func(ctx context.Context, client *single.Client, name string) (said string, err error),
) error {
	client, err := a.client(cmd)
	if err != nil {
		return err
	}

	var failed error
	for _, name := range names {
		said, err := do(cmd.Context(), client, name)
		if err != nil {
			frame.PrintError(a.Env, engine.Refused(err))
			failed = exit.Silent(exit.Code(engine.Refused(err)))
			continue
		}
		fmt.Fprintln(a.Env.Out, said)
	}

	return failed
}

// complete completes names of containers in some states, of all without one: one of them, or several.
func (a *commands) complete(several bool, states ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		paths, err := engine.Paths(a.Call, cmd)
		if err != nil || (len(args) > 0 && !several) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := slices.DeleteFunc((&single.Client{Paths: paths}).Names(states...), func(name string) bool {
			return slices.Contains(args, name)
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *commands) stop() *cobra.Command {
	var seconds int
	cmd := &cobra.Command{
		Use:   "stop [flags] CONTAINER…",
		Short: "End containers: their programs are told, and killed when they have not ended in time",
		Long: `Sends CTRL_SHUTDOWN_EVENT to the program of each container, and kills it when it has not ended after
--timeout. A container that has ended is no error.`,
		Example:           "  mullion container stop web\n  mullion container stop -t 60 web db",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			timeout := timeoutOf(cmd, seconds)
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Stop(ctx, name, timeout)
			})
		},
	}
	addTimeout(cmd, &seconds)

	return cmd
}

func (a *commands) kill() *cobra.Command {
	var signal string
	cmd := &cobra.Command{
		Use:               "kill [flags] CONTAINER…",
		Short:             "Kill containers that run, or send their programs a signal",
		Example:           "  mullion container kill web\n  mullion container kill -s INT web",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := signalNamed(signal)
			if err != nil {
				return err
			}
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Tell(ctx, name, s)
			})
		},
	}
	cmd.Flags().StringVarP(&signal, "signal", "s", "KILL",
		"KILL; INT, which is CTRL_C_EVENT; or TERM, which is CTRL_SHUTDOWN_EVENT and kills after --stop-timeout")

	return cmd
}

// signalNamed returns what Windows has for a signal by its name or number, with or without SIG, as with docker.
func signalNamed(name string) (single.Signal, error) {
	switch strings.TrimPrefix(strings.ToUpper(name), "SIG") {
	case "KILL", "9":
		return single.Kill, nil
	case "INT", "2":
		return single.Interrupt, nil
	case "TERM", "15":
		return single.Stop, nil
	}
	return "", exit.Misuse(fmt.Errorf("invalid signal: %s", name), "Windows has KILL, INT and TERM")
}

func (a *commands) wait() *cobra.Command {
	return &cobra.Command{
		Use:   "wait CONTAINER…",
		Short: "Wait for containers to end, and print their exit codes",
		Long: `Waits until each container has ended and prints its exit code: all 32 bits of it, of which ` + "`mullion run`" + `
passes on eight; 137 for one that was killed.`,
		Example:           "  mullion container wait job",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				end, err := client.Wait(ctx, name)
				return strconv.FormatUint(uint64(end.Code), 10), err
			})
		},
	}
}

func (a *commands) remove() *cobra.Command {
	var force, volumes bool
	cmd := &cobra.Command{
		Use:               "rm [flags] CONTAINER…",
		Aliases:           []string{"remove"},
		Short:             "Remove containers that have ended, with their logs",
		Example:           "  mullion container rm web\n  mullion container rm -fv web",
		Args:              atLeastOne,
		ValidArgsFunction: a.complete(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.each(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Delete(ctx, single.Removal{
					Container: name,
					Force:     force,
					Volumes:   volumes,
				})
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "kill those that run")
	cmd.Flags().BoolVarP(&volumes, "volumes", "v", false, "also their volumes that nobody has named")

	return cmd
}

func (a *commands) prune() *cobra.Command {
	var force bool
	var chosen []string
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove all containers that have ended",
		Long: `Removes all containers that have ended, or with --filter those that fit: until=TIME (made before then: 24h,
2026-01-31T12:00:00Z, or seconds since 1970), label=NAME[=VALUE], label!=NAME[=VALUE].`,
		Example: "  mullion container prune -f\n  mullion container prune -f --filter until=24h",
		Args:    cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			which, err := dockerout.ParsePruned(chosen, time.Now())
			if err != nil {
				return err
			}
			client, err := a.client(cmd)
			if err != nil {
				return err
			}
			if !force && !dockerout.Agreed(a.Env, "WARNING! This will remove all stopped containers.") {
				return nil
			}

			gone, freed, err := client.Prune(cmd.Context(), single.Pruned(which))
			if err != nil {
				return engine.Refused(err)
			}

			var ids []string
			for _, c := range gone {
				ids = append(ids, c.ID)
			}
			return dockerout.SayPruned(a.Env, "Containers", ids, freed)
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "do not ask")
	cmd.Flags().StringArrayVar(&chosen, "filter", nil, "KEY=VALUE of those that are removed")

	return cmd
}
