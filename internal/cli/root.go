// Package cli puts mullion's command line together: the commands of the packages below it in a frame, each with what it
// needs. It holds no logic of its own.
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
	"mullion.dev/mullion/internal/cli/container"
	"mullion.dev/mullion/internal/cli/diagnose"
	"mullion.dev/mullion/internal/cli/docker"
	"mullion.dev/mullion/internal/cli/down"
	"mullion.dev/mullion/internal/cli/explain"
	"mullion.dev/mullion/internal/cli/export"
	"mullion.dev/mullion/internal/cli/fault"
	"mullion.dev/mullion/internal/cli/frame"
	"mullion.dev/mullion/internal/cli/gotest"
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
	"mullion.dev/mullion/internal/cli/run"
	"mullion.dev/mullion/internal/cli/status"
	"mullion.dev/mullion/internal/cli/up"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/cluster/preflight"
	"mullion.dev/mullion/internal/spec"
)

// Env is the environment of the process. Only main fills it from the real one.
type Env = invoke.Env

// calls are what commands ask of packages that reach for the machine. Tests have others in their place.
type calls struct {
	up   up.Calls
	join join.Calls
	down down.Calls
}

// realCalls returns those of the program.
func realCalls() calls {
	return calls{
		up:   up.Real(),
		join: join.Real(),
		down: down.Real(),
	}
}

// Run runs the command in env.Args and prints an error, if any, with its remedy.
func Run(ctx context.Context, env Env) error {
	r := readerOf(env)
	return frame.Run(ctx, r.Call, rootOf(r, realCalls())) //nolint:contextcheck // cobra hands the context to each command
}

// Command returns the command with all below it, for documents to be made of.
func Command() *cobra.Command { return rootOf(readerOf(Env{}), realCalls()) }

func readerOf(env Env) *reader.Reader {
	return &reader.Reader{Call: &invoke.Call{Env: env}, Sources: reader.RealSources()}
}

// rootOf returns the root command with all below it.
func rootOf(r *reader.Reader, calls calls) *cobra.Command {
	root := frame.Root(r.Call)
	root.AddGroup(
		&cobra.Group{ID: "cluster", Title: "The cluster:"},
		&cobra.Group{ID: "machines", Title: "Several machines:"},
		&cobra.Group{ID: "use", Title: "Using it:"},
		&cobra.Group{ID: "about", Title: "About Mullion:"},
	)
	addCluster(root, r, calls)
	addUse(root, r)
	frame.Add(root, "machines", join.NewToken(r), join.New(r, calls.join))
	frame.Add(root, "about", about.Support(r.Env.Out), about.Version(r.Env.Out))
	root.SetHelpCommandGroupID("about")
	root.SetCompletionCommandGroupID("about")
	root.AddCommand(supervise(r), run.Engine(r.Call))
	root.InitDefaultCompletionCmd()

	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own, which takes an unknown shell for a wish for help
			cmd.Args, cmd.RunE = cmdline.None, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}

	return root
}

// addCluster adds the commands that bring up a cluster, look at it and take it down.
func addCluster(root *cobra.Command, r *reader.Reader, calls calls) {
	calls.up.Kubectl = func(ctx context.Context, out io.Writer, args ...string) error {
		return kubectl.New(r.ReaderTo(out)).Run(ctx, args...)
	}
	ups, downs := up.New(r, calls.up), down.New(r, calls.down)
	frame.Add(root, "cluster", ups.Doctor(), prepare.New(r.Call, prepare.Real()), ups.Up(), downs.Stop(), downs.Down())
	frame.Add(root, "cluster", status.New(r, status.Every), logs.New(r, cluster.Agent), exporting(r).Command())
	frame.Add(root, "machines", ups.Server(), downs.Leave())
}

// addUse adds the commands that work with a cluster, or with single containers.
func addUse(root *cobra.Command, r *reader.Reader) {
	kubectls := kubectl.New(r)
	frame.Add(root, "use", run.New(r.Call), gotest.New(r.Call), container.New(r.Call), container.NewVolume(r.Call), docker.New(r.Call, docker.Real()), kubectls.Kubectl(), kubectls.Kubeconfig())
	frame.Add(root, "use", node.New(r, node.Real()), image.New(r))
	frame.Add(root, "use", net.New(r, cluster.NetTest), hns.New(r, hns.Real()))
	frame.Add(root, "use", check.New(r.Env, kubectls.Program), conformance.New(r, kubectls.Program))
	frame.Add(root, "use", diagnose.New(r), diagnose.NewCollect(r, exporting(r).AddOwn))
	frame.Add(root, "use", fault.New(r), explain.New(r))
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
