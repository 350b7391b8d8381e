//go:build kernel

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/wine"
)

// mountsIn lists what is mounted below a folder, without the folder.
func mountsIn(t *testing.T, dir string) []string {
	t.Helper()
	var points []string
	_, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) {
		if below, ok := strings.CutPrefix(m.Mountpoint, dir+"/"); ok {
			points = append(points, below)
		}
		return true, false
	})
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func testEngine(t *testing.T) *Engine {
	t.Helper()
	e := &Engine{opts: Options{RunDir: t.TempDir()}}
	t.Cleanup(func() {
		if err := e.clearSources(func(string) (bool, error) { return false, nil }); err != nil {
			t.Error(err)
		}
		if left := mountsIn(t, e.opts.RunDir); len(left) > 0 {
			t.Errorf("mounts left: %q", left)
		}
	})
	return e
}

func openPath(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// TestSourcesAreWhatWasOpened: a path that leads elsewhere by now does not matter, and only root gets to the binds.
func TestSourcesAreWhatWasOpened(t *testing.T) {
	e, dir := testEngine(t), t.TempDir()
	folder, file := filepath.Join(dir, "folder"), filepath.Join(dir, "file")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}

	for path, text := range map[string]string{filepath.Join(folder, "in"): "right", file: "right"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	mounts := []Mount{{Source: openPath(t, folder)}, {Source: openPath(t, file)}}
	for _, path := range []string{folder, file} {
		if err := os.Rename(path, path+".was"); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/etc", path); err != nil {
			t.Fatal(err)
		}
	}

	paths, err := e.bindSources(Container{ID: "one", Mounts: mounts}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(paths[0], "in"), paths[1]} {
		if text, err := os.ReadFile(path); err != nil || string(text) != "right" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}

	info, err := os.Stat(filepath.Join(e.opts.RunDir, "mounts"))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder of binds: %v, %v", info, err)
	}
	if err := e.removeSources("one"); err != nil {
		t.Error(err)
	}

	if _, err := os.Stat(filepath.Join(folder+".was", "in")); err != nil {
		t.Errorf("what was mounted: %v", err)
	}
}

// detached returns a file system that is attached nowhere.
func detached(t *testing.T) *os.File {
	t.Helper()
	made, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(made)
	if err := unix.FsconfigCreate(made); err != nil {
		t.Fatal(err)
	}

	mount, err := unix.Fsmount(made, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(mount), "shares")
}

// TestSourcesAreCleared: after a process that was killed, what waits for its start stays and the rest goes.
func TestSourcesAreCleared(t *testing.T) {
	e, dir := testEngine(t), t.TempDir()
	for _, id := range []string{"started", "waits", "unknown"} {
		shares := detached(t)
		mounts := []Mount{{Source: openPath(t, dir)}, {Source: openPath(t, dir)}}
		if _, err := e.bindSources(Container{
			ID:     id,
			Mounts: mounts,
			Shares: shares,
		}, ""); err != nil {
			t.Fatal(err)
		}
		_ = shares.Close()
	}

	// Killed between the folder and the mount.
	if err := os.MkdirAll(filepath.Join(e.sourceDir("half"), "0"), 0o700); err != nil {
		t.Fatal(err)
	}
	next := &Engine{opts: e.opts}
	if err := next.clearSources(func(id string) (bool, error) { return id == "waits", nil }); err != nil {
		t.Fatal(err)
	}

	want := []string{"mounts/waits/shares", "mounts/waits/0", "mounts/waits/1"} // the last mount first
	if diff := cmp.Diff(want, mountsIn(t, e.opts.RunDir)); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	entries, err := os.ReadDir(filepath.Join(e.opts.RunDir, "mounts"))
	if err != nil || len(entries) != 1 {
		t.Errorf("folders of binds: %v, %v", entries, err)
	}

	if err := next.removeSources("waits"); err != nil {
		t.Error(err)
	}
}

// TestSourcesWhileAContainerSwapsLinks: a container exchanges a folder of its volume for a link that leads out, while
// another one's mount of a folder below is opened and bound. What is mounted is never outside, and nothing is made
// there.
func TestSourcesWhileAContainerSwapsLinks(t *testing.T) {
	testrun.Once(t, testrun.Race)
	const (
		volume = "var/lib/kubelet/pods/uid/volumes/kubernetes.io~empty-dir/v"
		rounds = 2000
	)

	e := testEngine(t)
	drive := t.TempDir()
	outside := t.TempDir()
	v := filepath.Join(drive, volume)
	for _, dir := range []string{filepath.Join(v, "d/sub"), filepath.Join(outside, "sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(outside, "sub/secret"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	links := []string{outside, "../../../../../../../../.." + outside, "d/../../../../../windows", "inside"}
	for _, dir := range []string{filepath.Join(drive, "var/lib/kubelet/windows/sub"), filepath.Join(v, "inside/sub")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}

	over := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		link := filepath.Join(v, "l")
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}

			if i%16 == 0 {
				_ = os.Remove(link)
				_ = os.Symlink(links[i/16%len(links)], link)
			}
			// There and back: d is the folder and then the link.
			for range 2 {
				_ = unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, filepath.Join(v, "d"), unix.RENAME_EXCHANGE)
			}

			if i%8 == 0 {
				_ = os.Remove(filepath.Join(v, "d/new"))
			}
		}
	})

	opened, deadline := 0, time.Now().Add(time.Minute)
	i := 0
	for ; i < rounds || ((opened < rounds/10 || i-opened < rounds/10) && time.Now().Before(deadline)); i++ {
		name := "sub"
		if i%2 == 0 {
			name = "new" // has to be made
		}

		winPath := `C:\` + strings.ReplaceAll(volume, "/", `\`) + `\d\` + name
		source, err := wine.OpenSource(drive, winPath, []string{"var/lib/kubelet/pods/*/volumes/*/*"},
			wine.Mounted{})
		if err != nil {
			continue // refused, which is as good
		}

		paths, err := e.bindSources(Container{ID: "c", Mounts: []Mount{{Source: source}}}, "")
		if errors.Is(err, os.ErrNotExist) {
			_ = source.Close()
			continue // removed since
		}
		opened++
		if err != nil {
			t.Fatal(err)
		}

		var bound, asked unix.Stat_t
		if err := unix.Stat(paths[0], &bound); err != nil {
			t.Fatal(err)
		}
		if err := unix.Fstat(int(source.Fd()), &asked); err != nil || bound.Ino != asked.Ino {
			t.Fatalf("what is bound is not what was opened: %v", err)
		}

		at, err := os.Readlink(fdPath(int(source.Fd())))
		if err != nil || !strings.HasPrefix(at, v+"/") {
			t.Fatalf("mounted is %q, %v", at, err)
		}
		if _, err := os.Lstat(filepath.Join(paths[0], "secret")); err == nil {
			t.Fatal("mounted is the folder outside")
		}

		if err := e.removeSources("c"); err != nil {
			t.Fatal(err)
		}
		_ = source.Close()
	}

	close(over)
	swapper.Wait()
	t.Logf("%d of %d were opened", opened, i)
	if opened == 0 || opened == i {
		t.Errorf("%d of %d were opened: nobody swapped while somebody looked", opened, i)
	}

	for dir, want := range map[string]int{outside: 1, filepath.Join(drive, "var/lib/kubelet/windows"): 1} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Errorf("outside: %v, %v", entries, err)
		}
		if info, err := os.Stat(filepath.Join(dir, "sub")); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("outside: %v, %v", info, err)
		}
	}
}
