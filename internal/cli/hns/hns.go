// Package hns owns `mullion hns`: looking into the Host Networking Service of a Windows node. HNS is elsewhere.
package hns

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/view"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/show"
	"mullion.dev/mullion/internal/node/agent/admin"
)

// Conn is a connection to a node's HNS.
type Conn interface {
	hcn.Caller
	io.Closer
}

// Calls are what the commands ask of a node.
type Calls struct {
	HNS       func(context.Context, layout.Paths, string) (Conn, error)
	Agent     func(layout.Paths, string) (*admin.Client, error)
	ProxyPage func(ctx context.Context, paths layout.Paths, node, page string) ([]byte, error)
}

// Real returns those of the program.
func Real() Calls {
	return Calls{
		HNS: func(ctx context.Context, paths layout.Paths, node string) (Conn, error) {
			return cluster.HNS(ctx, paths, node)
		},
		Agent:     cluster.Agent,
		ProxyPage: cluster.ProxyEndpoint,
	}
}

// commands are `mullion hns`.
type commands struct {
	*reader.Reader

	calls Calls
}

// New returns the command with those below it.
func New(r *reader.Reader, calls Calls) *cobra.Command {
	a := &commands{Reader: r, calls: calls}
	cmd := &cobra.Command{
		Use:   "hns",
		Short: "Look into the Host Networking Service of a Windows node",
		Long: `HNS is the service of Windows that makes networks for containers: the CNI plugin and kube-proxy.exe tell it what they want. These
commands ask the HNS of a node what hnsdiag and the HNS PowerShell module ask on Windows, and more.

  network       a switch of the node: cbr0 (l2bridge), vxlan0 (overlay)
  endpoint      a pod's interface, or an address on another node ("remote") that a load balancer sends to
  namespace     a pod's network compartment, which endpoints are attached to
  loadbalancer  what kube-proxy makes for one port of a Service: addresses ("every" for a node port) and endpoints
  route         an SDN route of endpoints`,
		Example: "  mullion hns ls win-1\n  mullion hns ls win-1 loadbalancer\n  mullion hns show win-1 10.244.0.5\n  mullion hns diag win-1",
		Args:    cmdline.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(a.list(), a.show(), a.diag(), a.trace(), a.restart())
	return cmd
}

// objects returns the objects of a node's HNS.
func (a *commands) objects(ctx context.Context, node string) (o show.Objects, err error) {
	paths, err := a.Paths()
	if err != nil {
		return o, err
	}

	if a.Reads() {
		err := a.Ask(ctx, paths, view.Path("hns", node), nil, &o)
		return o, err
	}
	if err := a.knowsNode(paths, node); err != nil {
		return o, err
	}

	client, err := a.calls.HNS(ctx, paths, node)
	if err != nil {
		return o, remedy.HNS(node, err)
	}
	o, err = show.Read(ctx, client)
	return o, errors.Join(remedy.HNS(node, err), client.Close())
}

// windowsNode finds a Windows node for a command of root's.
func (a *commands) windowsNode(node, why string) (layout.Paths, error) {
	paths, err := a.Paths()
	if err != nil {
		return paths, err
	}
	if err := a.RequireRoot(why); err != nil {
		return paths, err
	}
	return paths, a.knowsNode(paths, node)
}

func (a *commands) knowsNode(paths layout.Paths, node string) error {
	_, err := cluster.LoadHost(paths, node)
	return remedy.HNS(node, remedy.MissingHost(paths, err))
}

func (a *commands) list() *cobra.Command {
	var output string

	cmd := &cobra.Command{
		Use:     "ls NODE [KIND…]",
		Aliases: []string{"list"},
		Short:   "List the objects of a node's HNS: networks, endpoints, namespaces, load balancers, routes",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Misuse(errors.New("`mullion hns ls` takes a node"), "for example: mullion hns ls win-1")
			}
			for _, kind := range args[1:] {
				if _, ok := show.Kind(kind); !ok {
					return exit.Misuse(fmt.Errorf("no kind %q", kind), "there are: "+strings.Join(show.KindNames(), ", "))
				}
			}

			return nil
		},
		ValidArgsFunction: a.complete(show.KindNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.objects(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			kinds := args[1:]
			if len(kinds) == 0 {
				kinds = show.KindNames()
			}

			if output == "json" {
				return json.NewEncoder(a.Env.Out).Encode(o.Only(kinds))
			}

			return o.Print(a.Env.Out, kinds)
		},
	}

	cmdline.Output(cmd, &output)
	return cmd
}

func (a *commands) show() *cobra.Command {
	return &cobra.Command{
		Use:   "show NODE OBJECT",
		Short: "Print objects of a node's HNS as JSON, chosen by the start of an ID, by name or by address",
		Example: `  mullion hns show win-1 cbr0
  mullion hns show win-1 10.96.0.1
  mullion hns show win-1 4F2A`,
		Args:              cmdline.Exactly("NODE", "OBJECT"),
		ValidArgsFunction: a.complete(nil),
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := a.objects(cmd.Context(), args[0])
			if err != nil {
				return err
			}

			found := o.Find(args[1])
			if len(found) == 0 {
				return &exit.Error{
					Code:   exit.NotFound,
					Err:    fmt.Errorf("HNS of node %s has no object %q", args[0], args[1]),
					Remedy: "`mullion hns ls " + args[0] + "` lists them",
				}
			}

			enc := json.NewEncoder(a.Env.Out)
			enc.SetIndent("", "  ")
			for _, v := range found {
				if err := enc.Encode(v); err != nil {
					return err
				}
			}

			return nil
		},
	}
}

func (a *commands) restart() *cobra.Command {
	return &cobra.Command{
		Use:   "restart NODE",
		Short: "Restart a node's HNS, as Windows updates do",
		Long: `Restarts the Host Networking Service of a node, as Restart-Service hns and Windows updates do. HNS drops what it holds
in memory, reads its state from the disk, and corrects the node's network where it differs. Pods keep their
addresses, and connections go on. Use it to test what depends on HNS: kube-proxy.exe, CNI plugins, and your own
programs that call HNS.`,
		Args:              cmdline.Exactly("NODE"),
		ValidArgsFunction: a.CompleteNodes,
		RunE: func(cmd *cobra.Command, args []string) error {
			paths, err := a.windowsNode(args[0], "restarts a service of the node's host")
			if err != nil {
				return err
			}

			agent, err := a.calls.Agent(paths, args[0])
			if err != nil {
				return remedy.HNS(args[0], err)
			}
			if err := agent.RestartHNS(cmd.Context()); err != nil {
				return fmt.Errorf("restart HNS of node %s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(a.Env.Out, "HNS of node %s was restarted\n", args[0])
			return err
		},
	}
}

// complete completes a node, and then the words that more returns.
func (a *commands) complete(more func() []string) func(*cobra.Command, []string, string) ([]string,
	cobra.ShellCompDirective) {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return a.CompleteNodes(cmd, args, prefix)
		}
		if more == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return more(), cobra.ShellCompDirectiveNoFileComp
	}
}
