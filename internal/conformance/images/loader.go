package images

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// Store is one store of images, of nodes of one system.
type Store struct {
	System string // Windows or Linux
	// Digest is what a reference stands for in the store; errdefs.ErrNotFound if it stands for nothing.
	Digest func(ref string) (string, error)
	Load   func(archive io.Reader) error
}

// Loader makes images from what is built and hands them to the stores that do not have the same ones.
type Loader struct {
	Builder *Builder
	Out     io.Writer // gets a line for each reference
	// EveryOne also tells of images that a store has already.
	EveryOne bool
}

// Put makes one image for the store's system and hands it over, unless the store has the same under all its names
// already.
func (l Loader) Put(ctx context.Context, img Image, store Store) error {
	if _, ok := img.Content[store.System]; !ok {
		return nil
	}
	made, err := l.Builder.Build(ctx, img, store.System)
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
		if err := loadBuilt(made, store.Load); err != nil {
			return fmt.Errorf("load image %q for %s: %w", img.Refs[0], store.System, err)
		}
	}

	if same && !l.EveryOne {
		return nil
	}

	for _, ref := range img.Refs {
		note := ""
		if img.StandIn != "" {
			note = " (" + img.StandIn + ")"
		}
		fmt.Fprintf(l.Out, "%s %s for %s%s\n", did, ref, store.System, note)
	}

	return nil
}

// hasAll tells whether all references of an image stand for it in a store: not for another one, as when a program in it
// has changed.
func hasAll(store Store, made *imagebuild.Image) (bool, error) {
	want, err := made.Digest()
	if err != nil {
		return false, err
	}

	for _, ref := range made.Refs {
		got, err := store.Digest(ref)
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

// loadBuilt hands an image to a store as an archive.
func loadBuilt(made *imagebuild.Image, load func(io.Reader) error) error {
	r, w := io.Pipe()
	go func() { w.CloseWithError(made.WriteArchive(w)) }()
	return errors.Join(load(r), r.Close())
}

// Host is a Windows node and where its C: drive lies on this machine.
type Host struct {
	Name string
	// Root is the folder that no link may lead out of, Drive the C: drive below it.
	Root, Drive string
}

// Registries puts the folder of agnhost's registry on the C: drive of each host.
func (l Loader) Registries(ctx context.Context, hosts []Host) error {
	if len(hosts) == 0 {
		return nil
	}
	r, err := l.Builder.Registry(ctx, Windows)
	if err != nil {
		return err
	}

	for _, h := range hosts {
		if err := h.write(r); err != nil {
			return fmt.Errorf("node %q: %w", h.Name, err)
		}
		if l.EveryOne {
			fmt.Fprintf(l.Out, `put %s into C:\var\registry of node %s, for the registry of agnhost`+"\n", ServedRef,
				h.Name)
		}
	}

	return nil
}

// write puts the folder on the drive, whose programs may have put links anywhere in it.
func (h Host) write(r *Registry) error {
	root, err := os.OpenRoot(h.Root)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(root, path.Join(h.Drive, RegistryDir)), root.Close())
}
