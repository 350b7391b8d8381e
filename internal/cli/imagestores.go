package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/base/beneath"
	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/runtime/image"
)

func withLinuxStore(paths layout.Paths, node string, do func(node string, i *linuxnode.Images) error) error {
	store, err := cluster.LinuxImages(paths, node)
	if err != nil {
		return err
	}
	return errors.Join(do(node, store), store.Close())
}

// withLinuxImages runs do on the store of each of the Linux nodes.
func (a *app) withLinuxImages(ctx context.Context, nodes []string,
	do func(node string, i *linuxnode.Images) error,
) error {
	paths, err := a.Paths()
	if err != nil {
		return err
	}

	for _, node := range nodes {
		err := cluster.ReachImages(ctx, paths, node)
		if err == nil {
			err = withLinuxStore(paths, node, do)
		}
		if errdefs.IsUnavailable(err) {
			err = &exit.Error{
				Code:   exit.NotReady,
				Err:    err,
				Remedy: "the node's containerd does not answer: see `mullion status`, or bring the cluster back with `mullion up`",
			}
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// loadImages loads an archive into the stores of the cluster for whose system it has images; unless system is "", only
// into the stores of that system.
func (a *app) loadImages(ctx context.Context, archive io.ReadSeeker, system string) error {
	if err := a.RequireRoot("loads images into the nodes' stores"); err != nil {
		return err
	}

	_, c, err := a.Cluster()
	if err != nil {
		return err
	}
	all, err := cluster.ImageStoresOf(c, nil)
	if err != nil {
		return err
	}

	to := all.For(system)
	var attempts []func() error
	if to.Windows {
		attempts = append(attempts, func() error {
			return a.withImages(ctx, "", func(s *image.Store) error { return a.loadWindows(ctx, s, archive) })
		})
	}

	if len(to.Linux) > 0 {
		attempts = append(attempts, func() error { return a.loadLinux(ctx, to.Linux, archive) })
	}

	if len(attempts) == 0 {
		return &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("the cluster has no %s node to load the image for", system),
			Remedy: "write it to a file with --output",
		}
	}

	var errs []error
	for _, attempt := range attempts {
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return err
		}
		errs = append(errs, attempt())
	}

	return cluster.LoadError(errs...)
}

func (a *app) loadWindows(ctx context.Context, s *image.Store, archive io.Reader) error {
	loaded, err := s.Load(ctx, archive, image.LoadOptions{})
	if err != nil {
		return err
	}

	for _, l := range loaded {
		var builds []string
		for _, i := range l.Images {
			builds = append(builds, i.OSVersion)
		}
		fmt.Fprintf(a.Env.Out, "loaded %s (windows/amd64 %s)\n", named(l.Ref), named(buildsText(builds)))
	}

	return nil
}

// named returns a name that an archive gives: a reference has 383 characters at most.
func named(name string) string { return plaintext.OneLine(plaintext.Shortened(name, 400)) }

// buildsText names builds of Windows, of many the first and the last.
func buildsText(builds []string) string {
	const few = 3
	if len(builds) <= few {
		return strings.Join(builds, ", ")
	}
	return fmt.Sprintf("%d builds, %s to %s", len(builds), builds[0], builds[len(builds)-1])
}

func (a *app) loadLinux(ctx context.Context, nodes []string, archive io.ReadSeeker) error {
	return a.withLinuxImages(ctx, nodes, func(node string, i *linuxnode.Images) error {
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return err
		}
		refs, err := i.Load(ctx, archive)
		for _, ref := range refs {
			fmt.Fprintf(a.Env.Out, "loaded %s (linux/amd64) on %s\n", named(ref), node)
		}
		return err
	})
}

// openArchive opens an archive that is read several times; standard input is copied to a temporary file first.
func (a *app) openArchive(ctx context.Context, file string) (*os.File, error) {
	if file != "-" {
		f, _, err := beneath.OpenPath(file)
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("load images: %w", err),
				"name an archive that is there (docker save, or an OCI layout), or - for standard input")
		}
		return f, nil
	}

	f, err := os.CreateTemp("", "mullion-images-*.tar")
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(f, interrupt.Reader(ctx, a.Env.In))
	if err := errors.Join(err, os.Remove(f.Name())); err != nil { // the file exists as long as it is open
		return nil, errors.Join(err, f.Close())
	}

	return f, nil
}
