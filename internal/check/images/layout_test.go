package images_test

import (
	"archive/tar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/check/images"
)

// writeFile writes a file of the folder that DOCKER_CONFIG names.
func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(os.Getenv("DOCKER_CONFIG"), file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ociLayout writes a layout with an index under a name.
func ociLayout(t *testing.T, key, ref string, idx v1.ImageIndex) string {
	t.Helper()
	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.AppendIndex(idx, layout.WithAnnotations(map[string]string{key: ref})); err != nil {
		t.Fatal(err)
	}
	return dir
}

// pack makes a tar archive of a folder.
func pack(t *testing.T, dir string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "images.tar")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	if err := w.AddFS(os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestLayouts(t *testing.T) {
	want := []string{"linux/amd64", "windows/amd64 10.0.20348.2762"}
	named := ociLayout(t, "org.opencontainers.image.ref.name", "example.com/app:1",
		index(t, true, "windows/amd64:10.0.20348.2762", "linux/amd64"))
	contain := ociLayout(t, "io.containerd.image.name", "docker.io/library/app:latest",
		index(t, false, "windows/amd64:10.0.20348.2762", "linux/amd64"))
	for path, ref := range map[string]string{
		named: "example.com/app:1", pack(t, named): "example.com/app:1",
		contain: "app", pack(t, contain): "index.docker.io/library/app:latest",
	} {
		f := finder(t, images.Options{Offline: true, Layouts: []string{path}})
		got, err := f.Platforms(t.Context(), ref)
		if diff := cmp.Diff(want, texts(got)); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", path, err, diff)
		}
		if got, err := f.Platforms(t.Context(), "example.com/other:1"); got != nil || err != nil {
			t.Errorf("another image: %v, %v", got, err)
		}
	}

	docker := filepath.Join(t.TempDir(), "docker.tar")
	tag, err := name.NewTag("web:2")
	if err != nil {
		t.Fatal(err)
	}

	if err := tarball.WriteToFile(docker, tag, image(t, v1.Platform{
		OS:           "windows",
		Architecture: "amd64",
		OSVersion:    "10.0.17763.1",
	})); err != nil {
		t.Fatal(err)
	}

	got, err := finder(t, images.Options{
		Offline: true,
		Layouts: []string{docker},
	}).Platforms(t.Context(), "docker.io/library/web:2")
	if err != nil || len(got) != 1 || got[0].String() != "windows/amd64 10.0.17763.1" {
		t.Errorf("docker save: %v, %v", got, err)
	}
}

func TestBadLayouts(t *testing.T) {
	folder := func(files map[string]string) string {
		dir := t.TempDir()
		for file, text := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		return dir
	}

	zero := strings.Repeat("0", 64)
	one := `{"manifests":[{"digest":"sha256:` + zero + `","annotations":{"org.opencontainers.image.ref.name":"example.com/app:1"}}]}`
	linked := folder(map[string]string{"index.json": one, "blobs/sha256/x": ""})
	if err := os.Symlink("/etc/hostname", filepath.Join(linked, "blobs/sha256", zero)); err != nil {
		t.Fatal(err)
	}

	for want, path := range map[string]string{
		"no such file":       filepath.Join(t.TempDir(), "none"),
		"neither index.json": folder(nil),
		"index.json:":        folder(map[string]string{"index.json": "["}),
		"names without a repo": ociLayout(t, "org.opencontainers.image.ref.name", "v1",
			index(t, true, "linux/amd64")),
		"no such file or":          folder(map[string]string{"index.json": one}),
		"not sha256:0000":          folder(map[string]string{"index.json": one, "blobs/sha256/" + zero: "{}"}),
		"longer than 8 MiB":        folder(map[string]string{"index.json": strings.Repeat(" ", 9<<20)}),
		"escapes":                  linked,
		"unpack it first":          filepath.Join(folder(map[string]string{"x.tgz": "\x1f\x8b" + zero}), "x.tgz"),
		"manifest.json:":           folder(map[string]string{"manifest.json": "{"}),
		"path escapes from parent": folder(map[string]string{"manifest.json": `[{"Config":"../../x"}]`}),
	} {
		_, err := images.New(t.Context(), images.Options{Offline: true, Layouts: []string{path}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want %q", err, want)
		}
	}
}
