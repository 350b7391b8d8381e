package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/containerd/errdefs"
	"github.com/spf13/cobra"

	"mullion.dev/mullion/internal/conformance/images"
	"mullion.dev/mullion/internal/image"
	"mullion.dev/mullion/internal/imagebuild"
	"mullion.dev/mullion/internal/linuxnode"
	"mullion.dev/mullion/internal/spec"
)

func (a *app) conformanceImages() *cobra.Command {
	return &cobra.Command{
		Use:   "images",
		Short: "Make the tests' images from what `make e2e` has built, and load them into the cluster that is up",
		Long: `Makes the images that the tests ask for by name and loads them for all nodes. They are pinned, and known to lie here alone: a pod that wants
them pulled anew (imagePullPolicy Always) gets them without a registry being asked, on Windows nodes. What in an image is not
upstream's program is printed, is a label of the image, and stands on the page of results.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, c, err := a.cluster()
			if err != nil {
				return err
			}
			if err := a.requireRoot("mullion conformance images"); err != nil {
				return err
			}
			return a.loadConformanceImages(cmd.Context(), c, true)
		},
	}
}

// loadConformanceImages loads the images into the stores of all nodes; without all, only those that a store does not have.
func (a *app) loadConformanceImages(ctx context.Context, c spec.Cluster, all bool) error {
	to, err := storesOf(c, nil)
	if err != nil {
		return err
	}
	l := imageLoader{app: a, built: filepath.Join(filepath.Dir(a.env.Executable), filepath.Dir(filepath.FromSlash(e2eTest))), all: all}
	for _, img := range images.All() {
		if to.windows {
			if err := a.withImages("", func(s *image.Store) error { return l.windows(ctx, s, img) }); err != nil {
				return conformanceImageError(err)
			}
		}
		err := a.withLinuxImages(to.linux, func(node string, i *linuxnode.Images) error {
			if err := l.linux(ctx, i, img); err != nil {
				return fmt.Errorf("node %q: %w", node, err)
			}
			return nil
		})
		if err != nil {
			return conformanceImageError(err)
		}
	}
	return nil
}

// imageLoader makes images from what is built and hands them to stores; without all, only those that a store does not have.
type imageLoader struct {
	*app

	built string
	all   bool
}

// imageStore is one store of images.
type imageStore struct {
	system string
	has    func(ref string) (bool, error)
	load   func(archive io.Reader) error
}

func conformanceImageError(err error) error {
	if _, ok := errors.AsType[*images.MissingError](err); ok {
		return &Error{Code: ExitRequirement, Err: err, Remedy: "`make e2e` builds the tests and the programs of their images, which takes two or three minutes the first time"}
	}
	return err
}

func (l imageLoader) windows(ctx context.Context, s *image.Store, img images.Image) error {
	return l.put(ctx, img, imageStore{
		system: images.Windows,
		has: func(ref string) (bool, error) {
			_, err := s.Get(ctx, ref)
			return err == nil, ignoreNotFound(err)
		},
		load: func(archive io.Reader) error {
			_, err := s.Load(ctx, archive, image.LoadOptions{Local: true})
			return err
		},
	})
}

func (l imageLoader) linux(ctx context.Context, i *linuxnode.Images, img images.Image) error {
	list, err := i.List(ctx)
	if err != nil {
		return err
	}
	var tags []string
	for _, one := range list {
		tags = append(tags, one.GetRepoTags()...)
	}
	return l.put(ctx, img, imageStore{
		system: images.Linux,
		has:    func(ref string) (bool, error) { return slices.Contains(tags, ref), nil },
		load: func(archive io.Reader) error {
			_, err := i.Load(ctx, archive)
			return err
		},
	})
}

func ignoreNotFound(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// put makes one image for the store's system and hands it over, unless the store has all its names already.
func (l imageLoader) put(ctx context.Context, img images.Image, store imageStore) error {
	if _, ok := img.Content[store.system]; !ok {
		return nil
	}
	there := 0
	for _, ref := range img.Refs {
		ok, err := store.has(ref)
		if err != nil {
			return err
		}
		if ok {
			there++
		}
	}
	if there == len(img.Refs) && !l.all {
		return nil
	}
	if err := images.Missing(l.built); err != nil {
		return err
	}
	made, err := img.Build(ctx, l.built, store.system)
	if err != nil {
		return err
	}
	if err := loadBuilt(made, store.load); err != nil {
		return fmt.Errorf("load image %q for %s: %w", img.Refs[0], store.system, err)
	}
	for _, ref := range img.Refs {
		note := ""
		if img.StandIn != "" {
			note = " (" + img.StandIn + ")"
		}
		fmt.Fprintf(l.env.Out, "loaded %s for %s%s\n", ref, store.system, note)
	}
	return nil
}

// loadBuilt hands an image to a store as an archive.
func loadBuilt(made *imagebuild.Image, load func(io.Reader) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(made.WriteArchive(w)) }()
	return errors.Join(load(r), r.Close())
}
