//go:build kernel

package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// linuxStore returns the store of a Linux node, empty.
func linuxStore(t *testing.T) *linuxnode.Images {
	t.Helper()
	c := startContainerd(t, t.TempDir())
	runDir := t.TempDir()
	if err := os.MkdirAll(filepath.Dir(linuxnode.Socket(runDir)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(socketOf(t, c), linuxnode.Socket(runDir)); err != nil {
		t.Fatal(err)
	}

	images, err := linuxnode.OpenImages("linux-1", runDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = images.Close() })
	return images
}

// TestLinuxDigest asks the store of a Linux node what a reference stands for, before and after other images get it.
func TestLinuxDigest(t *testing.T) {
	images := linuxStore(t)
	const ref = "mullion.local/hello:v1"
	if got, err := images.Digest(t.Context(), ref); !errdefs.IsNotFound(err) {
		t.Errorf("before anything is loaded: %s, %v", got, err)
	}

	for _, text := range []string{"one", "two"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "hello"), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}

		img, err := imagebuild.Build(t.Context(), imagebuild.Options{
			Dir:  dir,
			Spec: imagebuild.Spec{OS: imagebuild.Linux, Tags: []string{ref}},
		})
		if err != nil {
			t.Fatal(err)
		}

		if got, err := images.Digest(t.Context(), ref); got == indexDigest(t, img) {
			t.Errorf("%s is there before it is loaded: %v", text, err)
		}
		var archive bytes.Buffer
		if err := img.WriteArchive(&archive); err != nil {
			t.Fatal(err)
		}

		if _, err := images.Load(t.Context(), &archive); err != nil {
			t.Fatal(err)
		}
		if got, err := images.Digest(t.Context(), ref); err != nil || got != indexDigest(t, img) {
			t.Errorf("%s: %s, %v, want %s", text, got, err, indexDigest(t, img))
		}
	}
}

// TestLinuxStoreRefusesWindows loads archives that have an image for Windows alone, which tell its system in the index
// or in the image's configuration, into the store of a Linux node. Callers have to know that nothing of it is for
// Linux.
func TestLinuxStoreRefusesWindows(t *testing.T) {
	images := linuxStore(t)
	img := makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{name: "Files/v", body: "v"})})
	const ref = "mullion.local/windows:v1"
	for form, archive := range map[string]io.Reader{
		"docker": dockerArchive(t, ref, img), "oci": ociArchive(t, ref, img),
	} {
		if refs, err := images.Load(t.Context(), archive); !errdefs.IsNotFound(err) {
			t.Errorf("%s: loaded %v, %v", form, refs, err)
		}
		if got, err := images.Digest(t.Context(), ref); !errdefs.IsNotFound(err) {
			t.Errorf("%s: the store has it: %s, %v", form, got, err)
		}
	}
}

// ociArchive returns an archive in the form of an OCI layout, whose index does not say for which system the image is.
func ociArchive(t *testing.T, ref string, img v1.Image) io.Reader {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}

	named := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": ref})
	if err := p.AppendImage(img, named); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(w.AddFS(os.DirFS(dir)), w.Close()); err != nil {
		t.Fatal(err)
	}

	return &archive
}
