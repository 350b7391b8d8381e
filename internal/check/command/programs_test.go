package command_test

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/klauspost/compress/zstd"

	"mullion.dev/mullion/internal/check/command"
	"mullion.dev/mullion/internal/windows/pefile"
	"mullion.dev/mullion/internal/windows/pefile/petest"
)

// program returns a program that imports libraries.
func program(libraries ...string) string {
	var f petest.File
	for _, l := range libraries {
		f.Imports = append(f.Imports, pefile.Import{Library: l, Functions: []pefile.Function{{Ordinal: 1}}})
	}
	return string(f.Bytes())
}

// windowsLayer returns a layer of "PATH", "TEXT" pairs.
func windowsLayer(t *testing.T, zst bool, pairs ...string) v1.Layer {
	t.Helper()
	var b bytes.Buffer
	var out io.WriteCloser = struct {
		io.Writer
		io.Closer
	}{&b, io.NopCloser(nil)}

	if zst {
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		out = z
	}

	w := tar.NewWriter(out)
	for i := 0; i < len(pairs); i += 2 {
		h := &tar.Header{
			Name:     pairs[i],
			Typeflag: tar.TypeReg,
			Mode:     0o644,
			Size:     int64(len(pairs[i+1])),
		}
		if to, ok := strings.CutPrefix(pairs[i+1], "-> "); ok {
			h.Typeflag = tar.TypeLink
			h.Linkname = to
			h.Size = 0
			pairs[i+1] = ""
		}

		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}

		if _, err := io.WriteString(w, pairs[i+1]); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if zst {
		if err := out.Close(); err != nil {
			t.Fatal(err)
		}
	}

	l, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return l
}

func windowsImage(t *testing.T, system string, layers ...v1.Layer) v1.Image {
	t.Helper()
	img, err := mutate.AppendLayers(empty.Image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	c, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}

	c.OS, c.Architecture = system, "amd64"
	if img, err = mutate.ConfigFile(img, c); err != nil {
		t.Fatal(err)
	}
	return img
}

// check runs `check programs` on a path and returns the text without the rules' own words.
func checkPrograms(t *testing.T, code int, path string) []string {
	t.Helper()
	var out strings.Builder
	got, err := command.Programs(t.Context(), command.Options{Paths: []string{path}, Dir: t.TempDir()}, nil, &out)
	if err != nil || got.Code() != code {
		t.Errorf("code %d, error %v\n%s", got.Code(), err, out.String())
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "      ") {
			lines = append(lines, strings.TrimSpace(strings.ReplaceAll(line, path, "PATH")))
		}
	}
	return lines[:max(0, len(lines)-1)]
}

func TestProgramsOfAnImage(t *testing.T) {
	const missing = "1:1 error: a library is not there, so the program does not start: "
	base := windowsLayer(t, false, "Files/Windows/System32/ntdll.dll", program("old1.dll"), "Files/Windows/System32/calc.exe",
		program("old2.dll"), "Files/tool.exe", program("tool.dll"))
	lower := windowsLayer(t, false, "Files/app/a.exe", program("nosuch.dll"), "Files/app/gone.exe", program("nosuch.dll"),
		"Files/all/x.exe", program("nosuch.dll"), "Files/app/again.exe", program("nosuch.dll"),
		"Files/app/b.exe", "-> Files/app/a.exe", "Hives/x.exe", program("hive.dll"), "UtilityVM/y.exe", program("vm.dll"))

	upper := windowsLayer(t, true, "Files/app/.wh.Gone.exe", "", "Files/all/.wh..wh..opq", "", "Files/App/AGAIN.exe", program())
	img := windowsImage(t, "windows", base, lower, upper)
	want := []string{
		"Image example.com/app:v1 (PATH)",
		missing + `C:\app\a.exe wants nosuch.dll [program-missing-library]`,
		missing + `C:\app\b.exe wants nosuch.dll [program-missing-library]`,
		missing + `C:\tool.exe wants tool.dll [program-missing-library]`,
	}

	dir := t.TempDir()
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		t.Fatal(err)
	}

	named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": "example.com/app:v1"})
	for _, i := range []v1.Image{img, windowsImage(t, "linux", lower), img} {
		if err := p.AppendImage(i, named); err != nil {
			t.Fatal(err)
		}
	}

	if diff := cmp.Diff(want, checkPrograms(t, command.CodeFindings, dir)); diff != "" {
		t.Errorf("layout (-want +got):\n%s", diff)
	}

	saved := filepath.Join(t.TempDir(), "saved.tar")
	tag, err := name.NewTag("example.com/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(saved, tag, img); err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(want, checkPrograms(t, command.CodeFindings, saved)); diff != "" {
		t.Errorf("docker save (-want +got):\n%s", diff)
	}

	// A layer that is not what its digest says.
	digest, err := lower.Digest()
	if err != nil {
		t.Fatal(err)
	}

	other := windowsLayer(t, true, "Files/app/a.exe", program())
	r, err := other.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}

	if err := os.WriteFile(filepath.Join(dir, "blobs/sha256", digest.Hex), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(checkPrograms(t, command.CodeUnreadable, dir), "\n"); !strings.Contains(got, "the content of layer "+digest.String()) {
		t.Errorf("a changed layer: %s", got)
	}
}

func TestProgramsOfAFolder(t *testing.T) {
	dir := t.TempDir()
	for file, text := range map[string]string{"a.exe": program("nosuch.dll"), "b.txt": "text", "sub/nosuch.dll": "not a library"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	const missing = "1:1 error: a library is not there, so the program does not start: a.exe wants nosuch.dll [program-missing-library]"
	want := []string{"Folder " + filepath.Base(dir) + " (PATH)", missing}
	if diff := cmp.Diff(want, checkPrograms(t, command.CodeFindings, dir)); diff != "" {
		t.Errorf("folder (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Program a.exe (PATH)", missing}, checkPrograms(t, command.CodeFindings, filepath.Join(dir, "a.exe"))); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}

	for _, path := range []string{filepath.Join(dir, "b.txt"), filepath.Join(dir, "none"), filepath.Join(dir, "sub")} {
		if got := checkPrograms(t, command.CodeUnreadable, path); len(got) != 1 {
			t.Errorf("%s: %q", path, got)
		}
	}
}
