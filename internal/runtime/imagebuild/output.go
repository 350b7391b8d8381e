package imagebuild

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Names of a reference in an archive's index.json: OCI's and containerd's, which tools look for.
const (
	annotationRefName   = "org.opencontainers.image.ref.name"
	annotationImageName = "io.containerd.image.name"
)

// WriteArchive writes the image, under all its references, as a tar archive of an OCI image layout
// (https://github.com/opencontainers/image-spec/blob/v1.1.1/image-layout.md), which `mullion image load`, containerd
// and others read. An image for one Windows version can also be read by `docker load`. The same image gives the same
// bytes.
func (i *Image) WriteArchive(w io.Writer) error {
	root, err := partial.Descriptor(i.Index)
	if err != nil {
		return fmt.Errorf("describe image: %w", err)
	}

	top := v1.IndexManifest{SchemaVersion: 2, MediaType: types.OCIImageIndex}
	for _, ref := range i.Refs {
		d := *root
		d.Annotations = map[string]string{annotationRefName: ref, annotationImageName: ref}
		top.Manifests = append(top.Manifests, d)
	}

	index, err := json.Marshal(top)
	if err != nil {
		return fmt.Errorf("write index: %w", err)
	}

	a := archive{tw: tar.NewWriter(w)}
	a.bytes("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	a.bytes("index.json", index)
	docker, err := i.dockerManifest()
	if err != nil {
		return err
	}

	if docker != nil {
		a.bytes("manifest.json", docker)
	}
	blobs, err := i.blobs()
	if err != nil {
		return err
	}

	for _, h := range slices.SortedFunc(maps.Keys(blobs), func(a, b v1.Hash) int { return compareHash(a, b) }) {
		a.blob(h, blobs[h])
	}

	if a.err == nil {
		a.err = a.tw.Close()
	}
	if a.err != nil {
		return fmt.Errorf("write image archive: %w", a.err)
	}

	return nil
}

// dockerManifest returns manifest.json, by which `docker load` finds the parts of an image; nil for an image of several
// manifests, as Docker keeps one image under a reference
// (https://github.com/moby/docker-image-spec/blob/v1.3.1/v1.2.md#combined-image-json--filesystem-changeset-format).
func (i *Image) dockerManifest() ([]byte, error) {
	m, err := i.Index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		return nil, err
	}
	img, err := i.Index.Image(m.Manifests[0].Digest)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", m.Manifests[0].Digest, err)
	}

	manifest, err := img.Manifest()
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", m.Manifests[0].Digest, err)
	}
	one := struct {
		Config   string
		RepoTags []string
		Layers   []string
	}{Config: blobName(manifest.Config.Digest), RepoTags: i.Refs}

	for _, l := range manifest.Layers {
		one.Layers = append(one.Layers, blobName(l.Digest))
	}

	return json.Marshal([]any{one})
}

// blobName returns where a part of an image is in an archive.
func blobName(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }

func compareHash(a, b v1.Hash) int {
	return slices.Compare([]byte(a.String()), []byte(b.String()))
}

// blob is something that can be written to an archive.
type blob struct {
	size int64
	open func() (io.ReadCloser, error)
}

// blobs returns all parts of the image by digest.
func (i *Image) blobs() (map[v1.Hash]blob, error) {
	all := map[v1.Hash]blob{}
	m, err := i.Index.IndexManifest()
	if err != nil {
		return nil, fmt.Errorf("read image index: %w", err)
	}
	if err := addRaw(all, i.Index.Digest, i.Index.RawManifest); err != nil {
		return nil, err
	}

	for _, d := range m.Manifests {
		img, err := i.Index.Image(d.Digest)
		if err != nil {
			return nil, fmt.Errorf("read manifest %s: %w", d.Digest, err)
		}
		if err := addRaw(all, img.Digest, img.RawManifest); err != nil {
			return nil, err
		}

		if err := addRaw(all, img.ConfigName, img.RawConfigFile); err != nil {
			return nil, err
		}

		layers, err := img.Layers()
		if err != nil {
			return nil, fmt.Errorf("read layers of %s: %w", d.Digest, err)
		}

		for _, l := range layers {
			h, err := l.Digest()
			if err != nil {
				return nil, fmt.Errorf("read layer: %w", err)
			}
			if i.Elsewhere[h] {
				continue
			}

			size, err := l.Size()
			if err != nil {
				return nil, fmt.Errorf("read layer %s: %w", h, err)
			}
			all[h] = blob{size, l.Compressed}
		}
	}

	return all, nil
}

func addRaw(all map[v1.Hash]blob, digest func() (v1.Hash, error), raw func() ([]byte, error)) error {
	h, err := digest()
	if err != nil {
		return fmt.Errorf("compute digest: %w", err)
	}
	b, err := raw()
	if err != nil {
		return fmt.Errorf("read %s: %w", h, err)
	}
	all[h] = blob{int64(len(b)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }}
	return nil
}

// archive writes tar entries and keeps the first error.
type archive struct {
	tw  *tar.Writer
	err error
}

func (a *archive) header(name string, size int64) {
	if a.err == nil {
		a.err = a.tw.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg,
			Name:     name,
			Size:     size,
			Mode:     0o644,
			ModTime:  time.Unix(0, 0),
			Format:   tar.FormatUSTAR,
		})
	}
}

func (a *archive) bytes(name string, b []byte) {
	a.header(name, int64(len(b)))
	if a.err == nil {
		_, a.err = a.tw.Write(b)
	}
}

func (a *archive) blob(h v1.Hash, b blob) {
	a.header(blobName(h), b.size)
	if a.err != nil {
		return
	}

	r, err := b.open()
	if err != nil {
		a.err = err
		return
	}
	_, a.err = io.Copy(a.tw, r)
	if err := r.Close(); a.err == nil {
		a.err = err
	}
}
