package imagebuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/containerd/errdefs"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"gotest.tools/v3/golden"
)

// folder makes the files of the golden image, with times and modes that must not matter.
func folder(t *testing.T, at time.Time) string {
	t.Helper()
	dir := t.TempDir()
	for name, body := range map[string]string{
		"app/server.exe": "MZ" + strings.Repeat("\x90", 3000), "app/Data/readme.txt": "hello\r\n", "ü.txt": "umlaut",
		SpecFile: "tags: [x]",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(body), 0o644); err != nil {
			t.Fatal(err)
		}

		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chmod(filepath.Join(dir, "app/Data/readme.txt"), 0o444); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{"app/current": "Data", "app/Data/exe": "../server.exe"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

func goldenOptions(dir string) Options {
	return Options{
		Dir:     dir,
		Created: time.Unix(1700000000, 0),
		Spec: Spec{
			Tags:         []string{"mullion.local/golden:v1", "golden:latest"},
			OSVersions:   []string{"10.0.17763.6414", "10.0.20348.2762"},
			Entrypoint:   []string{`C:\app\server.exe`},
			Cmd:          []string{"-v"},
			Env:          []string{"A=1", "B=x=y"},
			WorkingDir:   `C:\app`,
			User:         "ContainerUser",
			ExposedPorts: []string{"80", "53/udp"},
			Labels:       map[string]string{"title": "golden"},
		},
	}
}

func build(t *testing.T, o Options) *Image {
	t.Helper()
	img, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// describeImage returns the image as text: layers entry by entry, diff IDs, configuration. What Go's compressor decides
// (blob digests) is left out, for it may change with Go.
func describeImage(t *testing.T, i *Image) string {
	t.Helper()
	var b strings.Builder
	m, err := i.Index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}

	fmt.Fprintf(&b, "refs %s\nindex %s\n", strings.Join(i.Refs, " "), m.MediaType)
	for n, d := range m.Manifests {
		img, err := i.Index.Image(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := img.RawConfigFile()
		if err != nil {
			t.Fatal(err)
		}

		id, err := img.ConfigName()
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\nmanifest %s %s/%s %s\nid %s\n%s\n", d.MediaType, d.Platform.OS, d.Platform.Architecture,
			d.Platform.OSVersion, id, raw)
		if n > 0 {
			continue // the layers are the same
		}

		layers, err := img.Layers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			describeLayer(t, &b, l)
		}
	}

	return b.String()
}

func describeLayer(t *testing.T, b *strings.Builder, l v1.Layer) {
	t.Helper()
	id, err := l.DiffID()
	if err != nil {
		t.Fatal(err)
	}
	mt, err := l.MediaType()
	if err != nil {
		t.Fatal(err)
	}

	fmt.Fprintf(b, "layer %s %s\n", mt, id)
	r, err := l.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}

		kind := map[byte]string{tar.TypeReg: "file", tar.TypeDir: "folder", tar.TypeSymlink: "link"}[h.Typeflag]
		fmt.Fprintf(b, "  %s %o %s size=%d attr=%s created=%s sd=%d", kind, h.Mode, h.Name, h.Size,
			h.PAXRecords[paxFileAttr], h.PAXRecords[paxCreationTime], len(h.PAXRecords[paxRawSD]))
		if h.Linkname != "" {
			fmt.Fprintf(b, " -> %s", h.Linkname)
		}
		b.WriteByte('\n')
	}
}

func TestGolden(t *testing.T) {
	golden.Assert(t, describeImage(t, build(t, goldenOptions(folder(t, time.Now())))), "image.golden")
}

