package dockerfile_test

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/runtime/dockerfile"
)

// imageOf returns an image for Windows with layers, each a tar.
func imageOf(t *testing.T, tars ...string) v1.Image {
	t.Helper()
	img, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    "10.0.20348.2762",
		RootFS:       v1.RootFS{Type: "layers"},
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, text := range tars {
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		})
		if err == nil {
			img, err = mutate.AppendLayers(img, layer)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	return img
}

// askedLayer is a layer that says when it is asked for its sum.
type askedLayer struct {
	v1.Layer
	asked func()
}

func (l askedLayer) DiffID() (v1.Hash, error) {
	l.asked()
	return l.Layer.DiffID()
}

// askedImage is an image whose layers say so.
type askedImage struct {
	v1.Image
	asked func()
}

func (i askedImage) Layers() ([]v1.Layer, error) {
	layers, err := i.Image.Layers()
	for n := range layers {
		layers[n] = askedLayer{layers[n], i.asked}
	}
	return layers, err
}

// A person ends a build while it reads the layers of its base, whose maker can have them take as long as he likes.
func TestBuildEndsInALayer(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"Dockerfile": "FROM base"})
	img := imageOf(t, archiveOf(t, false, entry{"Files/a", "A", "", tar.TypeReg}),
		archiveOf(t, false, entry{"Files/b", "B", "", tar.TypeReg}))
	cache := cacheAt(t, t.TempDir())
	build := func(asked func(cancel func())) error {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()

		_, err := dockerfile.Build(ctx, dockerfile.Options{
			File:    filepath.Join(dir, "Dockerfile"),
			Context: dir,
			Scratch: t.TempDir(),
			Tags:    []string{"mullion.local/a:b"},
			Cache:   cache,
			Base: func(context.Context, string, string) (dockerfile.Base, error) {
				return dockerfile.Base{Image: askedImage{img, func() { asked(cancel) }}}, nil
			},
			Say: func(dockerfile.Event) {},
		})

		return err
	}

	if err := build(func(func()) {}); err != nil {
		t.Fatal(err)
	}

	layers := 0
	err := build(func(cancel func()) {
		layers++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || layers != 1 {
		t.Errorf("%v after %d layers", err, layers)
	}
}
