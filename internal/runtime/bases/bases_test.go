package bases_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"mullion.dev/mullion/internal/runtime/bases"
	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// server is a registry on loopback. asked are the paths that were asked for with GET.
type server struct {
	address string
	asked   []string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	handler := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)))
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			s.asked = append(s.asked, r.URL.Path)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	s.address = strings.TrimPrefix(web.URL, "http://")
	return s
}

// layerOf makes a layer of files; a name that ends with a slash is a folder.
func layerOf(t *testing.T, files map[string]string) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}

	slices.Sort(names)

	for _, name := range names {
		h := &tar.Header{
			Name:     name,
			Typeflag: tar.TypeReg,
			Size:     int64(len(files[name])),
			Mode:     0o644,
		}
		if strings.HasSuffix(name, "/") {
			h.Typeflag, h.Mode = tar.TypeDir, 0o755
		}

		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, files[name]); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(out.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return l
}

// windowsImage has a layer of Windows' own, and one of an application. kind is the media type of the first.
func windowsImage(t *testing.T, osVersion string, kind types.MediaType) v1.Image {
	t.Helper()
	add := mutate.Addendum{
		Layer:     layerOf(t, map[string]string{"Files/": "", "Files/Windows/": "", "Files/Windows/kernel32.dll": "real"}),
		History:   v1.History{CreatedBy: "Apply image " + osVersion},
		MediaType: kind,
	}
	if !kind.IsDistributable() {
		add.URLs = []string{"https://example.invalid/layer"}
	}

	app := mutate.Addendum{
		Layer:   layerOf(t, map[string]string{"Files/": "", "Files/app/": "", "Files/app/tool.exe": "tool", "Hives/": ""}),
		History: v1.History{CreatedBy: "COPY tool.exe"},
	}
	return imageOf(t, &v1.ConfigFile{
		OS: "windows", Architecture: "amd64", OSVersion: osVersion,
		Config: v1.Config{
			Env:  []string{"BASE=1"},
			User: "ContainerUser",
			Cmd:  []string{"cmd.exe"},
		},
	}, add, app)
}

func imageOf(t *testing.T, config *v1.ConfigFile, adds ...mutate.Addendum) v1.Image {
	t.Helper()
	config.RootFS.Type = "layers"
	img, err := mutate.ConfigFile(empty.Image, config)
	if err == nil {
		img, err = mutate.Append(img, adds...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func (s *server) write(t *testing.T, tag string, what remote.Taggable) string {
	t.Helper()
	ref, err := name.ParseReference(s.address + "/" + tag)
	if err != nil {
		t.Fatal(err)
	}

	if index, ok := what.(v1.ImageIndex); ok {
		err = remote.WriteIndex(ref, index)
	} else {
		err = remote.Write(ref, what.(v1.Image), remote.WithNondistributable)
	}
	if err != nil {
		t.Fatal(err)
	}

	return ref.Name()
}

// build builds a Dockerfile with a finder.
func build(t *testing.T, f *bases.Finder, text string) (*imagebuild.Image, string, error) {
	t.Helper()
	dir := t.TempDir()
	f.Scratch = t.TempDir()
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(text), 0o644),
		os.WriteFile(filepath.Join(dir, "a.txt"), []byte("A"), 0o644),
	); err != nil {
		t.Fatal(err)
	}

	cache, err := buildcache.Open(t.Context(), buildcache.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })

	var said strings.Builder
	img, err := dockerfile.Build(t.Context(), dockerfile.Options{
		File:    filepath.Join(dir, "Dockerfile"),
		Name:    "Dockerfile",
		Context: dir,
		Scratch: t.TempDir(),
		Tags:    []string{"mullion.local/a:b"},
		Cache:   cache,
		Base:    f.Find,
		Real:    f.Real,
		Say:     func(e dockerfile.Event) { fmt.Fprintln(&said, e.Step, e.Warning) },
	})

	return img, said.String(), err
}

