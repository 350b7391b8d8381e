package images

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// TestNamesAreUpstreams compares the names with those that the pinned tests ask for.
func TestNamesAreUpstreams(t *testing.T) {
	var ours []string
	for _, img := range All() {
		ours = append(ours, img.Refs...)
	}

	out, err := exec.CommandContext(t.Context(), "go", "-C", "../../../upstream/cluster/kubernetes", "run", "./e2eimages").Output()
	if err != nil {
		t.Fatalf("ask upstream's tests: %v", err)
	}

	theirs := strings.Fields(string(out))
	slices.Sort(theirs)
	slices.Sort(ours)
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("images (-asked for +made):\n%s", diff)
	}
}

// built makes the folder that `make e2e` makes, with empty programs.
func built(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, img := range All() {
		for _, c := range img.Content {
			for _, path := range c.programs(dir) {
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(path[len(dir):]), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}

	return dir
}

// TestBuild makes every image for both systems, the same twice, and looks at what it says of itself.
func TestBuild(t *testing.T) {
	dir := built(t)
	if err := Missing(dir); err != nil {
		t.Fatal(err)
	}

	b := NewBuilder(dir)
	for _, img := range All() {
		for system := range img.Content {
			one, err := b.Build(t.Context(), img, system)
			if err != nil {
				t.Fatal(err)
			}
			two, err := NewBuilder(dir).Build(t.Context(), img, system)
			if err != nil {
				t.Fatal(err)
			}

			a, err := one.Digest()
			if err != nil {
				t.Fatal(err)
			}
			if b, err := two.Digest(); err != nil || a != b {
				t.Errorf("%s for %s: %s and %s, %v", img.Refs[0], system, a, b, err)
			}

			m, err := one.Index.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			first, err := one.Index.Image(m.Manifests[0].Digest)
			if err != nil {
				t.Fatal(err)
			}

			cfg, err := first.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if cfg.OS != system || cfg.Config.Labels[LabelStandIn] != img.StandIn ||
				len(cfg.Config.Entrypoint)+len(cfg.Config.Cmd) == 0 || !slices.Equal(one.Refs, img.Refs) {
				t.Errorf("%s for %s: %+v", img.Refs[0], system, cfg.Config)
			}
		}
	}
}

// imageOf returns the first image in the index of img.
func imageOf(t *testing.T, b *Builder, ref, system string) v1.Image {
	t.Helper()
	i := slices.IndexFunc(All(), func(i Image) bool { return strings.Contains(i.Refs[0], "/"+ref+":") })
	made, err := b.Build(t.Context(), All()[i], system)
	if err != nil {
		t.Fatal(err)
	}
	return firstOf(t, made.Index)
}

func firstOf(t *testing.T, index v1.ImageIndex) v1.Image {
	t.Helper()
	m, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	img, err := index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// layersOf returns the digests of an image's layers, lowest first.
func layersOf(t *testing.T, img v1.Image) []string {
	t.Helper()
	manifest, err := img.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	var digests []string
	for _, l := range manifest.Layers {
		digests = append(digests, l.Digest.String())
	}
	return digests
}

// TestLayersAreShared makes sure that the large programs are in few layers, which images with the same programs share.
func TestLayersAreShared(t *testing.T) {
	b := NewBuilder(built(t))
	for _, system := range []string{Windows, Linux} {
		tools := layersOf(t, imageOf(t, b, "busybox", system))
		agnhost := layersOf(t, imageOf(t, b, "agnhost", system))
		kitten := layersOf(t, imageOf(t, b, "kitten", system))
		if len(agnhost) != len(tools)+2 || len(kitten) != len(agnhost)+1 ||
			!slices.Equal(agnhost[:len(tools)], tools) || !slices.Equal(kitten[:len(agnhost)], agnhost) {
			t.Errorf("%s: busybox %v, agnhost %v, kitten %v: want each to begin with the one before", system, tools,
				agnhost, kitten)
		}
	}

	for _, img := range All() {
		for system := range img.Content {
			if _, err := b.Build(t.Context(), img, system); err != nil {
				t.Fatal(err)
			}
		}
	}

	// For each system tools, agnhost, its registry and what the image in that has more, nginx, pause, consumer, kitten
	// and nautilus.
	if want := 2 * 9; len(b.layers) != want {
		t.Errorf("%d layers are made for all images, want %d", len(b.layers), want)
	}
}

func TestMissing(t *testing.T) {
	dir := built(t)
	if err := os.Remove(filepath.Join(dir, "windows", "busybox.exe")); err != nil {
		t.Fatal(err)
	}
	err := Missing(dir)
	var missing *MissingError
	if !errors.As(err, &missing) || len(missing.Paths) != 1 || !strings.HasSuffix(missing.Paths[0], "busybox.exe") {
		t.Errorf("got %v", err)
	}

	if _, err := NewBuilder(dir).Build(t.Context(), All()[0], Windows); err == nil {
		t.Error("an image is made without its program")
	}
	if _, err := NewBuilder(dir).Build(t.Context(), All()[0], "plan9"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another system: %v", err)
	}
}

// TestToolsAreThere compares the names in the images with the existing programs.
func TestToolsAreThere(t *testing.T) {
	source, err := os.ReadFile("../../../test/images/busybox/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tools() {
		if !strings.Contains(string(source), `"`+name+`": `) {
			t.Errorf("%s is linked in the images, and is no program of test/images/busybox", name)
		}
	}
}

// TestPrograms runs the tests of the images' programs, which are a module of their own.
func TestPrograms(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "-C", "../../../test/images", "test", "-vet=off",
		"./...").CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
