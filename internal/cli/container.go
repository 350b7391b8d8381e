package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/single"
)

func (a *app) container() *cobra.Command {
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
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.containerList(), a.containerLogs(), a.containerExec(), a.containerInspect(), a.containerStop(),
		a.containerKill(), a.containerWait(), a.containerRemove(), a.containerPrune(), a.containerCopy())
	return cmd
}

// containers is a client for a command that deals with containers.
func (a *app) containers(cmd *cobra.Command) (*single.Client, error) {
	if err := a.requireRoot("asks the engine of single containers"); err != nil {
		return nil, err
	}
	return a.singleClient(cmd)
}

// refusedContainer is the error of what could not be done with a container.
func refusedContainer(err error) error {
	if refusal, ok := errors.AsType[*single.Refusal](err); ok {
		return &Error{Code: refusal.Code, Err: err, Remedy: refusal.Remedy}
	}
	return err
}

// containerArgs takes at least one container.
func containerArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return nil
	}
	return usage(fmt.Errorf("`%s` takes at least one CONTAINER, got none", cmd.CommandPath()),
		"`mullion container ls -a` lists them")
}

// eachContainer does something with each container that is named, and prints what is said of it. What goes wrong with
// one does not keep it from the next.
func (a *app) eachContainer(cmd *cobra.Command, names []string,
	do func(ctx context.Context, client *single.Client, name string) (said string, err error),
) error {
	client, err := a.containers(cmd)
	if err != nil {
		return err
	}
	var failed error
	for _, name := range names {
		said, err := do(cmd.Context(), client, name)
		if err != nil {
			frame.PrintError(a.Env, refusedContainer(err))
			failed = &silentError{ExitCode(refusedContainer(err))}
			continue
		}
		fmt.Fprintln(a.Env.Out, said)
	}
	return failed
}

// completeContainers completes names of containers in some states, of all without one: one of them, or several.
func (a *app) completeContainers(several bool, states ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		paths, err := a.singlePaths(cmd)
		if err != nil || (len(args) > 0 && !several) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := slices.DeleteFunc((&single.Client{Paths: paths}).Names(states...), func(name string) bool {
			return slices.Contains(args, name)
		})
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// listOptions are the flags of `mullion container ls`.
type listOptions struct {
	all, quiet, whole bool
	output            string
}

func (a *app) containerList() *cobra.Command {
	var o listOptions
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list", "ps"},
		Short:   "List the containers that run, or with -a all",
		Example: "  mullion container ls\n  mullion container ls -a\n  mullion container rm -f $(mullion container ls -aq)",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := a.containers(cmd)
			if err != nil {
				return err
			}
			all, err := client.List(cmd.Context())
			if err != nil {
				return refusedContainer(err)
			}
			return o.print(a.Env.Out, all, time.Now())
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.all, "all", "a", false, "also those that have ended")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "ids alone")
	f.BoolVar(&o.whole, "no-trunc", false, "whole ids and commands")
	cmdline.Output(cmd, &o.output)
	return cmd
}

// print prints containers as `docker ps` does.
func (o listOptions) print(w io.Writer, all []single.Container, now time.Time) error {
	rows := []containerRow{}
	for _, c := range all {
		if o.all || c.State() == single.Running {
			rows = append(rows, o.row(c, now))
		}
	}
	switch {
	case o.output == "json":
		return json.NewEncoder(w).Encode(rows)
	case o.quiet:
		for _, r := range rows {
			fmt.Fprintln(w, r.ID)
		}
		return nil
	}
	t := tabwriter.NewWriter(w, 10, 1, 3, ' ', 0)
	fmt.Fprintln(t, "CONTAINER ID\tIMAGE\tCOMMAND\tCREATED\tSTATUS\tPORTS\tNAMES")
	for _, r := range rows {
		fmt.Fprintln(t, strings.Join([]string{r.ID, r.Image, r.Command, r.RunningFor, r.Status, r.Ports, r.Names}, "\t"))
	}
	return t.Flush()
}

// containerRow has what `docker ps --format json` has of a container, by its names.
type containerRow struct {
	ID, Image, Command, CreatedAt, RunningFor, State, Status, Ports, Names string
}

// widestCommand is how many letters of a command are shown, as Docker does.
const widestCommand = 20

func (o listOptions) row(c single.Container, now time.Time) containerRow {
	whole := o.whole || o.output == "json"
	r := containerRow{
		ID:         c.ShortID(),
		Image:      c.Image(),
		Command:    commandText(c, whole),
		CreatedAt:  c.Created.Format(time.RFC3339),
		RunningFor: units.HumanDuration(now.Sub(c.Created)) + " ago",
		State:      c.State(),
		Status:     statusOf(c, now),
		Names:      c.Name,
	}
	if whole {
		r.ID = c.ID
	}
	if c.State() == single.Running {
		r.Ports = portsText(c)
	}
	return r
}

// portsText are the published ports as Docker shows them: 127.0.0.1:8080->80/tcp.
func portsText(c single.Container) string {
	var ports []string
	for _, p := range c.Run.Ports {
		ports = append(ports, fmt.Sprintf("%s->%d/%s", netip.AddrPortFrom(p.Addr, p.Host), p.Container, p.Protocol))
	}
	return strings.Join(ports, ", ")
}