func only(t *testing.T, img *imagebuild.Image) (v1.Image, *v1.ConfigFile, []string) {
	t.Helper()
	index, err := img.Index.IndexManifest()
	if err != nil || len(index.Manifests) != 1 {
		t.Fatal(index, err)
	}
	one, err := img.Index.Image(index.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}

	config, err := one.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	layers, err := one.Layers()
	if err != nil {
		t.Fatal(err)
	}

	var files []string
	for _, l := range layers {
		if digest, err := l.Digest(); err != nil || img.Elsewhere[digest] {
			continue
		}
		plain, err := l.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}

		for r := tar.NewReader(plain); ; {
			h, err := r.Next()
			if err != nil {
				break
			}
			if h.Typeflag == tar.TypeReg {
				files = append(files, h.Name)
			}
		}

		_ = plain.Close()
	}

	return one, config, files
}

const version = "10.0.20348.2762"

// An image of a registry is built on: its configuration and its own layers, without Windows', which is not fetched.
func TestOnAnImageOfARegistry(t *testing.T) {
	s := newServer(t)
	base := windowsImage(t, version, types.DockerLayer)
	ref := s.write(t, "app:1", base)
	layers, err := base.Layers()
	if err != nil {
		t.Fatal(err)
	}

	windows, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	s.asked = nil

	img, _, err := build(t, &bases.Finder{}, "FROM "+ref+"\nCOPY a.txt /app/\nENV OWN=2")
	if err != nil {
		t.Fatal(err)
	}
	_, config, files := only(t, img)
	if !slices.Equal(files, []string{"Files/app/tool.exe", "Files/app/a.txt"}) || config.OSVersion != version ||
		!slices.Equal(config.Config.Env, []string{"BASE=1", "OWN=2"}) || config.Config.User != "ContainerUser" {
		t.Errorf("%v, %+v", files, config)
	}

	if strings.Contains(strings.Join(s.asked, " "), windows.String()) {
		t.Errorf("Windows' own layer was fetched: %v", s.asked)
	}
	if config.Config.Labels[imagebuild.LabelBase] != imagebuild.BaseStandIn {
		t.Errorf("labels %v", config.Config.Labels)
	}
}

// Of an image for several builds the wanted one is taken, or else the newest.
func TestOfSeveralBuilds(t *testing.T) {
	s := newServer(t)
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, v := range []string{"10.0.17763.1", "10.0.20348.9", "10.0.20348.10", "10.0.26100.5"} {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: windowsImage(t, v, types.DockerLayer),
			Descriptor: v1.Descriptor{Platform: &v1.Platform{
				OS:           "windows",
				Architecture: "amd64",
				OSVersion:    v,
			}},
		})
	}

	ref := s.write(t, "app:many", index)

	for wanted, want := range map[string]string{
		"ltsc2022": "10.0.20348.10", "ltsc2019": "10.0.17763.1", "ltsc2025": "10.0.26100.5", "1803": "10.0.26100.5",
	} {
		f := &bases.Finder{Windows: wanted}
		found, err := f.Find(t.Context(), ref, imagebuild.Windows)
		if err != nil {
			t.Fatal(err)
		}
		if config, err := found.Image.ConfigFile(); err != nil || config.OSVersion != want {
			t.Errorf("%s: %v, %v, want %s", wanted, config.OSVersion, err, want)
		}
	}
}

