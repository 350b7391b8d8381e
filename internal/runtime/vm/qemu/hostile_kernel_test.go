//go:build kernel

package qemu

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestHostileGuest: the root of a guest does to files of the machine what it may, and nothing else.
func TestHostileGuest(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	parts, err := Find("../../../../bin")
	if err != nil {
		t.Skipf("`make build hyperv` makes what is missing: %v", err)
	}

	for _, path := range []*string{&parts.Virtiofsd, &parts.Kernel, &parts.Runc} {
		if *path, err = filepath.Abs(*path); err != nil {
			t.Fatal(err)
		}
	}

	dir := t.TempDir()
	parts.Agent = filepath.Join(dir, "init")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", parts.Agent, "./testdata/hostile")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	user := User{
		ID:    0x7100_0000,
		Files: 0x7000_0000,
		Size:  65536,
	}

	share := sharedFolder(t, dir, user)
	initrd := filepath.Join(dir, "initrd")
	if err := parts.WriteInitrd(initrd); err != nil {
		t.Fatal(err)
	}
	accelerator, err := parts.Choose(t.Context(), user)
	if err != nil {
		t.Fatal(err)
	}

	m, err := Start(Options{
		Parts: parts, Accelerator: accelerator, User: user, Initrd: initrd, Dir: filepath.Dir(share), Share: share,
		CPUs: 1, Memory: 256 << 20,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Kill()

	go func() { _, _ = io.Copy(io.Discard, m.Channel) }()
	select {
	case <-m.Ended:
	case <-time.After(3 * time.Minute):
		t.Errorf("the guest does not end")
	}

	for line := range strings.Lines(m.Log()) {
		if strings.Contains(line, "hostile: could") || strings.Contains(line, "hostile: error") {
			t.Error(strings.TrimSpace(line))
		}
	}

	if _, err := os.Stat(filepath.Join(share, "own/finished")); err != nil {
		t.Errorf("the guest did not do all: %v\n%s", err, m.Log())
	}
	checkShared(t, share, user)
}

// sharedFolder makes a folder as a machine shares it: with a file of the machine's, a folder of the container's and one
// that is read-only.
func sharedFolder(t *testing.T, dir string, user User) string {
	t.Helper()
	machine := filepath.Join(dir, "machine")
	share := filepath.Join(machine, "share")
	for _, d := range []string{"share/own", "share/readonly"} {
		if err := os.MkdirAll(filepath.Join(machine, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	own, readonly := filepath.Join(share, "own"), filepath.Join(share, "readonly")
	for name, text := range map[string]string{"secret": "secret", "share/config.json": "machine"} {
		if err := os.WriteFile(filepath.Join(machine, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for _, d := range []string{own, readonly} {
		if err := os.Chown(d, int(user.Files), int(user.Files)); err != nil {
			t.Fatal(err)
		}
	}

	if err := unix.Mount(share, share, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = unix.Unmount(share, unix.MNT_DETACH) })
	if err := unix.Mount(readonly, readonly, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(readonly, unix.MNT_DETACH) })
	if err := unix.Mount("", readonly, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}

	for path := dir; path != "/" && strings.HasPrefix(path, os.TempDir()); path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o711); err != nil { // virtiofsd is another user
			t.Fatal(err)
		}
	}

	return share
}

// checkShared looks at what the guest has left.
func checkShared(t *testing.T, share string, user User) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(share, "config.json")); err != nil || !bytes.Equal(text, []byte("machine")) {
		t.Errorf("the machine's file: %q, %v", text, err)
	}
	for name, want := range map[string]int{share: 3, filepath.Join(share, "readonly"): 0} {
		if entries, err := os.ReadDir(name); err != nil || len(entries) != want {
			t.Errorf("%s: %v, %v", name, entries, err)
		}
	}

	entries, err := os.ReadDir(filepath.Join(share, "own"))
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		owner := info.Sys().(*syscall.Stat_t).Uid
		if (owner != user.ID+1 && owner-user.Files >= user.Size) || info.Mode()&os.ModeDevice != 0 {
			t.Errorf("%s: %v of user %d", e.Name(), info.Mode(), owner)
		}
	}
}
