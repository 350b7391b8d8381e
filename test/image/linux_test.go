//go:build kernel

package image

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/containerd/errdefs"

	"mullion.dev/mullion/internal/node/linuxnode"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// TestLinuxDigest asks the store of a Linux node what a reference stands for, before and after other images get it.
func TestLinuxDigest(t *testing.T) {
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