// --base real keeps the manifest's layers with their kinds and addresses, and pushing takes them from the base's
// registry, whether the image comes from the build or from an archive.
func TestReal(t *testing.T) {
	for _, kind := range []types.MediaType{types.DockerLayer, types.DockerForeignLayer, types.OCILayer} {
		from, to := newServer(t), newServer(t)
		base := windowsImage(t, version, kind)
		ref := from.write(t, "windows:1", base)

		img, _, err := build(t, &bases.Finder{Real: true}, "FROM "+ref+"\nCOPY a.txt /app/")
		if err != nil {
			t.Fatal(err)
		}
		one, config, files := only(t, img)
		manifest, err := one.Manifest()
		if err != nil {
			t.Fatal(err)
		}

		own, err := base.Manifest()
		if err != nil {
			t.Fatal(err)
		}
		if len(manifest.Layers) != 3 || manifest.Layers[0].Digest != own.Layers[0].Digest ||
			manifest.Layers[0].MediaType != kind || !slices.Equal(manifest.Layers[0].URLs, own.Layers[0].URLs) ||
			manifest.Layers[1].Digest != own.Layers[1].Digest {
			t.Errorf("%s: layers %+v", kind, manifest.Layers)
		}

		if len(config.RootFS.DiffIDs) != 3 || !slices.Contains(files, "Files/app/a.txt") ||
			config.Config.Labels[imagebuild.LabelBase] != "" || len(config.History) != 3 {
			t.Errorf("%s: %v, %+v", kind, files, config)
		}

		registry := bases.Registry{}
		if _, err := registry.Push(t.Context(), to.address+"/built:1", bases.Single{Index: img.Index}); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		var archive bytes.Buffer
		if err := img.WriteArchive(&archive); err != nil {
			t.Fatal(err)
		}

		dir := t.TempDir()
		if err := bases.Unpack(&archive, dir); err != nil {
			t.Fatal(err)
		}
		other := newServer(t)
		if _, err := registry.PushLayout(t.Context(), other.address+"/archived:1", dir); err != nil {
			t.Errorf("%s: %v", kind, err)
		}

		for _, pushed := range []string{to.address + "/built:1", other.address + "/archived:1"} {
			named, err := name.ParseReference(pushed)
			if err != nil {
				t.Fatal(err)
			}
			index, err := remote.Index(named)
			if err != nil {
				t.Fatal(err)
			}

			first, err := index.Image(manifestDigest(t, one))
			if err != nil {
				t.Fatal(err)
			}
			layers, err := first.Layers()
			if err != nil {
				t.Fatal(err)
			}

			bytes, err := layers[0].Compressed()
			if err == nil {
				_ = bytes.Close()
			}
			if (err == nil) != kind.IsDistributable() {
				t.Errorf("%s: %s: Windows' layer: %v", kind, pushed, err)
			}
		}
	}
}

