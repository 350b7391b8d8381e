//go:build kernel

package preflight_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/cluster/preflight"
)

// The machine that the tests run on has all that is needed, and Look leaves nothing behind on it.
func TestThisMachineWillDo(t *testing.T) {
	nft, err := exec.LookPath("nft")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	facts := preflight.Look(t.Context(), preflight.Options{
		DataFolder: filepath.Join(dir, "not", "there", "yet"),
		BinFolder:  "/usr/bin",
		Nft:        nft,
	})
	if fatal := preflight.Fatal(preflight.Judge(facts, preflight.Want{Nodes: 3})); len(fatal) > 0 {
		t.Errorf("this machine lacks: %+v", fatal)
	}

	if facts.DataFolder.Path != dir || facts.MemoryAvailable == 0 ||
		facts.MemoryTotal < facts.MemoryAvailable || facts.DataFolder.Free == 0 ||
		len(facts.Controllers) == 0 || len(facts.Network) < 3 {
		t.Errorf("facts are missing: %+v", facts)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	if left, err := filepath.Glob("/sys/fs/cgroup/*/mullion-try-*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// For an ordinary user nothing is attempted, whatever this process may do; what can be read is read.
func TestLookWithoutRoot(t *testing.T) {
	dir := t.TempDir()
	facts := preflight.Look(t.Context(), preflight.Options{
		DataFolder:   filepath.Join(dir, "data"),
		BinFolder:    "/usr/bin",
		Nft:          "/nowhere/nft", // it would fail
		Unprivileged: true,
	})
	if facts.Network != nil || facts.CgroupWritable != nil || facts.DataFolder.Overlay != nil {
		t.Errorf("attempted: %+v", facts)
	}

	if facts.Kernel == "" || len(facts.Controllers) == 0 || facts.MemoryTotal == 0 || facts.DataFolder.Free == 0 {
		t.Errorf("not read: %+v", facts)
	}
	for _, c := range preflight.Examine(facts, preflight.Want{Nodes: 3}) {
		hidden := c.Name == "network" || c.Name == "cgroups" || c.Name == "folders" || c.Name == "firewall"
		if (c.State == preflight.Unseen) != hidden {
			t.Errorf("%s is %s", c.Name, c.State)
		}
	}
}

// Folders that cannot hold a cluster: on overlayfs, as a container's own files are; on a file system mounted noexec; on
// a read-only one.
func TestFoldersThatWillNotDo(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"lower", "upper", "work", "merged", "noexec", "readonly"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	at := func(name string) string { return filepath.Join(dir, name) }
	for _, tt := range []struct {
		name, fstype, options string
		flags                 uintptr
		problem               string
	}{
		{
			"merged", "overlay", "lowerdir=" + at("lower") + ",upperdir=" + at("upper") + ",workdir=" + at("work"), 0,
			"is on overlayfs",
		},
		{"noexec", "tmpfs", "", unix.MS_NOEXEC, "is mounted with noexec"},
		{"readonly", "tmpfs", "", unix.MS_RDONLY, "is mounted read-only"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := unix.Mount(tt.fstype, at(tt.name), tt.fstype, tt.flags, tt.options); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := unix.Unmount(at(tt.name), 0); err != nil {
					t.Error(err)
				}
			})

			facts := preflight.Look(t.Context(), preflight.Options{
				DataFolder: at(tt.name + "/data"),
				BinFolder:  "/usr/bin",
			})
			fatal := preflight.Fatal(preflight.Judge(facts, preflight.Want{}))
			if len(fatal) != 1 || !strings.Contains(fatal[0].Problem, tt.problem) || fatal[0].Remedy == "" {
				t.Errorf("got %+v, want one with %q", fatal, tt.problem)
			}
		})
	}
}
