// Package cli puts mullion's command line together: the commands of the packages below it in a frame, each with what it
// needs. What runs single containers and builds images is still its own. It holds no logic of clusters.
package cli

import (
	"context"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/about"
	"mullion.dev/mullion/internal/cli/check"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/conformance"
	"mullion.dev/mullion/internal/cli/diagnose"
	"mullion.dev/mullion/internal/cli/explain"
	"mullion.dev/mullion/internal/cli/export"
	"mullion.dev/mullion/internal/cli/fault"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/hns"
	"mullion.dev/mullion/internal/cli/image"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/kubectl"
	"mullion.dev/mullion/internal/cli/logs"
	"mullion.dev/mullion/internal/cli/net"
	"mullion.dev/mullion/internal/cli/node"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/status"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// Env is the environment of the process. Only main fills it from the real one.
type Env = invoke.Env

// app holds what every command needs.
type app struct {
	*reader.Reader

	env     Env
	calls   calls
	dataDir string // Reader's, for what runs single containers
}

// Run runs the command in env.Args and prints an error, if any, with its remedy.
func Run(ctx context.Context, env Env) error {
	return (&app{env: env, calls: realCalls()}).run(ctx)
}

// Command returns the command with all below it, for documents to be made of.
func Command() *cobra.Command { return (&app{calls: realCalls()}).root() }

func (a *app) run(ctx context.Context) error {
	root := a.root() //nolint:contextcheck // cobra hands the context to each command
	return frame.Run(ctx, a.Call, root)
}

func readerOf(env Env, calls calls) *reader.Reader {
	return &reader.Reader{
		Call:    &invoke.Call{Env: env, Lock: calls.hold},
		Sources: calls.Sources,
	}
}

func (a *app) root() *cobra.Command {
	a.Reader = readerOf(a.env, a.calls)
	root := frame.Root(a.Call)
	pre := root.PersistentPreRunE
	root.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		a.dataDir = a.DataDir
		return pre(cmd, args)
	}

	kubectls := kubectl.New(a.Reader)
	exporting := export.New(a.Reader, export.Calls{
		Status: status.Print,
		Lacks: func(ctx context.Context, paths layout.Paths, c spec.Cluster) []preflight.Finding {
			return cluster.Preflight(ctx, a.preflightOptions(paths, c))
		},
	})

	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "machines", Title: "Several machines:"},
		&cobra.Group{ID: "use", Title: "Using it:"},
		&cobra.Group{ID: "about", Title: "About Mullion:"},
	)
	frame.Add(root, "cluster", a.doctor(), a.up(), a.stop(), a.down(), status.New(a.Reader, status.Every), logs.New(a.Reader, cluster.Agent), exporting.Command())
	frame.Add(root, "machines", a.server(), a.token(), a.join(), a.leave())
	frame.Add(root, "use", a.runSingle(), kubectls.Kubectl(), kubectls.Kubeconfig(), node.New(a.Reader, node.Real()), image.New(a.Reader, a.singleClient, a.imageBuild()), net.New(a.Reader, cluster.NetTest), hns.New(a.Reader, hns.Real()))
	frame.Add(root, "use", check.New(a.Env, kubectls.Program), diagnose.New(a.Reader), diagnose.NewCollect(a.Reader, exporting.AddOwn), fault.New(a.Reader), explain.New(a.Reader), conformance.New(a.Reader, kubectls.Program))
	frame.Add(root, "about", about.Support(a.Env.Out), about.Version(a.Env.Out))
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(a.supervise(), a.runEngine())
	root.InitDefaultCompletionCmd()

	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own, which takes an unknown shell for a wish for help
			cmd.Args, cmd.RunE = cmdline.None, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}

	return root
}