func manifestDigest(t *testing.T, img v1.Image) v1.Hash {
	t.Helper()
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// What has no layers of Windows is refused where they are wanted, before anything runs.
func TestRealOfNothing(t *testing.T) {
	for _, text := range []string{"FROM scratch", "FROM 127.0.0.1:1/none:1"} {
		_, _, err := build(t, &bases.Finder{Real: true}, text)
		if err == nil || !strings.HasPrefix(err.Error(), "Dockerfile:1: "+text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Files of an image for Linux are copied, by a stage and without one; what Windows cannot name is said to be left out.
func TestFilesOfLinux(t *testing.T) {
	s := newServer(t)
	img := imageOf(t, &v1.ConfigFile{OS: "linux", Architecture: "amd64"}, mutate.Addendum{Layer: layerOf(t, map[string]string{
		"usr/": "", "usr/bin/": "", "usr/bin/tool": "T", "usr/share/a:b": "odd", "../../etc/x": "out", "etc/.wh.gone": "",
	})})
	ref := s.write(t, "linux:1", img)

	for _, text := range []string{
		"FROM --platform=linux/amd64 " + ref + " AS tools\nWORKDIR /x\nCOPY a.txt .\nFROM scratch\n" +
			"COPY --from=tools /usr/bin/tool C:/tool.exe\nCOPY --from=tools /x/a.txt /usr /",
		"FROM scratch\nCOPY --from=" + ref + " /usr/bin/tool C:/tool.exe\nCOPY --from=" + ref + " /usr /\nCOPY a.txt /",
	} {
		got, said, err := buildMany(t, text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(got, "Files/tool.exe") || !slices.Contains(got, "Files/a.txt") ||
			!strings.Contains(said, `1 files are left out, such as "share/a:b"`) {
			t.Errorf("%v\n%s", got, said)
		}
	}

	_, _, err := build(t, &bases.Finder{}, "FROM "+ref)
	if err == nil || !strings.Contains(err.Error(), "say FROM --platform=linux/amd64") {
		t.Error(err)
	}
}

// buildMany builds an image for all builds, and lists the files of the first.
func buildMany(t *testing.T, text string) ([]string, string, error) {
	t.Helper()
	img, said, err := build(t, &bases.Finder{}, text)
	if err != nil {
		return nil, said, err
	}
	index, err := img.Index.IndexManifest()
	if err != nil {
		return nil, said, err
	}

	img.Index = mutate.RemoveManifests(img.Index, func(d v1.Descriptor) bool {
		return d.Digest != index.Manifests[0].Digest
	})
	_, _, files := only(t, img)
	return files, said, nil
}

// What the machine has comes before what stands in for it, unless it only stands in too.
func TestSaved(t *testing.T) {
	const ref = "mcr.microsoft.com/windows/nanoserver:ltsc2022"
	saved := func(img v1.Image, label string) func(context.Context, string, io.Writer) error {
		return func(_ context.Context, asked string, to io.Writer) error {
			if asked != ref {
				return fmt.Errorf("no %s: %w", asked, errdefs.ErrNotFound)
			}
			config, err := img.ConfigFile()
			if err != nil {
				return err
			}

			config = config.DeepCopy()
			config.Config.Labels = map[string]string{imagebuild.LabelBase: label}
			one, err := mutate.ConfigFile(img, config)
			if err != nil {
				return err
			}

			platform := &v1.Platform{
				OS:           "windows",
				Architecture: "amd64",
				OSVersion:    version,
			}

			none := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
			built := imagebuild.Image{
				Refs: []string{ref},
				Index: mutate.AppendManifests(none, mutate.IndexAddendum{
					Add:        one,
					Descriptor: v1.Descriptor{Platform: platform},
				}),
			}

			return built.WriteArchive(to)
		}
	}

	img := windowsImage(t, version, types.DockerLayer)
	for label, want := range map[string]bool{"": true, imagebuild.BaseStandIn: false} {
		f := &bases.Finder{Saved: saved(img, label), Scratch: t.TempDir()}
		found, err := f.Find(t.Context(), ref, imagebuild.Windows)
		if err != nil || (found.Image != nil) != want {
			t.Errorf("%q: %+v, %v", label, found, err)
		}
	}

	broken := &bases.Finder{Scratch: t.TempDir(), Saved: func(context.Context, string, io.Writer) error {
		return errors.New("broken")
	}}
	_, err := broken.Find(t.Context(), ref, imagebuild.Windows)
	if err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

// An archive is unpacked to its own folder alone.
func TestUnpackOdd(t *testing.T) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, h := range []tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg, Size: 1},
		{Name: "/etc/out", Typeflag: tar.TypeReg, Size: 1},
		{Name: "blobs/sha256/../../../out", Typeflag: tar.TypeReg, Size: 1},
		{Name: "blobs/sha256/" + strings.Repeat("a", 64), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"},
		{Name: "index.json", Typeflag: tar.TypeReg, Size: 1},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			if _, err := io.WriteString(w, "x"); err != nil {
				t.Fatal(err)
			}
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	if err := bases.Unpack(&archive, filepath.Join(parent, "dir")); err != nil {
		t.Fatal(err)
	}

	var found []string
	_ = filepath.WalkDir(parent, func(at string, e os.DirEntry, _ error) error {
		if !e.IsDir() {
			found = append(found, strings.TrimPrefix(at, parent))
		}
		return nil
	})
	if !slices.Equal(found, []string{"/dir/index.json"}) {
		t.Errorf("%q", found)
	}
}