// commandText is the command in quotes, cut as Docker does.
func commandText(c single.Container, whole bool) string {
	args := c.Args
	if len(args) == 0 { // it is being made
		args = append(slices.Clone(c.Run.Entrypoint), c.Run.Args...)
	}
	text := []rune(strings.Join(args, " "))
	if !whole && len(text) > widestCommand {
		text = append(text[:widestCommand-1], '…')
	}
	return strconv.Quote(string(text))
}

// statusOf says how a container fares, in Docker's words.
func statusOf(c single.Container, now time.Time) string {
	switch c.State() {
	case single.Running:
		return "Up " + units.HumanDuration(now.Sub(c.Started))
	case single.Exited:
		return fmt.Sprintf("Exited (%d) %s ago", c.End.Code, units.HumanDuration(now.Sub(c.Finished)))
	}
	return "Created"
}

func (a *app) containerStop() *cobra.Command {
	var seconds int
	cmd := &cobra.Command{
		Use:   "stop [flags] CONTAINER…",
		Short: "End containers: their programs are told, and killed when they have not ended in time",
		Long: `Sends CTRL_SHUTDOWN_EVENT to the program of each container, and kills it when it has not ended after
--timeout. A container that has ended is no error.`,
		Example:           "  mullion container stop web\n  mullion container stop -t 60 web db",
		Args:              containerArgs,
		ValidArgsFunction: a.completeContainers(true, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			var timeout *time.Duration
			if cmd.Flags().Changed("timeout") {
				given := time.Duration(seconds) * time.Second
				timeout = &given
			}
			return a.eachContainer(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Stop(ctx, name, timeout)
			})
		},
	}
	cmd.Flags().IntVarP(&seconds, "timeout", "t", 0,
		"seconds before it is killed, -1 for never (default: the --stop-timeout it was run with)")
	return cmd
}

func (a *app) containerKill() *cobra.Command {
	var signal string
	cmd := &cobra.Command{
		Use:               "kill [flags] CONTAINER…",
		Short:             "Kill containers that run, or send their programs a signal",
		Example:           "  mullion container kill web\n  mullion container kill -s INT web",
		Args:              containerArgs,
		ValidArgsFunction: a.completeContainers(true, single.Running),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := signalNamed(signal)
			if err != nil {
				return err
			}
			return a.eachContainer(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Tell(ctx, name, s)
			})
		},
	}
	cmd.Flags().StringVarP(&signal, "signal", "s", "KILL",
		"KILL; INT, which is CTRL_C_EVENT; or TERM, which is CTRL_SHUTDOWN_EVENT and kills after --stop-timeout")
	return cmd
}

// signalNamed is what Windows has for a signal by its name or number, with or without SIG, as with docker.
func signalNamed(name string) (single.Signal, error) {
	switch strings.TrimPrefix(strings.ToUpper(name), "SIG") {
	case "KILL", "9":
		return single.Kill, nil
	case "INT", "2":
		return single.Interrupt, nil
	case "TERM", "15":
		return single.Stop, nil
	}
	return "", usage(fmt.Errorf("invalid signal: %s", name), "Windows has KILL, INT and TERM")
}

func (a *app) containerWait() *cobra.Command {
	return &cobra.Command{
		Use:   "wait CONTAINER…",
		Short: "Wait for containers to end, and print their exit codes",
		Long: `Waits until each container has ended and prints its exit code: all 32 bits of it, of which ` + "`mullion run`" + `
passes on eight; 137 for one that was killed.`,
		Example:           "  mullion container wait job",
		Args:              containerArgs,
		ValidArgsFunction: a.completeContainers(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachContainer(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				end, err := client.Wait(ctx, name)
				return strconv.FormatUint(uint64(end.Code), 10), err
			})
		},
	}
}

func (a *app) containerRemove() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "rm [flags] CONTAINER…",
		Aliases:           []string{"remove"},
		Short:             "Remove containers that have ended, with their logs",
		Example:           "  mullion container rm web\n  mullion container rm -f web",
		Args:              containerArgs,
		ValidArgsFunction: a.completeContainers(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.eachContainer(cmd, args, func(ctx context.Context, client *single.Client, name string) (string, error) {
				return name, client.Delete(ctx, name, force)
			})
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "kill those that run")
	return cmd
}

func (a *app) containerPrune() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:     "prune",
		Short:   "Remove all containers that have ended",
		Example: "  mullion container prune -f",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := a.containers(cmd)
			if err != nil {
				return err
			}
			if !force && !a.agreed("WARNING! This will remove all stopped containers.") {
				return nil
			}
			gone, freed, err := client.Prune(cmd.Context())
			if err != nil {
				return refusedContainer(err)
			}
			if len(gone) > 0 {
				fmt.Fprintln(a.Env.Out, "Deleted Containers:")
				for _, c := range gone {
					fmt.Fprintln(a.Env.Out, c.ID)
				}
				fmt.Fprintln(a.Env.Out)
			}
			_, err = fmt.Fprintln(a.Env.Out, "Total reclaimed space:", units.HumanSize(float64(freed)))
			return err
		},
	}
	cmd.Flags().BoolVarP(&force, "force", "f", false, "do not ask")
	return cmd
}

// agreed asks a person whether to go on, as Docker does.
func (a *app) agreed(warning string) bool {
	fmt.Fprintf(a.Env.Out, "%s\nAre you sure you want to continue? [y/N] ", warning)
	answer, _ := bufio.NewReader(a.Env.In).ReadString('\n') // without an answer it is no
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
