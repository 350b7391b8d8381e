package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/network/hns"
)

func (a *commands) trace() *cobra.Command {
	var output string
	var whole bool

	cmd := &cobra.Command{
		Use:   "trace NODE",
		Short: "Show the calls that programs make of a node's HNS, as they come",
		Long: `Shows each call of HNS on a node until Ctrl-C: when, how long it took, the DLL's function, the object, what was made or
why it was refused. Programs are kube-proxy.exe, CNI plugins, flanneld.exe, PowerShell's HNS cmdlets. Calls do not wait
for it: where they come faster than they can be told, it says how many are missing.`,
		Example:           "  mullion hns trace win-1\n  mullion hns trace win-1 --whole\n  mullion hns trace win-1 -o json | jq .function",
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.complete(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.follow(cmd.Context(), args[0], func(c hns.TracedCall) error {
				if output == "json" {
					return json.NewEncoder(a.Env.Out).Encode(c)
				}
				return printCall(a.Env.Out, c, whole)
			})
		},
	}

	cmdline.Output(cmd, &output)
	cmd.Flags().BoolVar(&whole, "whole", false, "print the texts of calls and answers, too")
	return cmd
}

// follow calls told with the calls of a node's HNS, until ctx ends or nobody takes what is printed.
func (a *commands) follow(ctx context.Context, node string,
	told func(hns.TracedCall) error,
) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}

	if a.Reads() {
		err = a.readTrace(ctx, paths, node, told)
	} else {
		if err := a.knowsNode(paths, node); err != nil {
			return err
		}
		agent, agentErr := a.calls.Agent(paths, node)
		if agentErr != nil {
			return remedy.HNS(node, agentErr)
		}

		if err = agent.Trace(ctx, told); err != nil {
			err = fmt.Errorf("trace HNS of node %s: %w", node, err)
		}
	}
	if errors.Is(err, io.ErrClosedPipe) {
		return nil
	}

	return err
}

// mostOfCall is how many characters of a call's own texts are in its line.
const mostOfCall = 120

// onOneLine returns a text whose line ends and indentation are spaces.
func onOneLine(text string) string { return plaintext.OneLine(strings.Join(strings.Fields(text), " ")) }

// printCall prints a call on one line; whole prints its texts below it.
func printCall(out io.Writer, c hns.TracedCall, whole bool) error {
	var b strings.Builder
	if c.Dropped > 0 {
		fmt.Fprintf(&b, "… %d calls are missing\n", c.Dropped)
	}
	fmt.Fprintf(&b, "%s %6s %s", c.At.Format("15:04:05.000"), c.Took.Round(10*time.Microsecond), c.Function)
	if c.Object != "" {
		b.WriteString(" " + c.Object)
	}

	if !whole {
		text := []rune(onOneLine(strings.Join(c.Text, " ")))
		if len(text) > mostOfCall {
			text = append(text[:mostOfCall], '…')
		}
		if len(text) > 0 {
			b.WriteString(" " + string(text))
		}
	}

	switch {
	case c.Error != "":
		b.WriteString(" → " + onOneLine(c.Error))
	case c.Listed > 0:
		fmt.Fprintf(&b, " → %d objects", c.Listed)
	case c.Made != "":
		b.WriteString(" → " + c.Made)
	}

	b.WriteString("\n")
	if whole {
		for _, text := range c.Text {
			fmt.Fprintf(&b, "    %s\n", onOneLine(text))
		}
		if c.Reply != "" {
			fmt.Fprintf(&b, "    → %s\n", onOneLine(c.Reply))
		}
	}

	_, err := io.WriteString(out, b.String())
	return err
}

// readTrace calls told with the calls that programs make of the HNS of a node.
func (a *commands) readTrace(
	ctx context.Context, paths layout.Paths, node string, told func(hns.TracedCall) error,
) error {
	lines, err := a.View(paths).Open(ctx, view.Path("hns", node, "trace"), nil)
	if err != nil {
		return a.ReadError(paths, err)
	}
	defer func() { _ = lines.Close() }() // it is only read

	for calls := json.NewDecoder(lines); ; {
		var call hns.TracedCall
		switch err := calls.Decode(&call); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return fmt.Errorf("read what the node's agent tells: %w", a.ReadError(paths, err))
		}

		if err := told(call); err != nil {
			return err
		}
	}
}
