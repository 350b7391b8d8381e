package bases

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"mullion.dev/mullion/internal/base/lazyregexp"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// saved finds an image that the machine has. One that only stands in for another is not taken for it.
func (f *Finder) saved(ctx context.Context, ref string) (dockerfile.Base, error) {
	index, err := f.unpacked(ctx, ref)
	if err != nil {
		return dockerfile.Base{}, err
	}
	top, err := Top(index)
	if err != nil {
		return dockerfile.Base{}, err
	}

	found := dockerfile.Base{}
	if top.Image != nil {
		found, err = baseOf(top.Image)
	} else {
		found, err = f.chosen(top.Index, imagebuild.Windows)
	}
	if err != nil {
		return dockerfile.Base{}, err
	}

	config, err := found.Image.ConfigFile()
	if err != nil {
		return dockerfile.Base{}, err
	}
	_, _, standIn := image.StandIn(ref)
	if standIn && config.Config.Labels[imagebuild.LabelBase] == imagebuild.BaseStandIn {
		return dockerfile.Base{}, fmt.Errorf("it stands in for %s: %w", ref, errdefs.ErrNotFound)
	}

	return found, nil
}

// unpacked unpacks the archive of an image into a folder.
func (f *Finder) unpacked(ctx context.Context, ref string) (v1.ImageIndex, error) {
	dir, err := os.MkdirTemp(f.Scratch, "base-")
	if err != nil {
		return nil, err
	}
	read, write := io.Pipe()
	go func() { write.CloseWithError(f.Saved(ctx, ref, write)) }()
	err = Unpack(read, dir)
	_ = read.Close()
	if err != nil {
		return nil, err
	}
	return layout.ImageIndexFromPath(dir)
}

// blobName is what a blob of a layout is called.
var blobName = lazyregexp.New(`^blobs/sha256/[0-9a-f]{64}$`)

// Unpack unpacks an archive of an OCI layout. What is no part of a layout is left out.
func Unpack(archive io.Reader, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700); err != nil {
		return err
	}

	for r := tar.NewReader(archive); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		name := path.Clean(header.Name)
		if header.Typeflag != tar.TypeReg || (name != "index.json" && name != "oci-layout" && !blobName.MatchString(name)) {
			continue
		}
		if err := writeTo(filepath.Join(dir, filepath.FromSlash(name)), r); err != nil {
			return err
		}
	}
}

func writeTo(name string, from io.Reader) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}

// Single is what the top of a layout names: an index, or one image.
type Single struct {
	Index v1.ImageIndex
	Image v1.Image
}

// Top returns the image of a layout with one.
func Top(index v1.ImageIndex) (Single, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return Single{}, err
	}
	if len(manifest.Manifests) != 1 {
		return Single{}, fmt.Errorf("the archive has %d images, and not one: %w", len(manifest.Manifests),
			errdefs.ErrInvalidArgument)
	}

	var s Single
	if d := manifest.Manifests[0]; d.MediaType.IsIndex() {
		s.Index, err = index.ImageIndex(d.Digest)
	} else {
		s.Image, err = index.Image(d.Digest)
	}

	return s, err
}
