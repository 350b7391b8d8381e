// Package images makes the images that Kubernetes' e2e tests run, without a registry: upstream's own programs where
// they can be built from the pinned modules, and stand-ins, which say so in a label, where they cannot. The names are
// upstream's, so that the tests find them. It owns the content of each image; package imagebuild owns the images' form,
// packages image and linuxnode the nodes' stores.
package images

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// LabelStandIn is the label that says which parts of an image are not upstream's.
const LabelStandIn = "dev.mullion.conformance.stand-in"

// The systems that images are for.
const (
	Windows = imagebuild.Windows
	Linux   = imagebuild.Linux
)

// Image describes one of the images.
type Image struct {
	// Refs are the names by which the tests ask for it; several if tests use versions that do not differ here.
	Refs []string
	// StandIn says which parts are not upstream's; empty: none.
	StandIn string
	// Content is the image's content by system.
	Content map[string]Content
}

// Content is the content of an image for one system.
type Content struct {
	// Layers are the files, lowest layer first, by their paths in the image, with slashes and relative to the root.
	// Files that images have in common are a layer of their own, which is made and stored once.
	Layers []map[string]File
	Entrypoint,
	Cmd,
	Env,
	Ports []string
	User string
}

// File is one file: a program or another file below the folder of what `make e2e` has built, a link to a file beside it
// or above it, in this layer or another, a text, the folder of a registry for the image's system, or an empty folder if
// no field is set.
type File struct {
	Program, Link, Text string
	Registry            bool
}

// MissingError names programs that have not been built.
type MissingError struct{ Paths []string }

func (e *MissingError) Error() string {
	return "not built: " + strings.Join(e.Paths, ", ")
}

// Missing returns a MissingError if the folder of what `make e2e` has built lacks files of the images.
func Missing(built string) error {
	seen := map[string]bool{}
	missing := &MissingError{}
	for _, img := range All() {
		for _, c := range img.Content {
			for _, path := range c.programs(built) {
				if seen[path] {
					continue
				}
				seen[path] = true
				if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
					missing.Paths = append(missing.Paths, path)
				}
			}
		}
	}

	if len(missing.Paths) > 0 {
		return missing
	}
	return nil
}

// programs returns the files of which the content is made.
func (c Content) programs(built string) []string {
	var paths []string
	for _, files := range c.Layers {
		for _, f := range files {
			if f.Program != "" {
				paths = append(paths, filepath.Join(built, f.Program))
			}
		}
	}
	return paths
}

// Builder makes images from the folder of what `make e2e` has built. It keeps the compressed layers in memory for other
// images with the same layers. It must not be used by several goroutines at once.
type Builder struct {
	built  string
	layers map[string]*imagebuild.Layer
}

// NewBuilder returns a builder without layers.
func NewBuilder(built string) *Builder {
	return &Builder{built, map[string]*imagebuild.Layer{}}
}

// Build makes an image for one system. The same programs give the same bytes.
func (b *Builder) Build(ctx context.Context, i Image, system string) (*imagebuild.Image, error) {
	c, ok := i.Content[system]
	if !ok {
		return nil, fmt.Errorf("image %q is not for %s: %w", i.Refs[0], system, errors.ErrUnsupported)
	}

	o := imagebuild.Options{
		Spec: imagebuild.Spec{
			OS:           system,
			Tags:         i.Refs,
			Entrypoint:   c.Entrypoint,
			Cmd:          c.Cmd,
			Env:          c.Env,
			User:         c.User,
			ExposedPorts: c.Ports,
			Labels:       map[string]string{"org.opencontainers.image.source": "https://github.com/kubernetes/kubernetes/tree/v1.36.3/test/images"},
		},
		Created: time.Unix(0, 0),
	}

	if i.StandIn != "" {
		o.Spec.Labels[LabelStandIn] = i.StandIn
	}

	for _, files := range c.Layers {
		l, err := b.layer(ctx, files, system)
		if err != nil {
			return nil, fmt.Errorf("make image %q: %w", i.Refs[0], err)
		}
		o.Below = append(o.Below, l)
	}

	return imagebuild.Build(ctx, o)
}

// layer returns the layer of files, and makes it if it has not made it before.
func (b *Builder) layer(ctx context.Context, files map[string]File, system string) (l *imagebuild.Layer, err error) {
	key := fmt.Sprintf("%s %#v", system, files) // fmt sorts a map by its keys
	if l, ok := b.layers[key]; ok {
		return l, nil
	}
	dir, err := os.MkdirTemp("", "mullion-image-")
	if err != nil {
		return nil, fmt.Errorf("make folder for layer: %w", err)
	}

	// Once made, a layer is in memory, compressed, and its folder is not needed any more.
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := b.lay(ctx, files, dir, system); err != nil {
		return nil, fmt.Errorf("lay out layer: %w", err)
	}

	l, err = imagebuild.MakeLayer(ctx, imagebuild.Options{
		Dir:     dir,
		Spec:    imagebuild.Spec{OS: system},
		Created: time.Unix(0, 0),
	})
	if err == nil {
		b.layers[key] = l
	}

	return l, err
}

// lay puts the files of a layer into a folder.
func (b *Builder) lay(ctx context.Context, files map[string]File, dir, system string) error {
	for name, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}

		var err error
		switch {
		case f.Program != "":
			err = copyFile(filepath.Join(b.built, f.Program), path)
		case f.Link != "":
			err = os.Symlink(f.Link, path)
		case f.Text != "":
			err = os.WriteFile(path, []byte(f.Text), 0o644)
		case f.Registry:
			err = b.layRegistry(ctx, dir, name, system)
		default:
			err = os.MkdirAll(path, 0o755)
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// layRegistry puts a registry into the folder of a layer.
func (b *Builder) layRegistry(ctx context.Context, dir, name, system string) error {
	r, err := b.Registry(ctx, system)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(r.Write(root, name), root.Close())
}

// copyFile copies a file, with mode 0755 if it is a program.
func copyFile(from, to string) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(from); err == nil && info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	_, err := filecopy.Onto(from, to, mode)
	return err
}

// StandIns returns the images that are not wholly upstream's, by name, each with the parts that are not.
func StandIns() map[string]string {
	all := map[string]string{}
	for _, img := range All() {
		for _, ref := range img.Refs {
			if img.StandIn != "" {
				all[ref] = img.StandIn
			}
		}
	}
	return all
}
