package linuxhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/bindmount"
)

// systemDirs hold the machine's programs. Each is a folder or, where /usr has been merged, a symbolic link.
func systemDirs() []string {
	return []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32"}
}

// systemFiles are what the machine's programs need in /etc: certificates of authorities, the linker's cache, chosen
// alternatives.
func systemFiles() []string {
	return []string{
		"etc/ssl", "etc/pki", "etc/ca-certificates", "etc/alternatives", "etc/ld.so.cache",
		"etc/ld.so.conf", "etc/ld.so.conf.d",
	}
}

// ownDirs are the host's own folders and their modes.
func ownDirs() map[string]fs.FileMode {
	const sticky = fs.ModeSticky | 0o777
	return map[string]fs.FileMode{
		"etc": 0o755, "var": 0o755, "var/tmp": sticky, "run": 0o755, "tmp": sticky, "root": 0o700, "home": 0o755,
		"opt": 0o755, "srv": 0o755,
		"mnt": 0o755, "media": 0o755, "dev": 0o755, "proc": 0o555, "sys": 0o555,
	}
}

// devices are those of the machine that the host has.
func devices() []string {
	return []string{"null", "zero", "full", "random", "urandom", "tty", "kmsg", "fuse"}
}

// tunables are switches of the whole machine that a kubelet insists on setting; here it sets plain files, with the
// values it wants from the start:
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
	for _, dir := range []string{h.Root, Run(h.RunDir)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(h.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	dirs := ownDirs()
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range dirs {
			if !yield(name) {
				return
			}
		}
	}) {
		if err := ownFolder(root, name, dirs[name]); err != nil {
			return err
		}
	}
	if err := link(root, "/run", "var/run"); err != nil {
		return err
	}
	return link(root, "../usr/lib/os-release", "etc/os-release")
}

// ownFolder makes a folder with its mode. What else is in its place is removed.
func ownFolder(root *os.Root, name string, mode fs.FileMode) error {
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = root.Remove(name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.MkdirAll(name, 0o755); err != nil {
		return err
	}
	folder, err := root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	return errors.Join(folder.Chmod(mode), folder.Close())
}

// mountRoot mounts everything that the host sees below its root folder. The caller is in the host's namespaces and
// about to change its root.
func (h Host) mountRoot() error {
	if err := bind(h.Root, h.Root); err != nil {
		return err
	}
	root, err := os.OpenRoot(h.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range append(systemDirs(), systemFiles()...) {
		if err := showSystem(root, name); err != nil {
			return err
		}
	}
	for _, step := range []func() error{
		func() error { return bind(Run(h.RunDir), h.Path("run")) },
		h.mountProc, h.mountSys, h.mountDev,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, b := range h.Binds {
		if err := showFile(root, b.Source, strings.TrimPrefix(b.Target, "/")); err != nil {
			return err
		}
	}
	return nil
}

// showSystem shows /name of the machine in the host, read-only, if there is one.
func showSystem(root *os.Root, name string) error {
	source := filepath.Join("/", name)
	info, err := os.Lstat(source)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return showFile(root, source, name)
	}
	to, err := os.Readlink(source)
	if err != nil {
		return err
	}
	return link(root, to, name)
}

// showFile binds a file or folder of the machine to name in the root, read-only, making what is to be covered.
func showFile(root *os.Root, source, name string) error {
	info, err := os.Stat(source)
	if err != nil {
		return fmt.Errorf("show %q: %w", source, err)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("show %q: %w", source, err)
	}
	if have, err := root.Lstat(name); err == nil && have.IsDir() != info.IsDir() || err == nil && !have.IsDir() &&
		!have.Mode().IsRegular() {
		if err := root.RemoveAll(name); err != nil {
			return fmt.Errorf("show %q: %w", source, err)
		}
	}
	flag := os.O_RDONLY
	if info.IsDir() {
		err = root.MkdirAll(name, 0o755)
	} else {
		flag |= os.O_CREATE
	}
	if err != nil {
		return fmt.Errorf("show %q: %w", source, err)
	}
	covered, err := root.OpenFile(name, flag, 0o644)
	if err != nil {
		return fmt.Errorf("show %q: %w", source, err)
	}
	defer covered.Close()
	return bindmount.PathOver(source, int(covered.Fd()), unix.MOUNT_ATTR_RDONLY)
}

func (h Host) mountProc() error {
	if err := unix.Mount("proc", h.Path("proc"), "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
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

// mountSys shows the devices of the host's network namespace, in which the caller has to be.
func (h Host) mountSys() error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if err := unix.Mount("sysfs", h.Path("sys"), "sysfs", flags|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("mount /sys: %w", err)
	}
	if err := h.mountCgroups(h.Path("sys/fs/cgroup")); err != nil {
		return fmt.Errorf("mount cgroups: %w", err)
	}
	return nil
}

func (h Host) mountDev() error {
	dev := h.Path("dev")
	if err := unix.Mount("dev", dev, "tmpfs", unix.MS_NOSUID, "mode=755"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range devices() {
		source, target := filepath.Join("/dev", name), filepath.Join(dev, name)
		if _, err := os.Stat(source); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := touch(target); err != nil {
			return err
		}
		if err := bind(source, target); err != nil {
			return err
		}
	}
	for _, m := range []struct{ dir, kind, options string }{
		{"pts", "devpts", "newinstance,ptmxmode=0666,mode=0620"},
		{"shm", "tmpfs", "mode=1777"},
		{"mqueue", "mqueue", ""},
	} {
		target := filepath.Join(dev, m.dir)
		if err := os.Mkdir(target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.kind, target, m.kind, unix.MS_NOSUID|unix.MS_NOEXEC, m.options); err != nil {
			return fmt.Errorf("mount /dev/%s: %w", m.dir, err)
		}
	}
	for name, to := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1",
		"stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(to, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return nil
}

// changeRoot makes dir, a mount point, the root of the mount namespace and lets go of all that was there before;
// pivot_root(2).
func changeRoot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change root to %q: %w", dir, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the machine's root: %w", err)
	}
	return unix.Chdir("/")
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

// link makes name in the root a symbolic link to the given place, unless there is something already.
func link(root *os.Root, to, name string) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := root.Symlink(to, name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