func TestDeterministic(t *testing.T) {
	first, second := build(t, goldenOptions(folder(t, time.Unix(1, 0)))),
		build(t, goldenOptions(folder(t, time.Unix(1e9, 0))))
	var a, b bytes.Buffer
	if err := first.WriteArchive(&a); err != nil {
		t.Fatal(err)
	}
	if err := second.WriteArchive(&b); err != nil {
		t.Fatal(err)
	}

	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("the same files make different archives")
	}

	o := goldenOptions(folder(t, time.Unix(1, 0)))
	if err := os.WriteFile(filepath.Join(o.Dir, "more"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d1, err := first.Digest()
	if err != nil {
		t.Fatal(err)
	}

	d2, err := build(t, o).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if d1 == d2 {
		t.Error("other files make the same digest")
	}
}

// TestArchive reads the archive with another implementation of the layout, which checks every digest and size.
func TestArchive(t *testing.T) {
	img := build(t, goldenOptions(folder(t, time.Now())))
	var buf bytes.Buffer
	if err := img.WriteArchive(&buf); err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	tr := tar.NewReader(&buf)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}

		body, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}

		file := filepath.Join(dir, h.Name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, body, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	top, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, d := range top.Manifests {
		names = append(names, d.Annotations[annotationRefName])
		nested, err := index.ImageIndex(d.Digest)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(nested); err != nil {
			t.Errorf("archive is not sound: %v", err)
		}
	}

	if want := []string{"mullion.local/golden:v1", "docker.io/library/golden:latest"}; !slices.Equal(names, want) {
		t.Errorf("names %v, want %v", names, want)
	}
}

// TestBelow builds images on a layer of MakeLayer. The layer equals the one that Build makes of the same files, and
// images above it contain it.
func TestBelow(t *testing.T) {
	o := goldenOptions(folder(t, time.Now()))
	below, err := MakeLayer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}

	alone := o
	alone.Dir, alone.Below = "", []*Layer{below}
	one, two := build(t, o), build(t, alone)
	if a, b := describeImage(t, one), describeImage(t, two); a != b {
		t.Errorf("on a layer made before:\n%s\nwant\n%s", b, a)
	}

	more := alone
	more.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(more.Dir, "more.txt"), []byte("more"), 0o644); err != nil {
		t.Fatal(err)
	}
	blobs, err := build(t, more).blobs()
	if err != nil {
		t.Fatal(err)
	}

	h, err := below.layer.Digest()
	if _, ok := blobs[h]; err != nil || !ok ||
		!strings.Contains(describeImage(t, build(t, more)), "file 100000 Files/more.txt size=4") {
		t.Errorf("files above a layer: %v, %v", blobs, err)
	}

	more.Spec = Spec{OS: Linux, Tags: []string{"x"}}
	if _, err := Build(t.Context(), more); !errors.Is(err, errdefs.ErrInvalidArgument) ||
		!strings.Contains(err.Error(), "another system") {
		t.Errorf("a layer of another system: %v", err)
	}
	if _, err := Build(t.Context(), Options{Spec: more.Spec}); err == nil {
		t.Error("an image is made of nothing")
	}

	if _, err := MakeLayer(t.Context(), Options{Dir: filepath.Join(o.Dir, "none")}); err == nil ||
		!strings.Contains(err.Error(), "make layer from") {
		t.Errorf("a layer of no folder: %v", err)
	}
}

func TestAllBuildsByDefault(t *testing.T) {
	o := goldenOptions(folder(t, time.Now()))
	o.Spec.OSVersions = nil
	all := build(t, o).OSVersions
	o.Spec.OSVersions = []string{"ltsc2022", "2019"}
	two := build(t, o).OSVersions
	if len(all) < 8 || len(two) != 2 || !slices.Contains(all, two[0]) || !strings.HasPrefix(two[1], "10.0.17763.") {
		t.Errorf("all %v, two %v", all, two)
	}
}

