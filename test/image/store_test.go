//go:build kernel

package image

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/containerd/errdefs"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"mullion.dev/mullion/internal/base/testrun"
	store "mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

func TestPull(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	base := makeLayer(t, entry{name: "Files/Windows/System32/ntdll.dll", body: strings.Repeat("w", 1<<16)})
	update := makeLayer(t, entry{name: "Files/Windows/System32/ntdll.dll", body: "newer"})
	app := makeLayer(
		t,
		entry{name: "Files/"}, entry{name: "Hives/"},
		entry{name: "Files/Windows/"}, entry{name: "Files/Windows/System32/"},
		entry{name: "Files/Windows/System32/KERNEL32.dll", body: "microsoft"},
		entry{name: "Files/Windows/System32/VCRUNTIME140.dll", body: "microsoft"},
		entry{name: "Files/Windows/System32/own.dll", body: "own"},
		entry{name: "Files/App/"}, entry{
			name: "Files/App/app.exe",
			body: "MZ",
			header: tar.Header{PAXRecords: map[string]string{
				"MSWINDOWS.fileattr": "33",
				"MSWINDOWS.rawsd":    "AQAEgA==",
			}},
		},
		entry{name: "Files/Users/ContainerUser/"}, entry{name: "Files/Users/ContainerUser/f", body: "x"},
		entry{name: "Files/link", header: tar.Header{Typeflag: tar.TypeSymlink, Linkname: `C:\app\APP.exe`}},
		entry{name: "Hives/Software_Delta", body: "hive"},
	)

	second := zstdLayer(
		t,
		entry{name: "Files/APP/more.txt", body: "more"},
		entry{name: "Files/app/.wh.app.exe"},
	)

	img := makeImage(
		t, "windows", v2022,
		part{layer: base, history: "Apply image 10.0.20348.2700"},
		part{layer: update, history: "Install update 10.0.20348.2762"},
		part{layer: app, history: "cmd /S /C #(nop) COPY file:x in C:"},
		part{
			layer:     second,
			history:   "cmd /S /C del",
			mediaType: types.OCILayerZStd,
		},
	)
	hub.lose(digestOf(t, base))
	hub.lose(digestOf(t, update))
	ref := hub.push(t, "team/app:v1", img)

	s := open(t, c, v2022)
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}

	wantID, _ := img.ConfigName()
	manifest, _ := img.Digest()
	if info.ID != wantID.String() || !slices.Equal(info.RepoTags, []string{ref}) ||
		!slices.Equal(info.RepoDigests, []string{hub.host + "/team/app@" + manifest.String()}) {
		t.Errorf("info = %+v, want ID %s, tag %s, digest %s", info, wantID, ref, manifest)
	}

	if uid, user := info.User(); uid != nil || user != "ContainerUser" || info.OSVersion != v2022 ||
		len(info.SkippedLayers) != 2 {
		t.Errorf("user %v %q, os.version %q, skipped %v", uid, user, info.OSVersion, info.SkippedLayers)
	}
	for _, d := range []string{digestOf(t, base), digestOf(t, update)} {
		if slices.Contains(hub.fetched, d) {
			t.Errorf("base layer %s has been fetched", d)
		}
	}

	root := mountImage(t, c, info.ChainID)
	want := []string{
		"dtrwxrwxrwx Files",
		"dtrwxrwxrwx Files/App",
		"-rwxr-xr-x Files/App/more.txt",
		"Lrwxrwxrwx Files/link -> App/app.exe",
		"drwxr-xr-x Files/users",
		"drwxr-xr-x Files/users/ContainerUser",
		"-rwxr-xr-x Files/users/ContainerUser/f",
		"drwxr-xr-x Files/windows",
		"drwxr-xr-x Files/windows/system32",
		"-rwxr-xr-x Files/windows/system32/own.dll",
		"-rwxr-xr-x Files/windows/system32/vcruntime140.dll",
		"drwxr-xr-x Hives",
		"-rw-r--r-- Hives/Software_Delta",
	}

	if diff := cmp.Diff(want, tree(t, root)); diff != "" {
		t.Errorf("unpacked image (-want +got):\n%s", diff)
	}

	again, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil || again.ID != info.ID {
		t.Errorf("second pull: %v, %v", again.ID, err)
	}
	if use, err := s.FsInfo(t.Context()); err != nil || use.Bytes == 0 || use.Inodes == 0 ||
		!strings.HasSuffix(use.Path, "overlayfs") {
		t.Errorf("usage %+v, %v", use, err)
	}
}

