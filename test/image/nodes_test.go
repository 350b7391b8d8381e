//go:build kernel

package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/errdefs"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"mullion.dev/mullion/internal/base/testrun"
	store "mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/imagebuild"
)

func TestTwoNodesShareAnIndex(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	layerOf := func(body string) part { return part{layer: makeLayer(t, entry{name: "Files/v", body: body})} }
	ref := hub.pushIndex(t, "app:v1", makeImage(t, "windows", v2019, layerOf("2019")),
		makeImage(t, "windows", v2025, layerOf("2025")))
	old, recent := open(t, c, v2019), open(t, c, v2025)

	a, err := old.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := recent.Get(t.Context(), ref); !errdefs.IsNotFound(err) {
		t.Errorf("the other node sees what it has not pulled: %v", err)
	}

	b, err := recent.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if a.ID == b.ID || a.OSVersion != v2019 || b.OSVersion != v2025 {
		t.Errorf("got %s %s and %s %s", a.ID, a.OSVersion, b.ID, b.OSVersion)
	}

	if err := old.Remove(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if list, err := old.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after removal the first node lists %v, %v", list, err)
	}
	if got, err := recent.Get(t.Context(), ref); err != nil || got.ID != b.ID {
		t.Errorf("after the first node's removal the second has %q, %v", got.ID, err)
	}

	if err := recent.Remove(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestNodesPullAtOnce has the nodes of a machine pull the same and different builds at the same time.
func TestNodesPullAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	shared := part{layer: makeLayer(t, entry{name: "Files/shared", body: strings.Repeat("s", 1<<20)})}
	ref := hub.pushIndex(t, "app:v1", makeImage(t, "windows", v2019, shared), makeImage(t, "windows", v2022, shared),
		makeImage(t, "windows", v2025, shared))
	versions := []string{v2019, v2022, v2025, v2022, v2025, v2019}
	errs := make(chan error, len(versions))
	for _, v := range versions {
		s := open(t, c, v)
		go func() {
			info, err := s.Pull(t.Context(), ref, nil, "")
			if err == nil && info.OSVersion != v {
				err = errors.New("node " + v + " got " + info.OSVersion)
			}
			errs <- err
		}()
	}

	for range versions {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}

	if got := snapshotNames(t, c); len(got) != 1 {
		t.Errorf("snapshots %v, want one that all share", got)
	}
	tags, err := open(t, c, "").Tags(t.Context())
	if err != nil || len(tags) != 1 || tags[0].Ref != ref || len(tags[0].Images) != 3 || tags[0].Pinned {
		t.Errorf("tags %+v, %v", tags, err)
	}

	if err := open(t, c, "").Remove(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("after removal for all nodes: %v", left)
	}
}

// TestCancelledPull ends a pull in the middle of a layer.
func TestCancelledPull(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	ref := hub.push(t, "app:v1", makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{
		name: "Files/r",
		body: noise(8 << 20),
	})}))

	ctx, cancel := context.WithCancel(t.Context())
	_, err := open(t, c, v2022).PullRequest(ctx, store.Request{Ref: ref, Progress: func(p store.Progress) {
		if p.Step == "fetch" && p.Total > 1<<20 && p.Done < p.Total {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("pull: %v", err)
	}

	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestKilledPull kills a pulling process in the middle of a layer. The next pull must succeed, with what was fetched
// before or without.
func TestKilledPull(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	if socket := os.Getenv("MULLION_TEST_PULL_SOCKET"); socket != "" { // we are the process to be killed
		c, err := client.New(socket)
		if err != nil {
			t.Fatal(err)
		}
		_, err = open(t, c, v2022).Pull(t.Context(), os.Getenv("MULLION_TEST_PULL_REF"), nil, "")
		t.Fatalf("pull ended before the kill: %v", err)
	}

	c := startContainerd(t, t.TempDir())
	hub := newHub(t)
	body := noise(4 << 20)
	big := makeLayer(t, entry{name: "Files/r", body: body})
	ref := hub.push(t, "app:v1", makeImage(t, "windows", v2022, part{layer: big}))
	half := hub.stall(digestOf(t, big))
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledPull$")
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir(), "MULLION_TEST_PULL_SOCKET="+socketOf(t, c),
		"MULLION_TEST_PULL_REF="+ref)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	select {
	case <-half:
	case <-time.After(30 * time.Second):
		t.Error("the layer has not been asked for")
	}

	_ = cmd.Process.Kill()
	_ = cmd.Wait()

	s := open(t, c, v2022)
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("after the kill: %v, %v", list, err)
	}
	info, err := s.Pull(t.Context(), ref, nil, "")
	if err != nil {
		t.Fatal(err)
	}

	got, err := os.ReadFile(filepath.Join(mountImage(t, c, info.ChainID), "Files/r"))
	if err != nil || string(got) != body {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	for _, l := range leftovers(t, c) {
		if strings.HasPrefix(l, "half ") || strings.Contains(l, "extract-") {
			t.Errorf("left: %s", l)
		}
	}
}

func TestDiskFullWhileFetching(t *testing.T) {
	testrun.Once(t, testrun.Race)
	c := startContainerd(t, smallDisk(t))
	hub := newHub(t)
	ref := hub.push(t, "big:v1", makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{
		name: "Files/r",
		body: noise(24 << 20),
	})}))
	if _, err := open(t, c, v2022).Pull(t.Context(), ref, nil, ""); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("pull: %v, want %v", err, store.ErrDiskFull)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// noise returns what does not compress.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return string(b)
}

