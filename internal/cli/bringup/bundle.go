package bringup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/progress"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
)

// BundleFlag is the flag --bundle of all commands that have it.
func BundleFlag(cmd *cobra.Command, sources *[]string) {
	cmd.Flags().StringArrayVar(sources, "bundle", nil,
		"`DIR|FILE` with Kubernetes' programs, in the layout of its releases; may be repeated: together they are one version")
}

// BundleForm says in a command's help what --bundle takes.
const BundleForm = `: a release, or what you have built. FILE is an archive
of a release, kubernetes-server-linux-amd64.tar.gz or kubernetes-node-windows-amd64.tar.gz, of which a cluster needs
both; DIR is a folder in their layout, {server,node}/bin or kubernetes/{server,node}/bin. The programs are copied into
the data folder, and ` + "`mullion down`" + ` removes them.`

// Take takes bundles into the data folder.
type Take func(ctx context.Context, paths layout.Paths, sources []string) (*cluster.OwnBundle, error)

// Bundle says what a bundle is taken for.
type Bundle struct {
	// Command takes it, and Sources are what --bundle names.
	Command string
	Sources []string
	// DryRun takes it into a folder of its own. NodesOnly says that the control plane is on another machine.
	DryRun, NodesOnly bool
	// Take is how it is taken otherwise.
	Take Take
}

// TakeFor takes what --bundle names into the data folder, or with --dry-run into a folder of its own. discard takes
// it back where the cluster does not come up with it.
func (b Bundle) TakeFor(ctx context.Context, call *invoke.Call, paths layout.Paths, r *progress.Progress) (
	own *cluster.OwnBundle, discard func() error, err error,
) {
	end := r.Begin("bundle")
	if b.DryRun {
		own, discard, err = b.try(ctx)
	} else if err = call.RequireRoot("makes network namespaces, mounts and cgroups"); err == nil {
		own, err = b.Take(ctx, paths, b.Sources)
		err = bundleError(err, b.Command)
		discard = func() error { return own.Discard(ctx) }
	}

	if err != nil {
		end("", err)
		return nil, nil, err
	}
	own.Describe(paths.Bin, b.NodesOnly)
	end("Kubernetes "+own.Version, nil)
	for _, note := range own.Notes {
		r.Note(note)
	}

	return own, discard, nil
}

// try takes a bundle into a folder of its own, which discard removes.
func (b Bundle) try(ctx context.Context) (*cluster.OwnBundle, func() error, error) {
	dir, err := os.MkdirTemp("", "mullion-bundle-*")
	if err != nil {
		return nil, nil, err
	}
	discard := func() error { return os.RemoveAll(dir) }
	own, err := cluster.TryBundle(ctx, dir, b.Sources)
	if err != nil {
		return nil, nil, errors.Join(bundleError(err, b.Command), discard())
	}
	return own, discard, nil
}

// bundleError gives the error of a bundle that a command cannot take its remedy and exit code.
func bundleError(err error, command string) error {
	var conflict *cluster.ConflictError
	var incomplete *bundle.IncompleteError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return &exit.Error{
			Code:   exit.Conflict,
			Err:    err,
			Remedy: conflict.Remedy,
		}

	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &incomplete):
		other := "kubernetes-server-linux-amd64.tar.gz"
		if strings.Contains(incomplete.Missing[0], ".exe") {
			other = "kubernetes-node-windows-amd64.tar.gz"
		}
		return exit.Misuse(fmt.Errorf("--bundle: %w", err), "upstream's releases have them in "+other+
			": name it with another --bundle")
	}

	return exit.Misuse(fmt.Errorf("--bundle: %w", err),
		"name a folder or archives in the layout of upstream's releases; see `"+command+" --help`")
}