func TestRefused(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string) error
		spec func(*Spec)
		want string
	}{
		{"absolute-link", func(_ *testing.T,
			d string,
		) error {
			return os.Symlink("/etc/passwd", filepath.Join(d, "l"))
		}, nil, "only relative links"},
		{
			"link-out", func(_ *testing.T, d string) error { return os.Symlink("../../x", filepath.Join(d, "l")) }, nil,
			"leads out of the folder",
		},
		{"same-name", func(_ *testing.T, d string) error {
			return os.WriteFile(filepath.Join(d, "Ü.TXT"), nil, 0o644)
		}, nil, "same name"},
		{"reserved", func(_ *testing.T, d string) error {
			return os.WriteFile(filepath.Join(d, "nul.txt"), nil,
				0o644)
		}, nil, "names a device"},
		{
			"colon", func(_ *testing.T, d string) error { return os.WriteFile(filepath.Join(d, "a:b"), nil, 0o644) }, nil,
			"not a Windows file name",
		},
		{
			"dot-at-end", func(_ *testing.T, d string) error { return os.WriteFile(filepath.Join(d, "a."), nil, 0o644) },
			nil, "not a Windows file name",
		},
		{
			"whiteout", func(_ *testing.T, d string) error { return os.WriteFile(filepath.Join(d, ".wh.x"), nil, 0o644) },
			nil, "means a deletion",
		},
		{"no-folder", func(_ *testing.T, d string) error { return os.RemoveAll(d) }, nil, "read folder"},
		{"unknown-build", nil, func(s *Spec) { s.OSVersions = []string{"windows95"} }, "windows95"},
		{"same-build-twice", nil, func(s *Spec) { s.OSVersions = []string{"ltsc2022", "2022"} }, "listed twice"},
		{"no-tag", nil, func(s *Spec) { s.Tags = nil }, "no tag"},
		{"bad-tag", nil, func(s *Spec) { s.Tags = []string{"UPPER"} }, "UPPER"},
		{"bad-env", nil, func(s *Spec) { s.Env = []string{"=x"} }, "NAME=value"},
		{"bad-port", nil, func(s *Spec) { s.ExposedPorts = []string{"70000/tcp"} }, "65535"},
		{"unix-user", nil, func(s *Spec) { s.User = "a:b" }, "user:group"},
		{"other-drive", nil, func(s *Spec) { s.Target = `D:\x` }, "C:"},
		{"target-up", nil, func(s *Spec) { s.Target = `C:\x\..\..\y` }, "not a Windows file name"},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := goldenOptions(folder(t, time.Now()))
			if tt.make != nil {
				if err := tt.make(t, o.Dir); err != nil {
					t.Fatal(err)
				}
			}
			if tt.spec != nil {
				tt.spec(&o.Spec)
			}

			if _, err := Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReadSpec(t *testing.T) {
	got, err := ReadSpec("../../../examples/webserver/image.yaml")
	if err != nil || got.Target != `C:\app` || got.User != "ContainerUser" || len(got.Tags) != 1 {
		t.Errorf("sample: %+v, %v", got, err)
	}

	file := filepath.Join(t.TempDir(), SpecFile)
	if err := os.WriteFile(file, []byte("tags: [a]\nentrypont: [x]\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSpec(file); err == nil || !strings.Contains(err.Error(), "line 2") ||
		!strings.Contains(err.Error(), "entrypont") {
		t.Errorf("a misspelt field: %v", err)
	}
}

// TestSecurityDescriptor compares with what Windows' own ConvertStringSecurityDescriptorToSecurityDescriptor gives for
// "O:BAG:SYD:(A;;FA;;;BA)(A;;FA;;;SY)(A;;0x1200a9;;;BU)", as BuildKit carries it (up to the order of two rights).
func TestSecurityDescriptor(t *testing.T) {
	const windows = "AQAEgBQAAAAkAAAAAAAAADAAAAABAgAAAAAABSAAAAAgAgAAAQEAAAAAAAUSAAAAAgBMAAMAAAAAABgA/wEfAAECAAAAAAAFIAAAACACAAAAABQA/wEfAAEBAAAAAAAFEgAAAAAAGACpABIAAQIAAAAAAAUgAAAAIQIAAA=="
	if got := base64.StdEncoding.EncodeToString(securityDescriptor(false)); got != windows {
		t.Errorf("file:\n%s\nwant\n%s", got, windows)
	}
	if got := len(securityDescriptor(true)); got != 20+16+12+8+24+20+20+24+24+24 {
		t.Errorf("folder: %d bytes", got)
	}
}

// TestGzip makes sure that layers really are what their media type says.
func TestGzip(t *testing.T) {
	l, err := makeLayer(func(w io.Writer) error { return WriteWindowsLayer(t.Context(), w, nil, nil, time.Unix(0, 0)) })
	if err != nil {
		t.Fatal(err)
	}
	r, err := l.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()

	if _, err := gzip.NewReader(r); err != nil {
		t.Error(err)
	}
}