func TestRemoveLeavesNothing(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	ref := hub.push(t, "app:v1", makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{
		name: "Files/a",
		body: "a",
	})}))

	s := open(t, c, v2022)
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}

	for _, by := range []string{info.ID, info.ID[:15], info.ID[7:19], ref, info.RepoDigests[0]} {
		if got, err := s.Get(t.Context(), by); err != nil || got.ID != info.ID {
			t.Errorf("get by %q: %q, %v", by, got.ID, err)
		}
	}

	if list, err := s.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	if err := s.Remove(t.Context(), info.ID); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context(), info.ID); err != nil {
		t.Errorf("second removal: %v", err)
	}

	if _, err := s.Get(t.Context(), ref); !errdefs.IsNotFound(err) {
		t.Errorf("get after removal: %v", err)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestRefused(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	files := part{layer: makeLayer(t, entry{name: "Files/a", body: "a"})}
	corrupt := makeLayer(t, entry{name: "Files/corrupt", body: strings.Repeat("c", 1000)})
	hub.falsify(digestOf(t, corrupt))
	missing := makeLayer(t, entry{name: "Files/missing", body: "m"})
	hub.lose(digestOf(t, missing))
	tests := []struct {
		name, ref string
		want      []string
	}{
		{
			"linux", hub.push(t, "linux:v1", makeImage(t, "linux", "", part{layer: makeLayer(t, entry{
				name: "bin/sh",
				body: "x",
			})})),
			[]string{"failed to pull and unpack image", "no match for platform in manifest: not found"},
		},
		{
			"linux-index", hub.pushIndex(t, "linux-index:v1", makeImage(t, "linux", "", files)),
			[]string{"no match for platform in manifest: not found"},
		},
		{
			"other-build-index", hub.pushIndex(t, "index:v1", makeImage(t, "windows", v2019, files),
				makeImage(t, "windows", v2025, files)),
			[]string{
				"no match for platform in manifest: not found",
				"The container operating system does not match the host operating system.", "0xc0370101",
			},
		},
		{
			"corrupt", hub.push(t, "corrupt:v1", makeImage(t, "windows", v2022, part{layer: corrupt})),
			[]string{"unexpected commit digest"},
		},
		{
			"missing", hub.push(t, "missing:v1", makeImage(t, "windows", v2022, files, part{layer: missing})),
			[]string{"not found"},
		},
		{
			"not-a-windows-layer", hub.push(t, "odd:v1",
				makeImage(t, "windows", v2022, files, part{layer: makeLayer(t, entry{
					name: "usr/bin/env",
					body: "x",
				})})),
			[]string{"outside Files and Hives"},
		},
		{"absent", hub.host + "/no/such:v1", []string{"failed to resolve reference", "not found"}},
	}

	s := open(t, c, v2022)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.Pull(t.Context(), tt.ref, nil, "")
			if err == nil {
				t.Fatal("pulled")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q, want %q", err, w)
				}
			}

			if left := leftovers(t, c); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestBuildMismatchAtCreate(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	ref := hub.push(t, "old:v1", makeImage(t, "windows", v2019, part{layer: makeLayer(t, entry{
		name: "Files/a",
		body: "a",
	})}))

	s := open(t, c, v2022)
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	var mismatch *store.MismatchError
	if err := s.Check(info, ""); !errors.As(err, &mismatch) {
		t.Errorf("check: %v, want a mismatch", err)
	}

	if err := s.Check(info, "runhcs-wcow-hypervisor"); err != nil {
		t.Errorf("check for Hyper-V isolation: %v", err)
	}
}

func TestSquashedImage(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	ref := hub.push(t, "squashed:v1", makeImage(t, "windows", v2022, part{layer: makeLayer(
		t,
		entry{name: "Files/app/app.exe", body: "MZ"},
		entry{name: "Files/Windows/System32/ntdll.dll", body: "microsoft"},
		entry{name: "Files/Windows/explorer.exe", body: "microsoft"},
		entry{name: "UtilityVM/Files/x", body: "vm"},
	)}))

	info, err := open(t, c, v2022).Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"dtrwxrwxrwx Files", "dtrwxrwxrwx Files/app", "-rwxr-xr-x Files/app/app.exe"}
	if diff := cmp.Diff(want, tree(t, mountImage(t, c, info.ChainID))); diff != "" {
		t.Errorf("unpacked image (-want +got):\n%s", diff)
	}
}

func TestForeignBaseOnly(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	base := makeLayer(t, entry{name: "Files/Windows/System32/ntdll.dll", body: "microsoft"})
	img := makeImage(t, "windows", v2022, part{layer: base, mediaType: types.DockerForeignLayer})
	ref := hub.push(t, "nanoserver:v1", img) // go-containerregistry does not upload foreign layers
	info, err := open(t, c, v2022).Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if info.ChainID != "" || len(info.SkippedLayers) != 1 {
		t.Errorf("chain %q, skipped %v; want none and one", info.ChainID, info.SkippedLayers)
	}
}

// TestLocal holds that an image which was loaded as one of this machine alone is pulled without a registry, which
// others are not.
func TestLocal(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app.exe"), []byte("MZ"), 0o600); err != nil {
		t.Fatal(err)
	}

	load := func(ref string, local bool) {
		t.Helper()
		img, err := imagebuild.Build(t.Context(), imagebuild.Options{
			Dir:  dir,
			Spec: imagebuild.Spec{Tags: []string{ref}, OSVersions: []string{"ltsc2022"}},
		})
		if err != nil {
			t.Fatal(err)
		}

		var archive bytes.Buffer
		if err := img.WriteArchive(&archive); err != nil {
			t.Fatal(err)
		}
		if _, err := open(t, c, "").Load(t.Context(), &archive, store.LoadOptions{Local: local}); err != nil {
			t.Fatal(err)
		}
	}

	const here, elsewhere = "registry.invalid/here:v1", "registry.invalid/elsewhere:v1"
	load(here, true)
	load(elsewhere, false)
	s := open(t, c, v2022)
	got, err := s.Pull(t.Context(), here, nil, "")
	if err != nil || got.ChainID == "" || !slices.Contains(got.RepoTags, here) {
		t.Errorf("pull of a local image: %+v, %v", got, err)
	}

	if _, err := s.Pull(t.Context(), elsewhere, nil, ""); err == nil {
		t.Error("an image that was loaded from an archive is pulled, though its registry is not there")
	}
	if _, err := open(t, c, v2019).Pull(t.Context(), here, nil, ""); err == nil {
		t.Error("a node of another build gets it")
	}
}