// smallDisk mounts a disk of 12 MB.
func smallDisk(t *testing.T) string {
	t.Helper()
	disk := t.TempDir()
	if err := (&mount.Mount{
		Type:    "tmpfs",
		Source:  "tmpfs",
		Options: []string{"size=12m"},
	}).Mount(disk); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mount.UnmountAll(disk, 0) })
	return disk
}

func TestDiskFull(t *testing.T) {
	c := startContainerd(t, smallDisk(t))
	hub := newHub(t)
	big := makeLayer(t, entry{
		name: "Files/zeros",
		body: strings.Repeat("\x00", 32<<20),
	}) // a few kB in transit, too much unpacked

	ref := hub.push(t, "big:v1", makeImage(t, "windows", v2022, part{layer: big}))
	s := open(t, c, v2022)
	if _, err := s.Pull(t.Context(), ref, nil, ""); !errors.Is(err, store.ErrDiskFull) {
		t.Errorf("pull: %v, want %v", err, store.ErrDiskFull)
	}
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left: %v", left)
	}

	small := hub.push(t, "small:v1", makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{
		name: "Files/a",
		body: "a",
	})}))
	if _, err := s.Pull(t.Context(), small, nil, ""); err != nil {
		t.Errorf("the disk is not free again: %v", err)
	}
}

