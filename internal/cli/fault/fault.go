// Package fault owns `mullion fault`: making the troubles of Windows nodes that are known. How each is made is elsewhere.
package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/diagnose/fault"
	"mullion.dev/mullion/internal/network/nettest"
)

// commands are `mullion fault`.
type commands struct{ *reader.Reader }

// New returns the command with those below it.
func New(r *reader.Reader) *cobra.Command {
	a := &commands{r}
	cmd := &cobra.Command{
		Use:   "fault",
		Short: "Make known troubles of Windows nodes, to see how they look and to try what finds them",
		Long: `Makes the troubles that ` + "`mullion diagnose`" + ` finds, each by its real cause, in this machine's cluster, and
takes them back. Its objects are in the namespace ` + fault.Namespace + `, but for those that have none; an object of somebody else is neither
replaced nor removed. Which faults there are only the cluster knows.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.list(), a.make(), a.undo())
	return cmd
}

// faultNames returns the faults that are not among args, for the shell to complete.
func faultNames(args []string) []string {
	var names []string
	for _, f := range fault.All() {
		if !slices.Contains(args, f.ID) {
			names = append(names, f.ID+"\t"+f.Does)
		}
	}
	return names
}

// listedFault is a fault as `mullion fault list` prints it.
type listedFault struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Does  string `json:"does"`
	// Made says whether the cluster has it; it is left out where there is no cluster to ask.
	Made *bool `json:"made,omitempty"`
}

func (a *commands) list() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the faults that can be made, and which there are",
		Args:    cmdline.None,
		Example: "  mullion fault list\n  mullion fault list -o json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "text" && output != "json" {
				return exit.Misuse(fmt.Errorf("--output %q is neither text nor json", output),
					fmt.Sprintf("see `%s --help`", cmd.CommandPath()))
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), a.Patience)
			defer cancel()
			return printFaults(a.Env.Out, output, a.made(ctx))
		},
	}

	cmd.Flags().StringVarP(&output, "output", "o", "text", "text or json")
	cmdline.CompleteAll(cmd, map[string][]string{"output": {"text", "json"}})
	return cmd
}

// made returns all faults; without a cluster that answers it is not known which there are.
func (a *commands) made(ctx context.Context) []listedFault {
	var made []string
	client, _, err := a.OwnClient(ctx)
	if err == nil {
		made, err = fault.Made(ctx, client)
	}

	var all []listedFault
	for _, f := range fault.All() {
		l := listedFault{
			ID:    f.ID,
			Title: f.Title,
			Does:  f.Does,
		}
		if err == nil {
			isMade := slices.Contains(made, f.ID)
			l.Made = &isMade
		}

		all = append(all, l)
	}

	return all
}

func printFaults(out io.Writer, output string, all []listedFault) error {
	if output == "json" {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}

	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FAULT\tMADE\tWHAT IS DONE")
	for _, f := range all {
		made := "?"
		if f.Made != nil {
			made = map[bool]string{true: "yes", false: "-"}[*f.Made]
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.ID, made, f.Does)
	}

	return w.Flush()
}

func (a *commands) make() *cobra.Command {
	return &cobra.Command{
		Use:   "make FAULT…",
		Short: "Make faults; `mullion diagnose` finds them after some seconds",
		Long: `Makes faults in this machine's cluster. All are judged before the first is made. ` + "`mullion fault list`" + ` names
them; a fault has the name of the probe that finds it. The first time it builds the image of the pods of
` + "`mullion net test`" + `.`,
		Example: "  mullion fault make pod-pings run-as-user-name\n  mullion diagnose\n  mullion fault undo",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("name a fault"), "`mullion fault list` lists them")
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return faultNames(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.makeAll(cmd.Context(), args) },
	}
}

func (a *commands) makeAll(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if !fault.Known(id) {
			return unknownFault(&fault.UnknownError{ID: id})
		}
	}

	if err := a.RequireRoot("loads the images of its pods into the nodes' stores"); err != nil {
		return err
	}

	client, c, err := a.OwnClient(ctx)
	if err != nil {
		return err
	}

	v := fault.Values{WindowsImage: nettest.Image, LinuxImage: nettest.LinuxImage}
	for _, n := range slices.Backward(c.Nodes) { // the first of each system
		switch {
		case n.Bare:
		case n.Linux():
			v.LinuxNode = n.Name
		default:
			v.WindowsNode = n.Name
		}
	}

	paths, _, err := a.Cluster()
	if err != nil {
		return err
	}
	step := func(step string) { fmt.Fprintln(a.Env.Err, "…", step) }
	if err := stores.Agnhost(ctx, a.Call, paths, c, step); err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, a.Patience)
	defer cancel()
	err = fault.Make(ctx, client, ids, v)
	if taken, ok := errors.AsType[*fault.TakenError](err); ok {
		return exit.Misuse(taken, "remove it, or leave this fault out")
	}
	if err != nil {
		return err
	}

	for _, id := range ids {
		fmt.Fprintf(a.Env.Out, "made %s\n", id)
	}

	return nil
}

func unknownFault(err error) error { return exit.Misuse(err, "`mullion fault list` lists them") }

func (a *commands) undo() *cobra.Command {
	return &cobra.Command{
		Use:     "undo [FAULT…]",
		Short:   "Take faults back, all or those that are named",
		Example: "  mullion fault undo\n  mullion fault undo pod-pings",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return faultNames(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.RequireRoot("takes objects out of the cluster as its administrator"); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), a.Patience)
			defer cancel()
			client, _, err := a.OwnClient(ctx)
			if err != nil {
				return err
			}

			undone, err := fault.Undo(ctx, client, args)
			for _, id := range undone {
				fmt.Fprintf(a.Env.Out, "undone %s\n", id)
			}

			if unknown, ok := errors.AsType[*fault.UnknownError](err); ok {
				return unknownFault(unknown)
			}

			return err
		},
	}
}
