package bases

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Push pushes an image to the registry of a reference, and returns its digest. Layers that may not be passed on are
// left out, as by Docker.
func (r Registry) Push(ctx context.Context, ref string, what Single) (string, error) {
	named, err := name.ParseReference(ref)
	if err != nil {
		return "", err
	}

	var digest v1.Hash
	if what.Index != nil {
		if digest, err = what.Index.Digest(); err == nil {
			err = remote.WriteIndex(named, what.Index, r.options(ctx)...)
		}
	} else if digest, err = what.Image.Digest(); err == nil {
		err = remote.Write(named, what.Image, r.options(ctx)...)
	}
	if err != nil {
		return "", fmt.Errorf("push %s: %w", ref, refusedBy(err))
	}

	return digest.String(), nil
}

// PushLayout pushes the image of an OCI layout. The layers of its base that are not in the layout, which are Windows'
// own, are taken from the registry of the base, if the image names it.
func (r Registry) PushLayout(ctx context.Context, ref, dir string) (string, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return "", err
	}
	what, err := Top(index)
	if err != nil {
		return "", err
	}

	from := completed{options: r.options(ctx)}
	switch {
	case what.Index != nil:
		what.Index = completedIndex{what.Index, from}
	default:
		what.Image = completedImage{what.Image, from}
	}

	return r.Push(ctx, ref, what)
}

// completed has the layers that an image lacks.
type completed struct{ options []remote.Option }

// anIndex is v1.ImageIndex, which has a method of that name.
type anIndex = v1.ImageIndex

// completedIndex is an index whose images are complete.
type completedIndex struct {
	anIndex
	completed
}

// Image implements v1.ImageIndex.
func (i completedIndex) Image(digest v1.Hash) (v1.Image, error) {
	img, err := i.anIndex.Image(digest)
	if err != nil {
		return nil, err
	}
	return completedImage{img, i.completed}, nil
}

// completedImage is an image that is complete.
type completedImage struct {
	v1.Image
	completed
}

// Layers implements v1.Image.
func (i completedImage) Layers() ([]v1.Layer, error) {
	layers, err := i.Image.Layers()
	if err != nil {
		return nil, err
	}

	for n, l := range layers {
		kind, err := l.MediaType()
		if err != nil {
			return nil, err
		}

		bytes, err := l.Compressed()
		if err == nil {
			err = bytes.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) || !kind.IsDistributable() {
			continue
		}

		if layers[n], err = i.ofBase(l); err != nil {
			return nil, err
		}
	}

	return layers, nil
}

// ofBase returns a layer of the image's base, in its registry.
func (i completedImage) ofBase(missing v1.Layer) (v1.Layer, error) {
	digest, err := missing.Digest()
	if err != nil {
		return nil, err
	}
	manifest, err := i.Manifest()
	if err != nil {
		return nil, err
	}

	base, err := name.ParseReference(manifest.Annotations[ocispec.AnnotationBaseImageName])
	if err != nil {
		return nil, fmt.Errorf("its layer %s is Windows' own, which is not here, and the image does not say of which base "+
			"it is: build it by `mullion image build --base real --push`", digest)
	}

	return remote.Layer(base.Context().Digest(digest.String()), i.options...)
}
