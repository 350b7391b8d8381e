//go:build wine

package hnswine_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/hcs/hcstest"
	"mullion.dev/mullion/internal/windows/wine"
)

// containerdConfig is containerd's configuration, without its CRI plugins.
const containerdConfig = `version = 3
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]
[grpc]
  address = '\\.\pipe\containerd-of-test'
`

// containerdHost is a host on which upstream's containerd.exe runs, unmodified.
type containerdHost struct{ *host }

// newContainerdHost starts containerd.exe on a host, with the libraries that it needs.
func newContainerdHost(t *testing.T) containerdHost {
	t.Helper()
	programs := filepath.Join(repository, "bin/containerd-windows")
	if _, err := os.Stat(filepath.Join(programs, "containerd.exe")); err != nil {
		t.Skipf("needs containerd.exe: make containerd-windows: %v", err)
	}

	h := containerdHost{newCluster(t).newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")}
	shims := filepath.Join(repository, "bin/windows/shim")
	for to, from := range map[string]string{
		"windows/system32/mullionhook.dll": filepath.Join(shims, "mullionhook.dll"),
		"windows/system32/computecore.dll": filepath.Join(shims, "computecore.dll"),
		"windows/system32/bindfltapi.dll":  filepath.Join(shims, "bindfltapi.dll"),
		"containerd/containerd.exe":        filepath.Join(programs, "containerd.exe"),
		"containerd/ctr.exe":               filepath.Join(programs, "ctr.exe"),
		"containerd/image.tar":             filepath.Join(repository, "bin/webserver.tar"),
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		h.write(t, to, data)
	}

	h.write(t, "containerd/config.toml", []byte(containerdConfig))
	// A build that the image is for, as Wine reads it (package wine, buildKeys).
	for name, value := range map[string]string{"CurrentVersion": "10.0", "CurrentBuildNumber": "20348"} {
		if out, err := h.wine(t.Context(), nil, nil, "reg", "add", `HKLM\Software\Microsoft\Windows NT\CurrentVersion`,
			"/v", name, "/d", value, "/f"); err != nil {
			t.Fatalf("set the build of Windows: %v\n%s", err, out)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, err := h.wine(ctx, containerdEnv(), nil, `C:\containerd\containerd.exe`, "--config", `C:\containerd\config.toml`)
		if ctx.Err() == nil {
			t.Errorf("containerd.exe has ended: %v", err)
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
	poll(t, "containerd.exe, or its end", func() bool {
		_, err := h.ctr(t, "version")
		select {
		case <-ended:
			t.FailNow()
		default:
		}
		return err == nil
	})

	return h
}

// containerdEnv has Wine load our libraries.
func containerdEnv() []string {
	return []string{"WINEDLLOVERRIDES=bcryptprimitives,computenetwork,vmcompute,computecore,bindfltapi=n;mscoree,mshtml="}
}

func (h containerdHost) write(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join(h.prefix, "drive_c", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
}

// ctr runs ctr.exe.
func (h containerdHost) ctr(t *testing.T, args ...string) (string, error) {
	t.Helper()
	args = append([]string{`C:\containerd\ctr.exe`, "-a", `\\.\pipe\containerd-of-test`}, args...)
	out, err := h.wine(t.Context(), containerdEnv(), nil, args...)
	return string(out), err
}

func (h containerdHost) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := h.ctr(t, args...)
	if err != nil {
		t.Fatalf("ctr %q: %v\n%s", args, err, out)
	}
	return out
}

// scratch returns the folder of the only scratch.
func (h containerdHost) scratch(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.state, "hcs/scratch/*/fs"))
	if err != nil || len(found) != 1 {
		t.Fatalf("there are the scratches %q, %v", found, err)
	}
	return found[0]
}

// change changes the only scratch as a container does: a file, a deletion, and the registry.
func (h containerdHost) change(t *testing.T) {
	t.Helper()
	scratch := h.scratch(t)
	for name, text := range map[string]string{
		"Files/app/made.txt": "made in a container",
		wine.MachineHive:     hcstest.NoRegistry + "\n[Software\\\\Committed] 1\n\"x\"=\"of-the-machine\"\n",
		wine.UserHive:        hcstest.NoRegistry + "\n[Software\\\\Committed] 1\n\"x\"=\"of-the-user\"\n",
	} {
		path := filepath.Join(scratch, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.Mknod(filepath.Join(scratch, "Files/app/webserver.exe"), unix.S_IFCHR, 0); err != nil {
		t.Fatal(err)
	}
}

// layer returns the files of the layer that containerd.exe writes of a snapshot, by their names in lower case.
func (h containerdHost) layer(t *testing.T, snapshot string) map[string]string {
	t.Helper()
	text, err := gzip.NewReader(strings.NewReader(h.must(t, "snapshots", "diff", snapshot)))
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}
	for r := tar.NewReader(text); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}

		var data bytes.Buffer
		if _, err := io.Copy(&data, r); err != nil {
			t.Fatal(err)
		}
		files[strings.ToLower(strings.TrimSuffix(head.Name, "/"))] = data.String()
	}
}

// keys returns the changes that hives of a layer make to the registry.
func keys(t *testing.T, changes func(hive []byte, room *int) ([]wine.Key, error), hive string) string {
	t.Helper()
	room := wine.MaxChanges
	all, err := changes([]byte(hive), &room)
	if err != nil {
		t.Errorf("read hive of layer: %v", err)
	}
	return fmt.Sprint(all)
}

// TestCommit has containerd.exe commit what a container has changed, and write it as a layer of an image: files,
// deletions, and the registry of the machine and of the user. After a commit that has failed, the next one has it all.
func TestCommit(t *testing.T) {
	h := newContainerdHost(t)
	h.must(t, "images", "import", `C:\containerd\image.tar`)
	h.must(t, "containers", "create", "mullion.local/webserver:v1", "active", "cmd") // which unpacks it, and makes a snapshot
	said := h.must(t, "snapshots", "mounts", "none", "active")
	source := regexp.MustCompile(`snapshots\\+(\d+)`).FindStringSubmatch(said)
	if source == nil {
		t.Fatalf("the snapshot is mounted by %q", said)
	}

	folder := `C:\ProgramData\containerd\root\io.containerd.snapshotter.v1.windows\snapshots\` + source[1]
	if _, err := h.systems.Call(t.Context(), "ActivateLayer", []string{folder}); err != nil {
		t.Fatal(err)
	}
	h.change(t)

	// What the layer cannot have, as a container's program may make it, is said, and what is
	// written stays to be committed.
	odd := filepath.Join(h.scratch(t), "Files/app/odd")
	if err := os.Symlink("/etc/passwd", odd); err != nil {
		t.Fatal(err)
	}
	if out, err := h.ctr(t, "snapshots", "commit", "committed", "active"); err == nil || !strings.Contains(err.Error()+out, "not supported") {
		t.Errorf("a snapshot with a link that does not lead to C: is committed: %v\n%s", err, out)
	}

	if err := os.Remove(odd); err != nil {
		t.Fatal(err)
	}

	h.must(t, "snapshots", "commit", "committed", "active")
	files := h.layer(t, "committed")
	if got := files["files/app/made.txt"]; got != "made in a container" {
		t.Errorf("the file is %q", got)
	}
	if _, there := files["files/app/.wh.webserver.exe"]; !there {
		t.Error("the deletion is not in the layer")
	}

	hives := wine.LayerHives()
	if got := keys(t, hives[1].Changes, files["hives/software_delta"]); !strings.Contains(got, "Committed") {
		t.Errorf("the registry of the machine is changed by %s", got)
	}
	user := func(hive []byte, room *int) ([]wine.Key, error) { return wine.UserChanges(hive, wine.AdminUser, room) }
	if got := keys(t, user, files["files/users/containeradministrator/ntuser.dat"]); !strings.Contains(got, "Committed") {
		t.Errorf("the registry of the user is changed by %s", got)
	}

	// Its own layer is that of the image, and a snapshot above it has what was committed.
	h.must(t, "snapshots", "prepare", "next", "committed")
	names := strings.Fields(h.must(t, "snapshots", "ls"))
	if !slices.Contains(names, "next") || slices.Contains(names, "active") {
		t.Errorf("the snapshots are %q", names)
	}
	for _, name := range []string{"next", "committed"} {
		h.must(t, "snapshots", "rm", name)
	}

	poll(t, "nothing is left of the snapshots", func() bool { // containerd collects them in its own time
		left, err := os.ReadDir(filepath.Join(h.state, "hcs/scratch"))
		return err == nil && len(left) == 0
	})
}
