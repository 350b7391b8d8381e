// Package cli puts mullion's command line together: the commands of the packages below it in a frame, each with what it
// needs. What runs single containers and builds images is still its own. It holds no logic of clusters.
package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/about"
	"mullion.dev/mullion/internal/cli/bringup"
	"mullion.dev/mullion/internal/cli/check"
	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/conformance"
	"mullion.dev/mullion/internal/cli/diagnose"
	"mullion.dev/mullion/internal/cli/down"
	"mullion.dev/mullion/internal/cli/explain"
	"mullion.dev/mullion/internal/cli/export"
	"mullion.dev/mullion/internal/cli/fault"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/hns"
	"mullion.dev/mullion/internal/cli/image"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/join"
	"mullion.dev/mullion/internal/cli/kubectl"
	"mullion.dev/mullion/internal/cli/logs"
	"mullion.dev/mullion/internal/cli/net"
	"mullion.dev/mullion/internal/cli/node"
	"mullion.dev/mullion/internal/cli/prepare"
	"mullion.dev/mullion/internal/cli/reader"
	"mullion.dev/mullion/internal/cli/status"
	"mullion.dev/mullion/internal/cli/up"
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

	env   Env
	calls calls
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
	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "machines", Title: "Several machines:"},
		&cobra.Group{ID: "use", Title: "Using it:"},
		&cobra.Group{ID: "about", Title: "About Mullion:"},
	)
	addCluster(a, root)
	addUse(a, root)
	frame.Add(root, "machines", join.NewToken(a.Reader), join.New(a.Reader, a.calls.join))
	frame.Add(root, "about", about.Support(a.Env.Out), about.Version(a.Env.Out))
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(supervise(a.Reader), a.runEngine())
	root.InitDefaultCompletionCmd()

	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own, which takes an unknown shell for a wish for help
			cmd.Args, cmd.RunE = cmdline.None, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}

	return root
}

// addCluster adds the commands that bring up a cluster, look at it and take it down.
func addCluster(a *app, root *cobra.Command) {
	upCalls, downCalls := a.calls.up, a.calls.down
	upCalls.Kubectl = func(ctx context.Context, out io.Writer, args ...string) error {
		return kubectl.New(a.ReaderTo(out)).Run(ctx, args...)
	}
	downCalls.RemoveSingle = func(cmd *cobra.Command, quiet bool) error {
		return a.removeSingle(cmd, outputFlags{quiet: quiet})
	}

	ups, downs := up.New(a.Reader, upCalls), down.New(a.Reader, downCalls)
	frame.Add(root, "cluster", ups.Doctor(), prepare.New(a.Call, prepare.Real()), ups.Up(), downs.Stop(), downs.Down())
	frame.Add(root, "cluster", status.New(a.Reader, status.Every), logs.New(a.Reader, cluster.Agent), exporting(a.Reader).Command())
	frame.Add(root, "machines", ups.Server(), downs.Leave())
}

// addUse adds the commands that work with a cluster, or with single containers.
func addUse(a *app, root *cobra.Command) {
	kubectls := kubectl.New(a.Reader)
	frame.Add(root, "use", a.runSingle(), a.container(), kubectls.Kubectl(), kubectls.Kubeconfig())
	frame.Add(root, "use", node.New(a.Reader, node.Real()), image.New(a.Reader, a.singleClient, a.imageBuild()))
	frame.Add(root, "use", net.New(a.Reader, cluster.NetTest), hns.New(a.Reader, hns.Real()))
	frame.Add(root, "use", check.New(a.Env, kubectls.Program), conformance.New(a.Reader, kubectls.Program))
	frame.Add(root, "use", diagnose.New(a.Reader), diagnose.NewCollect(a.Reader, exporting(a.Reader).AddOwn))
	frame.Add(root, "use", fault.New(a.Reader), explain.New(a.Reader))
}

// exporting returns the commands that write what there is of a cluster.
func exporting(r *reader.Reader) *export.Commands {
	return export.New(r, export.Calls{
		Status: status.Print,
		Lacks: func(ctx context.Context, paths layout.Paths, c spec.Cluster) []preflight.Finding {
			return cluster.Preflight(ctx, bringup.Options(r.Call, paths, c))
		},
	})
}
