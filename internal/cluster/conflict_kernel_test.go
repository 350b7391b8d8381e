//go:build kernel

package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/spec"
)

// A cluster that a kill has left on the machine still has its subnet: who wants it is told which data folder it has.
func TestUnderlayOfAnotherCluster(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	machine := netnstest.New(t, "machine")
	left := layout.Paths{Data: filepath.Join(t.TempDir(), "data")}
	t.Cleanup(func() {
		if err := Down(context.WithoutCancel(t.Context()), left, func(string) {}); err != nil {
			t.Error(err)
		}
	})

	if err := left.Prepare(); err != nil {
		t.Fatal(err)
	}

	c := spec.Default(nil, false, "")
	u, err := underlay.New(underlay.Config{
		RunDir:       left.Run(),
		MachineNetns: machine,
		Subnet:       c.Networking.Underlay(),
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := u.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := u.Up(t.Context()); err != nil {
		t.Fatal(err)
	}

	check := func() error { return CheckUnderlay(c, layout.Paths{Data: "/wanted"}) }
	err = netns.Do(machine, check)
	conflict, ok := errors.AsType[*ConflictError](err)
	if !ok || !strings.Contains(conflict.Remedy, "mullion --data-dir "+left.Data+" down") {
		t.Errorf("the subnet is another cluster's: %#v", err)
	}

	c.Networking.UnderlaySubnet = "198.51.100.0/24"
	if err := netns.Do(machine, check); err != nil {
		t.Errorf("a subnet of its own: %v", err)
	}
}

// A data folder is a volume of its own, as in a container: `down` removes what is in it and leaves the volume.
func TestDataFolderOnVolume(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	data := t.TempDir()
	if err := unix.Mount("volume", data, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := unix.Unmount(data, 0); err != nil {
			t.Errorf("the volume is gone: %v", err)
		}
	})
	paths := layout.Paths{Data: data}
	if err := paths.Prepare(); err != nil {
		t.Fatal(err)
	}

	inner := filepath.Join(data, "nodes", "win-1")
	if err := os.MkdirAll(inner, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("inner", inner, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}

	if err := Down(t.Context(), paths, func(string) {}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(data); err != nil || len(left) > 0 {
		t.Errorf("left in the volume: %v, %v", left, err)
	}
	if err := paths.Prepare(); err != nil {
		t.Errorf("the next cluster: %v", err)
	}

	if err := Down(t.Context(), paths, func(string) {}); err != nil {
		t.Errorf("the next cluster, taken down: %v", err)
	}
	if _, err := os.Stat(paths.Run()); !os.IsNotExist(err) {
		t.Errorf("its run folder is left: %v", err)
	}
}

// A part of the data folder has been removed beneath a cluster: `down` ends what that ran, and leaves the files, of
// which nobody knows whose they are.
func TestDownOfPartOfFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	paths := layout.Paths{Data: filepath.Join(t.TempDir(), "data")}
	if err := paths.Prepare(); err != nil {
		t.Fatal(err)
	}
	mounted := filepath.Join(paths.Run(), "volumes")
	if err := os.MkdirAll(mounted, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("kept", mounted, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}

	disk, host := filepath.Join(paths.Data, "disk"), filepath.Join(paths.Node("win-1"), "drive")
	for _, dir := range []string{disk, host} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("disk", dir, "tmpfs", 0, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) }) // else it is gone
	}

	kept := filepath.Join(disk, "mine.txt")
	if err := errors.Join(os.WriteFile(kept, nil, 0o600), os.Remove(versionFile(paths))); err != nil {
		t.Fatal(err)
	}
	var said []string
	if err := Down(t.Context(), paths, func(s string) { said = append(said, s) }); err != nil {
		t.Fatal(err)
	}

	if last := said[len(said)-1]; !strings.HasPrefix(last, "left "+paths.Data) {
		t.Errorf("the last that it says is %q", last)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("a file that is not Mullion's, on a disk that somebody has mounted: %v", err)
	}
	if points, err := mountsBelow(paths.Node("")); err != nil || len(points) > 0 {
		t.Errorf("of a host %v is left mounted, %v", points, err)
	}
	if _, err := os.Stat(paths.Run()); !os.IsNotExist(err) {
		t.Errorf("its run folder is left: %v", err)
	}

	// Without a run folder, nothing says that the folder ever was a cluster's.
	if err := Down(t.Context(), paths, func(string) {}); err == nil {
		t.Error("a folder with somebody's files is taken down")
	}
}
