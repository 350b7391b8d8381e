//go:build kernel

package winnode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/node/kubenode"
)

// TestPodsFolder: pods' volumes lie beside the drive and are seen on it, also those of an older host; and they can be
// mounted again and again.
func TestPodsFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower := filepath.Join(p.Dir, "lower")
	older := filepath.Join(p.Dir, "upper", podsFolder, "uid", "volume")
	for _, dir := range []string{lower, older} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	seen := filepath.Join(Prefix(p.Dir), podsFolder)
	for range 2 { // a host that is switched off and on
		if err := p.mount([]string{lower}); err != nil {
			t.Fatal(err)
		}
		if err := p.mount([]string{lower}); err != nil { // an agent that begins anew
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(seen, "uid", "new"), 0o755); err != nil {
			t.Error(err)
		}

		for _, dir := range []string{"uid/volume", "uid/new"} {
			if _, err := os.Stat(filepath.Join(p.Dir, "pods", dir)); err != nil {
				t.Errorf("beside the drive: %v", err)
			}
			if _, err := os.Stat(filepath.Join(seen, dir)); err != nil {
				t.Errorf("on the drive: %v", err)
			}
		}

		for _, at := range []string{seen, Prefix(p.Dir)} {
			if err := unix.Unmount(at, 0); err != nil {
				t.Fatalf("unmount %q: %v", at, err)
			}
		}
	}

	if left, err := os.ReadDir(filepath.Dir(filepath.Dir(older))); err == nil && len(left) > 0 {
		t.Errorf("the drive still has %v", left)
	}
}

// TestPodsFolderBehindALink: a link in the place of the kubelet's folder leads nowhere.
func TestPodsFolderBehindALink(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower, elsewhere := filepath.Join(p.Dir, "lower"), t.TempDir()
	lib := filepath.Join(p.Dir, "upper", "Files", "var", "lib")
	for _, dir := range []string{lower, lib} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(elsewhere, filepath.Join(lib, "kubelet")); err != nil {
		t.Fatal(err)
	}
	if err := p.mount([]string{lower}); err == nil {
		t.Error("it was mounted behind the link")
	}

	_ = unix.Unmount(Prefix(p.Dir), unix.MNT_DETACH)
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("elsewhere there is %v (%v)", left, err)
	}
}

// TestBeginMappings: what an earlier host has had shown on the drive is gone, pods' volumes stay, and what is mounted
// there from now on appears where the drive is seen.
func TestBeginMappings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower := filepath.Join(p.Dir, "lower")
	if err := os.Mkdir(lower, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.mount([]string{lower}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(Prefix(p.Dir), unix.MNT_DETACH) })

	show := func(at, name string) {
		t.Helper()
		dir := filepath.Join(Prefix(p.Dir), at)
		if err := errors.Join(os.MkdirAll(dir, 0o755), unix.Mount("tmpfs", dir, "tmpfs", 0, ""),
			os.WriteFile(filepath.Join(dir, name), nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	there := func(file string) bool { _, err := os.Lstat(file); return err == nil }
	show("Files/old", "x")
	show("Files/old/within", "x")
	show(podsFolder+"/uid", "x")
	if err := p.beginMappings(); err != nil {
		t.Fatal(err)
	}

	if there(filepath.Join(Prefix(p.Dir), "Files/old/x")) || !there(filepath.Join(Prefix(p.Dir), "Files/old")) {
		t.Error("what an earlier host has had shown is there")
	}
	if !there(filepath.Join(Prefix(p.Dir), podsFolder, "uid/x")) {
		t.Error("a pod's volume is gone")
	}

	seen := t.TempDir()
	if err := unix.Mount(Prefix(p.Dir), seen, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(seen, unix.MNT_DETACH) })
	show("Files/new", "x")
	if !there(filepath.Join(seen, "Files/new/x")) {
		t.Error("what is mounted on the drive does not appear")
	}
}

// TestBeginMappingsMoved: containers of the host that live on exchange a folder with mappings and a link that leads
// elsewhere on the machine. What is mounted there stays.
func TestBeginMappingsMoved(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	p := &prefix{Config: Config{Config: kubenode.Config{Dir: t.TempDir()}}}
	lower, elsewhere := filepath.Join(p.Dir, "lower"), t.TempDir()
	if err := os.Mkdir(lower, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := p.mount([]string{lower}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(Prefix(p.Dir), unix.MNT_DETACH) })

	const mappings = 64
	dir, link := filepath.Join(Prefix(p.Dir), "Files", "dir"), filepath.Join(Prefix(p.Dir), "Files", "link")
	for i := range mappings {
		for _, at := range []string{dir, elsewhere} {
			at = filepath.Join(at, strconv.Itoa(i))
			if err := errors.Join(os.MkdirAll(at, 0o755), unix.Mount("tmpfs", at, "tmpfs", 0, "")); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(at, unix.MNT_DETACH) })
		}
	}
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}

	ctx, stop := context.WithCancel(t.Context())
	var moving sync.WaitGroup
	moving.Go(func() {
		for ctx.Err() == nil {
			if err := unix.Renameat2(unix.AT_FDCWD, dir, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("exchange: %v", err)
				return
			}
		}
	})
	for range 20 {
		if err := p.beginMappings(); err != nil {
			t.Error(err)
		}
	}
	stop()
	moving.Wait()

	for i := range mappings {
		at := filepath.Join(elsewhere, strconv.Itoa(i))
		if is, err := isMounted(at); err != nil || !is {
			t.Fatalf("%s, elsewhere on the machine, is not mounted any more (%v)", at, err)
		}
	}

	if err := p.beginMappings(); err != nil {
		t.Error(err)
	}
	for _, folder := range []string{dir, link} {
		if is, err := isMounted(filepath.Join(folder, "0")); err != nil || is {
			t.Errorf("a mapping is there still (%v)", err)
		}
	}
}
