package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cli/cmdline"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/stores"
	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/node/nodeimages"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

func (a *commands) images() *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Make the tests' images from what `make e2e` has built, and load them into the cluster that is up",
		Long: `Makes the images that the tests ask for by name, and loads them into every node that does not have the same ones. The
images are pinned and marked as local: a Windows node gives them to a pod without asking a registry, even with
imagePullPolicy Always. A program in an image that is not upstream's is printed here, named in a label of the
image, and named on the page of results. Windows nodes also get a folder C:\var\registry, as in upstream's
clusters. It holds the image that agnhost's registry serves; some tests run that registry on the node itself.`,
		Args: cmdline.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.RequireRoot("loads images into the nodes' stores"); err != nil {
				return err
			}
			paths, c, err := a.Cluster()
			if err != nil {
				return err
			}
			return a.loadImages(cmd.Context(), paths, c, true)
		},
	}
}

// loadImages loads the images into the stores of nodes that do not have the same ones. With everyOne it also
// prints those that are there already. Windows nodes also get the folder that agnhost's registry serves.
func (a *commands) loadImages(ctx context.Context, paths layout.Paths, c spec.Cluster, everyOne bool) error {
	to, err := cluster.ImageStoresOf(c, nil)
	if err != nil {
		return err
	}

	built := filepath.Join(filepath.Dir(a.Env.Executable), filepath.Dir(filepath.FromSlash(e2eTest)))
	if err := images.Missing(built); err != nil {
		return imageError(err)
	}
	l := images.Loader{
		Builder:  images.NewBuilder(built),
		Out:      a.Env.Out,
		EveryOne: everyOne,
	}

	for _, img := range images.All() {
		if to.Windows {
			err := stores.Windows(ctx, a.Call, "",
				func(s *image.Store) error { return l.Put(ctx, img, windowsStore(ctx, s)) })
			if err != nil {
				return err
			}
		}

		err := stores.OfNodes(ctx, a.Call, to.Single(), func(node string, i *nodeimages.Images) error {
			if err := l.Put(ctx, img, storeOf(ctx, i, to.System(node))); err != nil {
				return fmt.Errorf("node %q: %w", node, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}

	return l.Registries(ctx, registryHosts(paths, c))
}

// registryHosts returns the Windows nodes, each with its C: drive: agnhost's registry is on those alone.
func registryHosts(paths layout.Paths, c spec.Cluster) []images.Host {
	var hosts []images.Host
	for _, n := range c.Nodes {
		if !n.Linux() {
			prefix := cluster.HostPrefix(paths, n.Name)
			hosts = append(hosts, images.Host{
				Name:  n.Name,
				Root:  prefix,
				Drive: wine.Drive("."),
			})
		}
	}

	return hosts
}

func imageError(err error) error {
	if _, ok := errors.AsType[*images.MissingError](err); ok {
		return &exit.Error{
			Code:   exit.Requirement,
			Err:    err,
			Remedy: "install the package mullion-e2e; in a checkout, `make e2e` builds the tests and the programs of their images",
		}
	}
	return err
}

// windowsStore returns the store of the Windows nodes as it takes the tests' images.
func windowsStore(ctx context.Context, s *image.Store) images.Store {
	return images.Store{
		System: images.Windows,
		Digest: func(ref string) (string, error) {
			info, err := s.Get(ctx, ref)
			return info.Target.Digest.String(), err
		},
		Load: func(archive io.Reader) error {
			_, err := s.Load(ctx, archive, image.LoadOptions{Local: true})
			return err
		},
	}
}

// storeOf returns the store that a node has of its own as it takes the tests' images.
func storeOf(ctx context.Context, i *nodeimages.Images, system string) images.Store {
	return images.Store{
		System: system,
		Digest: func(ref string) (string, error) { return i.Digest(ctx, ref) },
		Load: func(archive io.Reader) error {
			_, err := i.Load(ctx, archive)
			return err
		},
	}
}
