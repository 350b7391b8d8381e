package dockerfile_test

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"mullion.dev/mullion/internal/runtime/buildcache"
	"mullion.dev/mullion/internal/runtime/dockerfile"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

// made is what became of a Dockerfile.
type made struct {
	config v1.ConfigFile
	// files are what the layers put on C:, the later ones in place of the earlier: their text, or "/" for a folder.
	files  map[string]string
	events []dockerfile.Event
	builds []string
	digest string
}

// writeFiles writes the files of a build's folder; a name that ends with a slash is a folder, a text that begins with
// "->" is a link.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		if err == nil {
			switch to, isLink := strings.CutPrefix(text, "->"); {
			case strings.HasSuffix(name, "/"):
				err = os.MkdirAll(at, 0o755)
			case isLink:
				err = os.Symlink(to, at)
			default:
				err = os.WriteFile(at, []byte(text), 0o644)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// cacheAt opens a cache, which is closed at the test's end.
func cacheAt(t *testing.T, dir string) *buildcache.Cache {
	t.Helper()
	cache, err := buildcache.Open(t.Context(), buildcache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })
	return cache
}

// ctxType is short for tests.
type ctxType = context.Context

// try builds a Dockerfile, which is one of the files.
func try(t *testing.T, files map[string]string, with func(*dockerfile.Options)) (made, error) {
	t.Helper()
	return tryIn(t, files, with)
}

// tryIn is try, whose options may change the files.
func tryIn(t *testing.T, files map[string]string, with func(*dockerfile.Options)) (made, error) {
	t.Helper()
	dir := t.TempDir()
	var m made
	o := dockerfile.Options{
		File:    filepath.Join(dir, "Dockerfile"),
		Name:    "Dockerfile",
		Context: dir,
		Scratch: t.TempDir(),
		Tags:    []string{"mullion.local/a:b"},
		Base: func(_ context.Context, ref, _ string) (dockerfile.Base, error) {
			spec, files, ok := image.StandIn(ref)
			if !ok {
				return dockerfile.Base{}, fmt.Errorf("no image %s: %w", ref, errdefs.ErrNotFound)
			}
			return dockerfile.Base{Spec: spec, Files: files}, nil
		},
		Say: func(e dockerfile.Event) { m.events = append(m.events, e) },
	}

	o.Cache = cacheAt(t, t.TempDir())

	if with != nil {
		with(&o)
	}
	writeFiles(t, dir, files)

	img, err := dockerfile.Build(t.Context(), o)
	if err != nil {
		return m, err
	}
	m.builds = img.OSVersions
	if m.digest, err = img.Digest(); err != nil {
		return m, err
	}

	return m, m.read(img)
}

// read reads the image's first manifest.
func (m *made) read(img *imagebuild.Image) error {
	index, err := img.Index.IndexManifest()
	if err != nil {
		return err
	}
	first, err := img.Index.Image(index.Manifests[0].Digest)
	if err != nil {
		return err
	}

	config, err := first.RawConfigFile()
	if err == nil {
		err = json.Unmarshal(config, &m.config)
	}
	if err != nil {
		return err
	}

	layers, err := first.Layers()
	if err != nil {
		return err
	}

	m.files = map[string]string{}
	for _, l := range layers {
		if err := m.readLayer(l); err != nil {
			return err
		}
	}

	return nil
}

func (m *made) readLayer(l v1.Layer) error {
	compressed, err := l.Compressed() // the folder of the build is closed
	if err != nil {
		return err
	}
	defer func() { _ = compressed.Close() }()
	plain, err := gzip.NewReader(compressed)
	if err != nil {
		return err
	}

	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		name, ok := strings.CutPrefix(h.Name, "Files/")
		if !ok {
			continue
		}
		text, err := io.ReadAll(r)
		if err != nil {
			return err
		}

		switch h.Typeflag {
		case tar.TypeDir:
			text = []byte("/")
		case tar.TypeSymlink:
			text = []byte("->" + h.Linkname)
		}

		m.files[name] = string(text)
	}
}

// list returns the files in lines.
func (m made) list() string {
	var lines []string
	for name, text := range m.files {
		lines = append(lines, name+" "+text)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// warnings returns the warnings in lines.
func (m made) warnings() string {
	var lines []string
	for _, e := range m.events {
		if e.Warning != "" {
			lines = append(lines, fmt.Sprintf("%d: %s", e.Line, e.Warning))
		}
	}
	return strings.Join(lines, "\n")
}

const nano = "FROM mcr.microsoft.com/windows/nanoserver:ltsc2022\n"

// The same folder gives the same image.
func TestSameBytes(t *testing.T) {
	digest := func() string {
		m, err := try(t, map[string]string{"Dockerfile": nano + "COPY . /x/", "b": "B", "a": "A"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return m.digest
	}
	if a, b := digest(), digest(); a != b {
		t.Errorf("%s, %s", a, b)
	}
}

// FuzzBuild: no Dockerfile makes a build panic, hang, or put a file elsewhere than on C:.
func FuzzBuild(f *testing.F) {
	for _, text := range []string{
		nano + "COPY . /x/\nCMD a",
		"ARG A\nFROM scratch\nARG A=${B:-c}\nENV D=${A%x}\nWORKDIR $D",
		"# escape=`\nFROM scratch\nCOPY <<A /x\n$B\nA\nEXPOSE 1-65535\nVOLUME [\"a\"]",
		"FROM scratch AS a\nFROM a\nCOPY --from=a * /\nADD a.tar C:\\\\x\\\\",
	} {
		f.Add(text)
	}

	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(strings.ToLower(text), "http") {
			t.Skip("nothing is fetched here")
		}

		m, err := try(t, map[string]string{"Dockerfile": text, "a.txt": "A", "dir/b": "B"}, nil)
		if err != nil {
			return
		}
		for name := range m.files {
			if strings.HasPrefix(name, "/") || slices.Contains(strings.Split(name, "/"), "..") {
				t.Errorf("%q", name)
			}
		}
	})
}
