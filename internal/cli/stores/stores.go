// Package stores owns how commands reach the stores of images of a cluster's nodes, and load images into them. The
// stores are elsewhere.
package stores

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
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/cli/remedy"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

func withStore(paths layout.Paths, node string, do func(node string, i *nodeimages.Images) error) error {
	store, err := cluster.NodeImages(paths, node)
	if err != nil {
		return err
	}
	return errors.Join(do(node, store), store.Close())
}

// OfNodes runs do on the store of each of the nodes that have one of their own: Linux nodes, and Windows nodes with
// containerd.exe.
func OfNodes(ctx context.Context, call *invoke.Call, nodes []string,
	do func(node string, i *nodeimages.Images) error,
) error {
	paths, err := call.Paths()
	if err != nil {
		return err
	}

	for _, node := range nodes {
		err := cluster.ReachImages(ctx, paths, node)
		if err == nil {
			err = withStore(paths, node, do)
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

// Load loads an archive into the stores of the cluster for whose system it has images; unless system is "", only
// into the stores of that system. name is the reference of an image for Windows to which the archive gives none.
func Load(ctx context.Context, call *invoke.Call, archive io.ReadSeeker, system, name string) error {
	if err := call.RequireRoot("loads images into the nodes' stores"); err != nil {
		return err
	}

	_, c, err := call.Cluster()
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
			return Windows(ctx, call, "", func(s *image.Store) error { return loadWindows(ctx, call, s, archive, name) })
		})
	}

	if len(to.Own) > 0 {
		attempts = append(attempts, func() error { return loadNodes(ctx, call, to.Own, spec.Windows, archive) })
	}
	if len(to.Linux) > 0 {
		attempts = append(attempts, func() error { return loadNodes(ctx, call, to.Linux, spec.Linux, archive) })
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

func loadWindows(ctx context.Context, call *invoke.Call, s *image.Store, archive io.Reader, name string) error {
	loaded, err := s.Load(ctx, archive, image.LoadOptions{Name: name})
	if err != nil {
		return err
	}

	for _, l := range loaded {
		var builds []string
		for _, i := range l.Images {
			builds = append(builds, i.OSVersion)
		}
		fmt.Fprintf(call.Env.Out, "loaded %s (windows/amd64 %s)\n", Named(l.Ref), Named(buildsText(builds)))
	}

	return nil
}

// Named returns a name that an archive gives: a reference has 383 characters at most.
func Named(name string) string { return plaintext.OneLine(plaintext.Shortened(name, 400)) }

// buildsText names builds of Windows, of many the first and the last.
func buildsText(builds []string) string {
	const few = 3
	if len(builds) <= few {
		return strings.Join(builds, ", ")
	}
	return fmt.Sprintf("%d builds, %s to %s", len(builds), builds[0], builds[len(builds)-1])
}

// loadNodes loads an archive into the stores that nodes of a system have of their own.
func loadNodes(ctx context.Context, call *invoke.Call, nodes []string, system string, archive io.ReadSeeker) error {
	return OfNodes(ctx, call, nodes, func(node string, i *nodeimages.Images) error {
		if _, err := archive.Seek(0, io.SeekStart); err != nil {
			return err
		}
		refs, err := i.Load(ctx, archive)
		for _, ref := range refs {
			fmt.Fprintf(call.Env.Out, "loaded %s (%s/amd64) on %s\n", Named(ref), system, node)
		}
		return err
	})
}

// OpenArchive opens an archive that is read several times; standard input is copied to a temporary file first.
func OpenArchive(ctx context.Context, call *invoke.Call, file string) (*os.File, error) {
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
	_, err = io.Copy(f, interrupt.Reader(ctx, call.Env.In))
	if err := errors.Join(err, os.Remove(f.Name())); err != nil { // the file exists as long as it is open
		return nil, errors.Join(err, f.Close())
	}

	return f, nil
}

// Windows runs do on the store of a node, or of the whole machine for "".
func Windows(ctx context.Context, call *invoke.Call, node string, do func(*image.Store) error) error {
	paths, err := call.Paths()
	if err != nil {
		return err
	}
	if err := call.RequireRoot("changes the nodes' stores of images"); err != nil {
		return err
	}

	if _, err := paths.LoadSpec(); err != nil {
		return remedy.NoCluster(paths.Data, err)
	}

	err = cluster.ReachImages(ctx, paths, "")
	if err == nil {
		store, closeStore, openErr := cluster.Images(paths, node)
		if openErr != nil {
			return remedy.NotFound(openErr)
		}
		err = errors.Join(do(store), closeStore())
	}

	return remedy.NotFound(remedy.Store(err))
}

// LoadFile loads the images of an archive into the stores of all nodes for which they are. name is the reference of an
// image for Windows to which the archive gives none.
func LoadFile(ctx context.Context, call *invoke.Call, file, name string) error {
	archive, err := OpenArchive(ctx, call, file)
	if err != nil {
		return err
	}
	defer archive.Close()
	system := ""
	if name != "" {
		system = spec.Windows
	}
	if err := Load(ctx, call, archive, system, name); err != nil {
		return fmt.Errorf("load %s: %w", file, err)
	}
	return nil
}
