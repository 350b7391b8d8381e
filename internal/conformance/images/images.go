// Package images makes the images that Kubernetes' e2e tests run, without a registry: upstream's own programs where they
// can be built from the pinned modules, and stand-ins, which say so in a label, where they cannot. The names are upstream's, so
// that the tests find them. It owns what is in each image; package imagebuild owns their form, packages image and linuxnode
// the nodes' stores.
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

	"mullion.dev/mullion/internal/imagebuild"
)

// LabelStandIn says, in an image's labels, what in it is not upstream's.
const LabelStandIn = "dev.mullion.conformance.stand-in"

// The systems that images are for.
const (
	Windows = imagebuild.Windows
	Linux   = imagebuild.Linux
)

// Image is one of the images.
type Image struct {
	// Refs are the names by which the tests ask for it; several where tests use versions that do not differ here.
	Refs []string
	// StandIn says what in it is not upstream's; empty: all is.
	StandIn string
	// Content is what it holds for each system it is for.
	Content map[string]Content
}

// Content is what an image holds for one system.
type Content struct {
	// Files are paths in the image, with slashes and relative to the root, and what is there.
	Files map[string]File
	Entrypoint,
	Cmd,
	Env,
	Ports []string
	User string
}

// File is one file: a program or another file below the folder of what `make e2e` has built, a link to a file beside it
// or above it, a text, or, with none of them, a folder.
type File struct {
	Program, Link, Text string
}

// MissingError names programs that have not been built.
type MissingError struct{ Paths []string }

func (e *MissingError) Error() string {
	return "not built: " + strings.Join(e.Paths, ", ")
}

// Missing looks for what the images are made of in the folder of what `make e2e` has built.
func Missing(built string) error {
	seen := map[string]bool{}
	missing := &MissingError{}
	for _, img := range All() {
		for _, c := range img.Content {
			for _, f := range c.Files {
				path := filepath.Join(built, f.Program)
				if f.Program == "" || seen[path] {
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

// Build makes an image for one system from the folder of what `make e2e` has built. The same programs give the same bytes.
func (i Image) Build(ctx context.Context, built, system string) (*imagebuild.Image, error) {
	c, ok := i.Content[system]
	if !ok {
		return nil, fmt.Errorf("image %q is not for %s: %w", i.Refs[0], system, errors.ErrUnsupported)
	}
	dir, err := os.MkdirTemp("", "mullion-image-")
	if err != nil {
		return nil, fmt.Errorf("make folder for image %q: %w", i.Refs[0], err)
	}
	img, err := func() (*imagebuild.Image, error) {
		if err := c.lay(dir, built); err != nil {
			return nil, fmt.Errorf("lay out image %q: %w", i.Refs[0], err)
		}
		spec := imagebuild.Spec{
			OS: system, Tags: i.Refs, Entrypoint: c.Entrypoint, Cmd: c.Cmd, Env: c.Env, User: c.User, ExposedPorts: c.Ports,
			Labels: map[string]string{"org.opencontainers.image.source": "https://github.com/kubernetes/kubernetes/tree/v1.36.3/test/images"},
		}
		if i.StandIn != "" {
			spec.Labels[LabelStandIn] = i.StandIn
		}
		return imagebuild.Build(ctx, imagebuild.Options{Dir: dir, Spec: spec, Created: time.Unix(0, 0)})
	}()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	// The layers are compressed in memory by now, so the folder is not needed any more.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("remove folder of image %q: %w", i.Refs[0], err)
	}
	return img, nil
}

// lay puts the files into a folder. Programs are linked, which takes no space, or copied where the folder is on another file system.
func (c Content) lay(dir, built string) error {
	for name, f := range c.Files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		var err error
		switch {
		case f.Program != "":
			err = copyFile(filepath.Join(built, f.Program), path)
		case f.Link != "":
			err = os.Symlink(f.Link, path)
		case f.Text != "":
			err = os.WriteFile(path, []byte(f.Text), 0o644)
		default:
			err = os.MkdirAll(path, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(from); err == nil && info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	return os.WriteFile(to, data, mode)
}

// StandIns are the images that are not wholly upstream's, by name, with what in them is not.
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
