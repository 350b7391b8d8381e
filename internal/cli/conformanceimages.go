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
	built := filepath.Join(filepath.Dir(a.env.Executable), filepath.Dir(filepath.FromSlash(e2eTest)))
	for _, img := range images.All() {
		if to.windows {
			err := a.withImages("", func(s *image.Store) error { return a.loadWindowsImage(ctx, s, img, built, all) })
			if err != nil {
				return conformanceImageError(err)
			}
		}
		err := a.withLinuxImages(to.linux, func(node string, i *linuxnode.Images) error { return a.loadLinuxImage(ctx, i, node, img, built, all) })
		if err != nil {
			return conformanceImageError(err)
		}
	}
	return nil
}

func conformanceImageError(err error) error {
	var missing *images.MissingError
	if errors.As(err, &missing) {
		return &Error{Code: ExitRequirement, Err: err, Remedy: "`make e2e` builds the tests and the programs of their images, which takes some minutes the first time"}
	}
	return err
}

func (a *app) loadWindowsImage(ctx context.Context, s *image.Store, img images.Image, built string, all bool) error {
	has := func(ref string) (bool, error) {
		_, err := s.Get(ctx, ref)
		return err == nil, ignoreNotFound(err)
	}
	return a.loadConformanceImage(ctx, img, built, images.Windows, all, has, func(r io.Reader) error {
		_, err := s.Load(ctx, r, image.LoadOptions{Local: true})
		return err
	})
}

func (a *app) loadLinuxImage(ctx context.Context, i *linuxnode.Images, node string, img images.Image, built string, all bool) error {
	list, err := i.List(ctx)
	if err != nil {
		return err
	}
	has := func(ref string) (bool, error) {
		for _, one := range list {
			if slices.Contains(one.GetRepoTags(), ref) {
				return true, nil
			}
		}
		return false, nil
	}
	return a.loadConformanceImage(ctx, img, built, images.Linux, all, has, func(r io.Reader) error {
		_, err := i.Load(ctx, r)
		if err != nil {
			return fmt.Errorf("node %q: %w", node, err)
		}
		return nil
	})
}

func ignoreNotFound(err error) error {
	if errdefs.IsNotFound(err) {
		return nil
	}
	return err
}

// loadConformanceImage makes one image for one system and hands it to a store, unless the store has all its names already.
func (a *app) loadConformanceImage(ctx context.Context, img images.Image, built, system string, all bool, has func(string) (bool, error), load func(io.Reader) error) error {
	if _, ok := img.Content[system]; !ok {
		return nil
	}
	there := 0
	for _, ref := range img.Refs {
		ok, err := has(ref)
		if err != nil {
			return err
		}
		if ok {
			there++
		}
	}
	if there == len(img.Refs) && !all {
		return nil
	}
	if err := images.Missing(built); err != nil {
		return err
	}
	made, err := img.Build(ctx, built, system)
	if err != nil {
		return err
	}
	if err := loadBuilt(made, load); err != nil {
		return fmt.Errorf("load image %q for %s: %w", img.Refs[0], system, err)
	}
	for _, ref := range img.Refs {
		note := ""
		if img.StandIn != "" {
			note = " (" + img.StandIn + ")"
		}
		fmt.Fprintf(a.env.Out, "loaded %s for %s%s\n", ref, system, note)
	}
	return nil
}

// loadBuilt hands an image to a store as an archive.
func loadBuilt(made *imagebuild.Image, load func(io.Reader) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(made.WriteArchive(w)) }()
	return errors.Join(load(r), r.Close())
}
