package linuxhost

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/node/hostroot"
)

// ownDirs returns the host's own folders and their modes.
func ownDirs() map[string]fs.FileMode {
	const sticky = fs.ModeSticky | 0o777
	return map[string]fs.FileMode{
		"etc": 0o755, "var": 0o755, "var/tmp": sticky, "run": 0o755, "tmp": sticky, "root": 0o700, "home": 0o755,
		"opt": 0o755, "srv": 0o755,
		"mnt": 0o755, "media": 0o755, "dev": 0o755, "proc": 0o555, "sys": 0o555,
	}
}

// tunables are switches of the whole machine that a kubelet insists on setting. Here they are plain files, which have
// the values that it wants from the start:
// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/container_manager_linux.go (setupKernelTunables)
func tunables() map[string]string {
	return map[string]string{
		"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
		"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
	}
}

// makeRoot makes the folders of the root that are kept on disk. Pods with a hostPath volume write to the root: a link
// in the place of one of its folders is removed, and nothing is made through links that lead out of it.
func (h Host) makeRoot() error {
	// The host's /run is for users of the host and its pods, whose sockets are there, and not for those of the machine.
	if err := errors.Join(os.MkdirAll(h.RunDir, 0o700), os.Chmod(h.RunDir, 0o700)); err != nil {
		return err
	}
	for _, dir := range []string{h.Root, Run(h.RunDir)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}

	root, err := hostroot.Open(h.Root)
	if err != nil {
		return err
	}
	defer root.Close()

	dirs := ownDirs()
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		if err := root.Folder(name, dirs[name]); err != nil {
			return err
		}
	}

	if err := root.Link("/run", "var/run"); err != nil {
		return err
	}
	return root.Link("../usr/lib/os-release", "etc/os-release")
}

// enterRoot mounts everything that the host sees below its root folder and changes to it. The caller is in the host's
// namespaces.
func (h Host) enterRoot() error {
	if err := bind(h.Root, h.Root); err != nil {
		return err
	}
	root, err := hostroot.Open(h.Root)
	if err != nil {
		return err
	}
	defer root.Close()

	for _, step := range []func() error{
		root.ShowPrograms,
		func() error { return h.mountUsr(root) },
		func() error { return root.Share(Run(h.RunDir), "run") },
		func() error { return h.mountProc(root) },
		func() error { return h.mountSys(root) },
		func() error { return root.MountDev("kmsg", "fuse") },
	} {
		if err := step(); err != nil {
			return err
		}
	}

	for _, b := range h.Binds {
		if err := root.Show(b.Source, b.Target); err != nil {
			return err
		}
	}

	return root.Enter()
}

func (h Host) mountProc(root *hostroot.Root) error {
	if err := root.Mount("proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return err
	}

	for name, value := range tunables() {
		target := h.Path("proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue // a kernel without it; the kubelet says so itself
		}
		stand := filepath.Join(h.RunDir, "sysctl", name)
		if err := os.MkdirAll(filepath.Dir(stand), 0o755); err != nil {
			return err
		}

		if err := os.WriteFile(stand, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		if err := bind(stand, target); err != nil {
			return err
		}
	}

	return nil
}

// mountUsr lays a folder of the host's own over /usr, if it has one.
func (h Host) mountUsr(root *hostroot.Root) error {
	if h.Usr == "" {
		return nil
	}
	upper, work := filepath.Join(h.Usr, "upper"), filepath.Join(h.Usr, "work")
	for _, dir := range []string{upper, work} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if strings.ContainsAny(dir, ",:\\") {
			return fmt.Errorf("lay %q over /usr: overlayfs takes no folder with a comma, a colon or a backslash in its path", dir)
		}
	}
	return root.Mount("overlay", "usr", unix.MS_NODEV, "lowerdir=/usr,upperdir="+upper+",workdir="+work)
}

// mountSys shows the devices of the host's network namespace, in which the caller has to be.
func (h Host) mountSys(root *hostroot.Root) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := root.Mount("sysfs", "sys", flags|unix.MS_RDONLY, ""); err != nil {
		return err
	}
	if err := h.mountCgroups(h.Path("sys/fs/cgroup")); err != nil {
		return fmt.Errorf("mount cgroups: %w", err)
	}
	return nil
}

// bind binds source, with what is mounted below it, onto target.
func bind(source, target string) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("bind %q over %q: %w", source, target, err)
	}
	return nil
}

func touch(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}
