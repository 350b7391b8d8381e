package winhost

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/node/hostroot"
)

func (h Host) setUp() error {
	// The host sees what the machine mounts later in the shared folder; the machine does not see what the host mounts.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Sethostname([]byte(h.Name)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := h.enterRoot(); err != nil {
		return fmt.Errorf("make the root: %w", err)
	}
	return os.WriteFile(readyFile, nil, 0o600)
}

// enterRoot puts the host's root together and changes to it.
func (h Host) enterRoot() error {
	if err := unix.Mount("root", h.Root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount it: %w", err)
	}
	root, err := hostroot.Open(h.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := h.fillRoot(root); err != nil {
		return err
	}

	if err := root.Enter(); err != nil {
		return err
	}
	// Only the mount, not what is mounted in it.
	return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, "")
}

func (h Host) fillRoot(root *hostroot.Root) error {
	for name, mode := range map[string]fs.FileMode{
		"etc": 0o755, "tmp": 0o777 | fs.ModeSticky, "run": 0o755, "var": 0o755, "dev": 0o755, "proc": 0o555, "sys": 0o555,
	} {
		if err := root.Folder(name, mode); err != nil {
			return err
		}
	}

	if err := root.ShowPrograms(); err != nil {
		return err
	}
	for _, name := range []string{"etc/localtime", "etc/fonts"} { // Wine asks for the time zone and, loudly, for fonts
		if err := root.ShowSame(name); err != nil {
			return err
		}
	}

	if err := h.mountSystem(root); err != nil {
		return err
	}
	return h.showOwn(root)
}

// showOwn shows the host's own files.
func (h Host) showOwn(root *hostroot.Root) error {
	for _, b := range h.Binds {
		if err := root.Show(b.Source, b.Target); err != nil {
			return err
		}
	}

	for _, dir := range h.Programs {
		if err := root.Show(dir, dir); err != nil {
			return err
		}
	}

	for _, dir := range h.folders() {
		if err := root.Share(dir, dir); err != nil {
			return err
		}
	}

	for _, dir := range []string{h.Shares, h.Volumes} {
		if dir == "" {
			continue
		}
		if err := root.ShareMounts(dir, dir); err != nil {
			return err
		}
	}

	return nil
}

// mountSystem mounts the file systems of the kernel, and /tmp, where Wine keeps the sockets of its server.
func (h Host) mountSystem(root *hostroot.Root) error {
	const harmless = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	tmp := func() error { return root.Share(h.Tmp, "tmp") }
	if h.Tmp == "" {
		tmp = func() error { return root.Mount("tmpfs", "tmp", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777") }
	}

	if err := errors.Join(
		tmp(),
		root.Mount("proc", "proc", harmless, ""),
		root.Mount("sysfs", "sys", harmless|unix.MS_RDONLY, ""),
		root.MountDev(),
	); err != nil {
		return err
	}

	for _, name := range machineSettings() {
		if err := root.Show(filepath.Join(h.Root, name), name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	return nil
}

// machineSettings returns the files of /proc by which root changes the machine. No program of a Windows host has to.
func machineSettings() []string {
	return []string{"proc/sys", "proc/sysrq-trigger", "proc/irq", "proc/bus", "proc/fs"}
}

// folders returns the folders that the host shares with the machine, a folder before what is in it.
func (h Host) folders() []string {
	var folders []string
	for _, dir := range append([]string{h.Shared}, h.Folders...) {
		if dir != "" {
			folders = append(folders, filepath.Clean(dir))
		}
	}
	slices.Sort(folders)
	return slices.Compact(folders)
}
