// Package logs owns `mullion logs`: printing and following the logs of the cluster's parts.
package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/partlog"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// Agent reaches the agent of a Windows node.
type Agent func(layout.Paths, string) (*admin.Client, error)

// commands is `mullion logs`.
type commands struct {
	*reader.Reader

	agent Agent
}

// New returns the command.
func New(r *reader.Reader, agent Agent) *cobra.Command {
	a := &commands{Reader: r, agent: agent}
	var follow, debug bool
	var tail int

	cmd := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print the log of one of the cluster's parts",
		Long: `Prints the log of one of the cluster's parts. Without a name it lists those that there are.

With --debug it takes a Windows node, and follows the log of the node's agent until Ctrl-C. Meanwhile the agent logs at
debug: each call of the kubelet with its pod, container and time, and each request of HNS that is refused, with the
reason. Afterwards it logs as before, however this command ends. ` + "`mullion up --log-level debug`" + ` has all of Mullion's
programs log that much, until another level is named; ` + "`mullion status -o json`" + ` has the level (.supervisor.logLevel).`,
		Example: "  mullion logs kube-apiserver\n  mullion logs kubelet/win-1 --tail 50 -f\n  mullion logs --debug win-1",
		Args: func(cmd *cobra.Command, args []string) error {
			if debug {
				return cmdline.Exactly("NODE")(cmd, args)
			}
			if len(args) == 0 {
				return nil // it is answered with the names that there are
			}
			return cmdline.Exactly("COMPONENT")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.Paths()
			if err != nil {
				return err
			}
			if debug {
				return a.debugLog(cmd.Context(), paths, args[0], tail)
			}

			names, err := a.logNames(cmd.Context(), paths)
			if exit.Code(err) == exit.NotFound && len(args) == 0 {
				return cmdline.Exactly("COMPONENT")(cmd, args)
			}
			if err != nil {
				return err
			}

			if len(args) == 0 {
				return exit.Misuse(errors.New("name one of the cluster's parts"), "there are: "+strings.Join(names, ", "))
			}

			if !slices.Contains(names, args[0]) {
				return &exit.Error{
					Code:   exit.NotFound,
					Err:    fmt.Errorf("no log of a component %q", args[0]),
					Remedy: "there are: " + strings.Join(names, ", "),
				}
			}

			if a.Reads() {
				return a.readLog(cmd.Context(), paths, args[0], tail, follow)
			}

			return partlog.Print(cmd.Context(), a.Env.Out, partlog.File(paths.Logs(), args[0]), tail, follow)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if debug {
				return a.CompleteNodes(cmd, args, prefix)
			}
			paths, err := a.Paths()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}

			ctx, cancel := context.WithTimeout(cmd.Context(), reader.CompletionPatience)
			defer cancel()
			names, err := a.logNames(ctx, paths)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}

	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing what is added")
	cmd.Flags().BoolVar(&debug, "debug", false, "have a Windows node's agent log at debug meanwhile, and follow its log")
	cmd.Flags().IntVar(&tail, "tail", -1, "print only this number of lines from the end; -1 for all")
	return cmd
}

// logNames returns the names of the parts that have a log.
func (a *commands) logNames(ctx context.Context, paths layout.Paths) ([]string, error) {
	var names []string
	if a.Reads() {
		err := a.Ask(ctx, paths, "logs", nil, &names)
		return names, err
	}
	names, err := partlog.Names(paths.Logs())
	if err != nil {
		return nil, remedy.NoCluster(paths.Data, err)
	}
	return names, nil
}

// readLog prints a log that the cluster's socket gives.
func (a *commands) readLog(ctx context.Context, paths layout.Paths, part string, tail int, follow bool) error {
	query := url.Values{"tail": {strconv.Itoa(tail)}, "follow": {strconv.FormatBool(follow)}}
	words := append([]string{"logs"}, strings.Split(part, "/")...)
	lines, err := a.View(paths).Open(ctx, view.Path(words...), query)
	if err != nil {
		return a.ReadError(paths, err)
	}
	defer func() { _ = lines.Close() }() // it is only read
	if _, err := io.Copy(a.Env.Out, lines); err != nil && ctx.Err() == nil {
		return a.ReadError(paths, err)
	}
	return nil
}