func TestBuildLoadRun(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "app"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "app", "hello.exe"), []byte("MZ"), 0o644); err != nil {
		t.Fatal(err)
	}

	img, err := imagebuild.Build(t.Context(), imagebuild.Options{
		Dir: dir,
		Spec: imagebuild.Spec{
			Tags:       []string{"mullion.local/hello:v1"},
			OSVersions: []string{"ltsc2019", "ltsc2022", "ltsc2025"},
			Entrypoint: []string{`C:\app\hello.exe`},
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	var archive bytes.Buffer
	if err := img.WriteArchive(&archive); err != nil {
		t.Fatal(err)
	}
	machine, err := store.New(c, namespace, store.Config{}) // as the command line: no node, no system layer
	if err != nil {
		t.Fatal(err)
	}

	checked := map[string]int{}
	loaded, err := machine.Load(t.Context(), &archive, store.LoadOptions{Progress: func(p store.Progress) {
		if p.Step == "check" {
			checked[p.Digest]++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}

	if len(checked) != 2 || slices.ContainsFunc(slices.Collect(maps.Values(checked)),
		func(n int) bool { return n != 1 }) {
		t.Errorf("the two layers that three builds share are checked %v times, want once each", checked)
	}
	if info, err := machine.Get(t.Context(), "mullion.local/hello:v1"); err != nil ||
		info.Target.Digest.String() != indexDigest(t, img) {
		t.Errorf("target %v, %v, want that of the image that was loaded, %s", info.Target, err, indexDigest(t, img))
	}

	if len(loaded) != 1 || len(loaded[0].Images) != 3 {
		t.Fatalf("loaded %+v", loaded)
	}
	if got := snapshotNames(t, c); len(got) != 0 {
		t.Errorf("a store that knows no system layer has unpacked %v", got)
	}
	if list, err := machine.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}

	builds, err := machine.Builds(t.Context())
	if err != nil || len(builds) != 3 {
		t.Fatalf("builds: %+v, %v", builds, err)
	}
	for _, b := range builds {
		if b.Target.Digest.String() != indexDigest(t, img) || !slices.Contains(b.RepoTags, "mullion.local/hello:v1") {
			t.Errorf("build %s of %s is %q", b.ID, b.Target.Digest, b.RepoTags)
		}
	}

	if tags, err := machine.Tags(t.Context()); err != nil || len(tags) != 1 || len(tags[0].Images) != 3 ||
		!tags[0].Pinned {
		t.Errorf("tags: %+v, %v", tags, err)
	}

	for i, v := range []string{v2019, v2022, v2025} {
		info, err := open(t, c, v).Get(t.Context(), "mullion.local/hello:v1")
		if err != nil || info.ID != loaded[0].Images[i].ID || info.OSVersion != v || !info.Pinned {
			t.Errorf("node %s: %+v, %v", v, info, err)
			continue
		}
		if got := tree(t, mountImage(t, c, info.ChainID)); !slices.Contains(got, "-rwxr-xr-x Files/app/hello.exe") {
			t.Errorf("node %s: %v", v, got)
		}
	}

	if err := machine.Remove(t.Context(), "mullion.local/hello:v1"); err != nil {
		t.Fatal(err)
	}
}

func indexDigest(t *testing.T, img *imagebuild.Image) string {
	t.Helper()
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestLoadRefused loads what is no image for Windows, or is not what it says.
func TestLoadRefused(t *testing.T) {
	c := startContainerd(t, t.TempDir())
	machine, err := store.New(c, namespace, store.Config{})
	if err != nil {
		t.Fatal(err)
	}

	odd := makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{name: "usr/bin/env", body: "x"})})
	linux := makeImage(t, "linux", "", part{layer: makeLayer(t, entry{name: "bin/sh", body: "x"})})
	for _, tt := range []struct {
		name, want string
		archive    io.Reader
	}{
		{
			"no-archive", "load image archive",
			strings.NewReader("this is no tar archive, and long enough to be taken for one"),
		},
		{"linux", "no match for platform in manifest", dockerArchive(t, "linux:v1", linux)},
		{"not-a-windows-layer", "outside Files and Hives", dockerArchive(t, "odd:v1", odd)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := machine.Load(t.Context(), tt.archive, store.LoadOptions{}); err == nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if left := leftovers(t, c); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}

	good := makeImage(t, "windows", v2022, part{layer: makeLayer(t, entry{name: "Files/a", body: "a"})})
	if _, err := machine.Load(t.Context(), dockerArchive(t, "good:v1", good),
		store.LoadOptions{Unpinned: true}); err != nil {
		t.Error(err)
	}
	if info, err := open(t, c, v2022).Get(t.Context(), "good:v1"); err != nil || info.ChainID == "" || info.Pinned {
		t.Errorf("loaded from a docker archive: %+v, %v", info, err)
	}
}

// dockerArchive returns what `docker save` writes.
func dockerArchive(t *testing.T, ref string, img v1.Image) io.Reader {
	t.Helper()
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := tarball.Write(tag, img, &buf); err != nil {
		t.Fatal(err)
	}
	return &buf
}
