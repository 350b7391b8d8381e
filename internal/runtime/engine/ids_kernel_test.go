//go:build kernel

package engine

import (
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// users returns the owners of files, by their names.
func users(t *testing.T, dir string, names ...string) map[string]uint32 {
	t.Helper()
	all := map[string]uint32{}
	for _, name := range names {
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = info.Sys().(*syscall.Stat_t).Uid // Linux
	}
	return all
}

// TestSourcesHaveThePodsIDs: what another pod has left in a volume is the same user's in this one, and what this one
// makes is on disk as that of any pod. Everybody else's files are theirs.
func TestSourcesHaveThePodsIDs(t *testing.T) {
	e, dir := testEngine(t), t.TempDir()
	e.opts.IDs, e.opts.Log = DefaultIDs(), slog.New(slog.DiscardHandler)
	disk := e.opts.IDs.Base
	for name, owner := range map[string]uint32{"root": 0, "stranger": 4711, "pod": disk + 1000, "machine": disk + 70001} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(path, int(owner), int(owner)); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	c := Container{
		ID:     "one",
		Pod:    "p",
		Mounts: []Mount{{Source: openPath(t, dir)}},
	}

	run := e.runIDs(c)
	paths, err := e.bindSources(c, e.diskMapping(run))
	if err != nil {
		t.Fatal(err)
	}

	defer func() {
		if err := e.removeSources("one"); err != nil {
			t.Error(err)
		}
	}()
	got := users(t, paths[0], "root", "stranger", "pod", "machine")
	if got["root"] != 0 || got["stranger"] != 4711 || got["pod"] != run.Base+1000 || got["machine"] != disk+70001 {
		t.Errorf("owners %v, and the pod's users begin at %d", got, run.Base)
	}

	own := filepath.Join(paths[0], "own")
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(own, int(run.Base), int(run.Base)); err != nil {
		t.Fatal(err)
	}

	if got := users(t, dir, "own"); got["own"] != disk {
		t.Errorf("on disk it is user %d's, want %d", got["own"], disk)
	}
	if err := os.Chown(own, int(disk), int(disk)); err == nil {
		t.Error("a file was given to another pod's user")
	}
}

// TestMountWithoutIDs: a container that mounts what knows no other ids has those that are on disk, and nothing of the
// first try is left.
func TestMountWithoutIDs(t *testing.T) {
	e := testEngine(t)
	e.opts.IDs, e.opts.Log = DefaultIDs(), slog.New(slog.DiscardHandler)
	mounts := []Mount{{Source: openPath(t, t.TempDir())}, {Source: openPath(t, "/proc")}}
	c := Container{
		ID:     "one",
		Pod:    "p",
		Mounts: mounts,
	}

	paths, err := e.bindMapped(&c)
	if err != nil {
		t.Fatal(err)
	}

	if got := e.runIDs(c); got != DefaultIDs() || len(paths) != 2 {
		t.Errorf("it has ids %+v and mounts %q", got, paths)
	}
	if _, err := os.Stat(filepath.Join(paths[1], "self")); err != nil {
		t.Error(err)
	}
	if err := e.removeSources("one"); err != nil {
		t.Error(err)
	}
}

// TestContainerViews: a folder is seen with the ids of a container, and nothing is left when the views are removed.
func TestContainerViews(t *testing.T) {
	dir, folder := filepath.Join(t.TempDir(), "views"), t.TempDir()
	views, err := newLayerViews(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	run := podRange("p")
	own := views.forContainer()
	first, err := own.of(folder, layerMapping(run), unix.MOUNT_ATTR_RDONLY)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := own.of(folder, layerMapping(run), unix.MOUNT_ATTR_RDONLY); err != nil || again != first {
		t.Errorf("a second view %q of the first %q (%v)", again, first, err)
	}

	if same, err := own.of(folder, "", 0); err != nil || same != folder {
		t.Errorf("a view without a mapping is %q (%v)", same, err)
	}
	if got := users(t, first, "file"); got["file"] != run.Base {
		t.Errorf("the file is user %d's, want %d", got["file"], run.Base)
	}
	if err := os.WriteFile(filepath.Join(first, "new"), nil, 0o600); err == nil {
		t.Error("a layer can be written to")
	}

	if err := own.remove(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v (%v)", left, err)
	}

	// A process that was killed leaves its views to the next one.
	if _, err := views.forContainer().of(folder, layerMapping(run), 0); err != nil {
		t.Fatal(err)
	}
	if views, err = newLayerViews(dir); err != nil {
		t.Fatal(err)
	}

	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left of another process: %v (%v)", left, err)
	}
	if err := views.close(); err != nil {
		t.Error(err)
	}
}
