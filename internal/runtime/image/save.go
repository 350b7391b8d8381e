package image

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/containerd/containerd/v2/core/content"
	"github.com/containerd/containerd/v2/core/images"
	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// WindowsLayers returns how many layers of an image, the lowest, are Windows' own: see markBase. It refuses an image
// that is too large, or whose parts do not fit each other.
func WindowsLayers(img v1.Image) (int, error) {
	manifest, err := img.RawManifest()
	if err != nil {
		return 0, err
	}
	config, err := img.RawConfigFile()
	if err != nil {
		return 0, err
	}

	var m ocispec.Manifest
	var spec ocispec.Image
	if err := json.Unmarshal(manifest, &m); err != nil {
		return 0, fmt.Errorf("parse manifest: %w: %w", errMalformed, err)
	}
	if err := json.Unmarshal(config, &spec); err != nil {
		return 0, fmt.Errorf("parse configuration: %w: %w", errMalformed, err)
	}

	layers, err := planLayers(m, spec)
	count := 0
	for _, l := range layers {
		if l.base != "" {
			count++
		}
	}

	return count, err
}

// Tag gives an image that the machine has another reference, with all its builds.
func (s *Store) Tag(ctx context.Context, from, to string) error {
	ctx = s.context(ctx)
	img, err := s.named(ctx, from)
	if err != nil {
		return err
	}
	ref, err := Normalize(to)
	if err != nil {
		return err
	}

	found, _, err := s.windowsManifests(ctx, img.Target)
	if err != nil {
		return fmt.Errorf("tag image %q: %w", from, err)
	}
	if len(found) == 0 {
		return fmt.Errorf("tag image %q: it has nothing for Windows: %w", from, errdefs.ErrNotFound)
	}

	for _, sel := range found {
		if err := s.record(ctx, ref, img.Target, sel.config.Digest.String(), img.Labels); err != nil {
			return fmt.Errorf("tag image %q: %w", from, err)
		}
	}

	return nil
}

// named finds the image of a reference.
func (s *Store) named(ctx context.Context, name string) (images.Image, error) {
	ref, err := Normalize(name)
	if err != nil {
		return images.Image{}, err
	}
	img, err := s.images.Get(ctx, ref)
	if err != nil {
		return img, err // it names the image
	}
	if img.Labels[labelWindows] != valueWindows {
		return img, fmt.Errorf("image %q: it is not for Windows: %w", ref, errdefs.ErrNotFound)
	}
	return img, nil
}

// Save writes an image, with all its builds, as a tar archive of an OCI image layout. What the store does not have of
// it, such as Windows' own layers and manifests of other systems, is not in the archive; its manifests stay as they
// are.
func (s *Store) Save(ctx context.Context, name string, w io.Writer) error {
	ctx = s.context(ctx)
	img, err := s.named(ctx, name)
	if err != nil {
		return err
	}

	top := ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2},
		MediaType: ocispec.MediaTypeImageIndex,
		Manifests: []ocispec.Descriptor{{
			MediaType: img.Target.MediaType,
			Digest:    img.Target.Digest,
			Size:      img.Target.Size,
			Annotations: map[string]string{
				ocispec.AnnotationRefName:  img.Name,
				images.AnnotationImageName: img.Name,
			},
		}},
	}

	index, err := json.Marshal(top)
	if err != nil {
		return err
	}

	a := savedArchive{tar.NewWriter(w)}
	if err := a.small(ocispec.ImageLayoutFile, []byte(`{"imageLayoutVersion":"`+ocispec.ImageLayoutVersion+`"}`)); err != nil {
		return err
	}
	if err := a.small(ocispec.ImageIndexFile, index); err != nil {
		return err
	}

	seen := map[digest.Digest]bool{}
	see := func(ctx context.Context, d ocispec.Descriptor) ([]ocispec.Descriptor, error) {
		if seen[d.Digest] {
			return nil, images.ErrSkipDesc
		}
		seen[d.Digest] = true
		info, err := s.content.Info(ctx, d.Digest)
		if errdefs.IsNotFound(err) {
			return nil, images.ErrSkipDesc
		}

		if err != nil {
			return nil, err
		}
		if err := a.blob(ctx, s.content, d, info.Size); err != nil {
			return nil, err
		}
		return images.Children(ctx, s.content, d)
	}

	err = images.Walk(ctx, images.HandlerFunc(see), img.Target)
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return fmt.Errorf("save image %q: %w", img.Name, err)
	}

	return nil
}

// savedArchive is the archive that Save writes.
type savedArchive struct{ *tar.Writer }

func (a savedArchive) header(name string, size int64) error {
	return a.WriteHeader(&tar.Header{
		Typeflag: tar.TypeReg,
		Name:     name,
		Size:     size,
		Mode:     0o644,
		ModTime:  time.Unix(0, 0),
		Format:   tar.FormatUSTAR,
	})
}

func (a savedArchive) small(name string, text []byte) error {
	if err := a.header(name, int64(len(text))); err != nil {
		return err
	}
	_, err := a.Write(text)
	return err
}

func (a savedArchive) blob(ctx context.Context, from content.Provider, d ocispec.Descriptor, size int64) error {
	d.Size = size
	reader, err := from.ReaderAt(ctx, d)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()
	if err := a.header("blobs/"+d.Digest.Algorithm().String()+"/"+d.Digest.Encoded(), size); err != nil {
		return err
	}
	_, err = io.Copy(a, content.NewReader(reader))
	return err
}
