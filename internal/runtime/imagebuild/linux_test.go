package imagebuild

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// theImage returns the only manifest of a Linux image, with its platform.
func theImage(t *testing.T, i *Image) (v1.Image, *v1.Platform) {
	t.Helper()
	m, err := i.Index.IndexManifest()
	if err != nil || len(m.Manifests) != 1 {
		t.Fatalf("%d manifests, %v; want one", len(m.Manifests), err)
	}
	img, err := i.Index.Image(m.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img, m.Manifests[0].Platform
}

// entries returns the files of the image's only layer: mode, owner, name and a link's target.
func entries(t *testing.T, img v1.Image) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v; want one", len(layers), err)
	}
	r, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}

	defer r.Close()

	var got []string
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}

		got = append(got, strings.TrimSpace(h.FileInfo().Mode().String()+" "+h.Name+" "+h.Linkname))
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s: owner %d:%d, time %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
	}
}

func TestLinuxFolder(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"bin/server": 0o700, "etc/A.conf": 0o600, "etc/a.conf": 0o666,
		"con": 0o644, SpecFile: 0o644,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), mode); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink("server", filepath.Join(dir, "bin/alias")); err != nil {
		t.Fatal(err)
	}

	o := Options{
		Dir: dir,
		Spec: Spec{
			OS:     Linux,
			Tags:   []string{"app:v1"},
			Target: "/opt/app/",
			User:   "1000:1000",
			Cmd:    []string{"x"},
		},
	}

	built := build(t, o)
	img, platform := theImage(t, built)
	if platform.OS != "linux" || platform.Architecture != "amd64" || platform.OSVersion != "" {
		t.Errorf("platform %v", platform)
	}

	want := []string{
		"drwxr-xr-x opt/", "drwxr-xr-x opt/app/", "drwxr-xr-x opt/app/bin/", "Lrwxrwxrwx opt/app/bin/alias server",
		"-rwxr-xr-x opt/app/bin/server",
		"-rw-r--r-- opt/app/con", "drwxr-xr-x opt/app/etc/", "-rw-r--r-- opt/app/etc/A.conf",
		"-rw-r--r-- opt/app/etc/a.conf",
	}
	if diff := cmp.Diff(want, entries(t, img)); diff != "" {
		t.Error(diff)
	}

	cfg, err := img.ConfigFile()
	if err != nil || cfg.OS != "linux" || cfg.Config.User != "1000:1000" || cfg.Config.Labels[LabelBase] != "" {
		t.Errorf("configuration %+v, %v", cfg, err)
	}

	first, err := built.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := build(t, o).Digest(); err != nil || again != first {
		t.Errorf("a second build is %s, the first %s (%v)", again, first, err)
	}
}

func TestLinuxProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server")
	if err := os.WriteFile(path, []byte("ELF"), 0o755); err != nil {
		t.Fatal(err)
	}
	img, _ := theImage(t, build(t, Options{Dir: path, Spec: Spec{OS: Linux, Tags: []string{"app:v1"}}}))
	if diff := cmp.Diff([]string{"-rwxr-xr-x server"}, entries(t, img)); diff != "" {
		t.Error(diff)
	}
	if cfg, err := img.ConfigFile(); err != nil || !cmp.Equal(cfg.Config.Entrypoint, []string{"/server"}) {
		t.Errorf("entrypoint %v, %v", cfg.Config.Entrypoint, err)
	}
}

func TestLinuxRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		name, dir, want string
		spec            Spec
	}{
		{"no_program", filepath.Join(dir, "file"), "neither a folder nor a program", Spec{OS: Linux}},
		{"windows_versions", dir, "osVersions: an image for Linux has none", Spec{
			OS:         Linux,
			OSVersions: []string{"ltsc2022"},
		}},
		{"relative_target", dir, `target: "app"`, Spec{OS: Linux, Target: "app"}},
		{"target_leads_out", dir, `target: "/../x"`, Spec{OS: Linux, Target: "/../x"}},
		{"unknown_system", dir, `os: "plan9": want windows or linux`, Spec{OS: "plan9"}},
		{"a_file_for_windows", filepath.Join(dir, "file"), "is not one", Spec{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Tags = []string{"a:b"}
			_, err := Build(t.Context(), Options{Dir: tt.dir, Spec: tt.spec})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !errdefs.IsInvalidArgument(err) {
				t.Errorf("err = %v, want an invalid argument and %q", err, tt.want)
			}
		})
	}
}
