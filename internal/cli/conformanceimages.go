package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/cluster"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/windows/wine"
)

func (a *app) conformanceImages() *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Make the tests' images from what `make e2e` has built, and load them into the cluster that is up",
		Long: `Makes the images that the tests ask for by name and loads them for all nodes that do not have the same ones. They are pinned, and known to lie here alone: a pod that wants
them pulled anew (imagePullPolicy Always) gets them without a registry being asked, on Windows nodes. What in
an image is not upstream's program is printed, is a label of the image, and stands on the page of results.
Windows nodes get a folder C:\var\registry as well, as in upstream's clusters: it has the image that the
registry of the image agnhost serves, which tests run in the node itself.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			paths, c, err := a.cluster()
			if err != nil {
				return err
			}
			if err := a.requireRoot("mullion conformance images"); err != nil {
				return err
			}
			return a.loadConformanceImages(cmd.Context(), paths, c, true)
		},
	}
}

// loadConformanceImages loads the images into the stores of nodes that do not have the same ones. With everyOne it also
// prints those that are there already. Windows nodes also get the folder that agnhost's registry serves.
func (a *app) loadConformanceImages(ctx context.Context, paths layout.Paths, c spec.Cluster, everyOne bool) error {
	to, err := storesOf(c, nil)
	if err != nil {
		return err
	}
	built := filepath.Join(filepath.Dir(a.env.Executable), filepath.Dir(filepath.FromSlash(e2eTest)))
	if err := images.Missing(built); err != nil {
		return conformanceImageError(err)
	}
	l := imageLoader{app: a, builder: images.NewBuilder(built), everyOne: everyOne}
	for _, img := range images.All() {
		if to.windows {
			if err := a.withImages("", func(s *image.Store) error { return l.windows(ctx, s, img) }); err != nil {
				return err
			}
		}
		err := a.withLinuxImages(to.linux, func(node string, i *linuxnode.Images) error {
			if err := l.linux(ctx, i, img); err != nil {
				return fmt.Errorf("node %q: %w", node, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return l.registries(ctx, paths, c)
}

// registries puts the folder of agnhost's registry on the C: of each Windows node.
func (l imageLoader) registries(ctx context.Context, paths layout.Paths, c spec.Cluster) error {
	var r *images.Registry
	for _, n := range c.Nodes {
		if n.Linux() {
			continue
		}
		if r == nil {
			var err error
			if r, err = l.builder.Registry(ctx, images.Windows); err != nil {
				return err
			}
		}
		if err := writeRegistry(r, cluster.HostPrefix(paths, n.Name)); err != nil {
			return fmt.Errorf("node %q: %w", n.Name, err)
		}
		if l.everyOne {
			fmt.Fprintf(l.env.Out, `put %s into C:\var\registry of node %s, for the registry of agnhost`+"\n",
				images.ServedRef, n.Name)
		}
	}
	return nil
}

// writeRegistry puts the folder on the drive of a host's prefix, in which programs may have made links anywhere.
func writeRegistry(r *images.Registry, prefix string) error {
	root, err := os.OpenRoot(prefix)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(root, path.Join(wine.Drive("."), images.RegistryDir)), root.Close())
}

// imageLoader makes images from the built programs and loads them into the stores that do not have the same ones.
type imageLoader struct {
	*app

	builder  *images.Builder
	everyOne bool
}

// imageStore is a store of images of one system.
type imageStore struct {
	system string
	// digest returns the digest of a reference in the store; the error is errdefs.ErrNotFound if the store does not
	// have it.
	digest func(ref string) (string, error)
	load   func(archive io.Reader) error
}

func conformanceImageError(err error) error {
	if _, ok := errors.AsType[*images.MissingError](err); ok {
		return &Error{
			Code:   ExitRequirement,
			Err:    err,
			Remedy: "`make e2e` builds the tests and the programs of their images, which takes two or three minutes the first time",
		}
	}
	return err
}

func (l imageLoader) windows(ctx context.Context, s *image.Store, img images.Image) error {
	return l.put(ctx, img, imageStore{
		system: images.Windows,
		digest: func(ref string) (string, error) {
			info, err := s.Get(ctx, ref)
			return info.Target.Digest.String(), err
		},
		load: func(archive io.Reader) error {
			_, err := s.Load(ctx, archive, image.LoadOptions{Local: true})
			return err
		},
	})
}

func (l imageLoader) linux(ctx context.Context, i *linuxnode.Images, img images.Image) error {
	return l.put(ctx, img, imageStore{
		system: images.Linux,
		digest: func(ref string) (string, error) { return i.Digest(ctx, ref) },
		load: func(archive io.Reader) error {
			_, err := i.Load(ctx, archive)
			return err
		},
	})
}

// put makes one image for the store's system and loads it, unless the store already has the same image under all its
// names.
func (l imageLoader) put(ctx context.Context, img images.Image, store imageStore) error {
	if _, ok := img.Content[store.system]; !ok {
		return nil
	}
	made, err := l.builder.Build(ctx, img, store.system)
	if err != nil {
		return err
	}
	same, err := hasAll(store, made)
	if err != nil {
		return err
	}
	did := "there is"
	if !same {
		did = "loaded"
		if err := loadBuilt(made, store.load); err != nil {
			return fmt.Errorf("load image %q for %s: %w", img.Refs[0], store.system, err)
		}
	}
	if same && !l.everyOne {
		return nil
	}
	for _, ref := range img.Refs {
		note := ""
		if img.StandIn != "" {
			note = " (" + img.StandIn + ")"
		}
		fmt.Fprintf(l.env.Out, "%s %s for %s%s\n", did, ref, store.system, note)
	}
	return nil
}

// hasAll reports whether all references of an image lead to it in a store, and not to an older one, in which a program
// differs.
func hasAll(store imageStore, made *imagebuild.Image) (bool, error) {
	want, err := made.Digest()
	if err != nil {
		return false, err
	}
	for _, ref := range made.Refs {
		got, err := store.digest(ref)
		switch {
		case errdefs.IsNotFound(err):
			return false, nil
		case err != nil:
			return false, err
		case got != want:
			return false, nil
		}
	}
	return true, nil
}

// loadBuilt passes an image as an archive to load.
func loadBuilt(made *imagebuild.Image, load func(io.Reader) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(made.WriteArchive(w)) }()
	return errors.Join(load(r), r.Close())
}
