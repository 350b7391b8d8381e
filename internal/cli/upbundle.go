package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/cluster/layout"
)

// takeBundle takes what --bundle names into the data folder, or with --dry-run into a folder of its own. discard takes
// it back where the cluster does not come up with it.
func (a *app) takeBundle(ctx context.Context, paths layout.Paths, f upFlags) (
	own *cluster.OwnBundle, discard func() error, err error,
) {
	started := time.Now()
	if f.dryRun {
		own, discard, err = tryBundle(ctx, f.bundles)
	} else if err = a.requireRoot("mullion up"); err == nil {
		own, err = a.calls.takeBundle(ctx, paths, f.bundles)
		err = bundleError(err)
		discard = func() error { return own.Discard(ctx) }
	}
	if err != nil {
		return nil, nil, err
	}
	own.Describe(paths.Bin)
	fmt.Fprintf(a.env.Out, "ok   %-44s %7.1fs\n", "bundle "+own.Version, time.Since(started).Seconds())
	for _, note := range own.Notes {
		fmt.Fprintf(a.env.Out, "     %s\n", note)
	}
	return own, discard, nil
}

// tryBundle takes a bundle into a folder of its own, which discard removes.
func tryBundle(ctx context.Context, sources []string) (*cluster.OwnBundle, func() error, error) {
	dir, err := os.MkdirTemp("", "mullion-bundle-*")
	if err != nil {
		return nil, nil, err
	}
	discard := func() error { return os.RemoveAll(dir) }
	own, err := cluster.TryBundle(ctx, dir, sources)
	if err != nil {
		return nil, nil, errors.Join(bundleError(err), discard())
	}
	return own, discard, nil
}

// bundleError gives the error of a bundle that cannot be taken its remedy and exit code.
func bundleError(err error) error {
	var conflict *cluster.ConflictError
	var incomplete *bundle.IncompleteError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &conflict):
		return &Error{Code: ExitConflict, Err: err, Remedy: conflict.Remedy}
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &incomplete):
		other := "kubernetes-server-linux-amd64.tar.gz"
		if strings.Contains(incomplete.Missing[0], ".exe") {
			other = "kubernetes-node-windows-amd64.tar.gz"
		}
		return usage(fmt.Errorf("--bundle: %w", err), "upstream's releases have them in "+other+
			": name it with another --bundle")
	}
	return usage(fmt.Errorf("--bundle: %w", err),
		"name a folder or archives in the layout of upstream's releases; see `mullion up --help`")
}
