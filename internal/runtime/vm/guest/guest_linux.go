// Package guest is the first process of a virtual machine that a pod has for itself: it mounts what a Linux needs, does
// what the host asks on the link, and serves containerd's task API with containerd's own shim for runc. Its containers
// are what the host's containers are, except that their files come by virtiofs and their network is the guest's own.
//
// The machine is for one pod and lives as long as the link: when the host goes away the guest powers off.
package guest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/vm"
	"mullion.dev/mullion/internal/runtime/vm/link"
)

// Where things lie in the guest. The initial file system has Runc and Modules; see package qemu.
const (
	Runc    = vm.GuestRunc
	Modules = "/lib/modules"

	bundles = "/run/bundles"
)

// Main is the guest's whole life. It returns only if the machine cannot be powered off.
func Main(ctx context.Context, log *slog.Logger) error {
	if err := serve(ctx, log); err != nil {
		log.Error("guest ends", "error", err)
	}
	unix.Sync()
	return unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func serve(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := settle(); err != nil {
		return err
	}
	channel, err := openPort()
	if err != nil {
		return err
	}

	session, err := link.NewGuest(channel)
	if err != nil {
		return err
	}
	go reap(log)
	s, err := newServer(ctx, log)
	if err != nil {
		return err
	}

	for {
		stream, err := session.Accept()
		if err != nil {
			return fmt.Errorf("wait for the host: %w", err)
		}
		go s.stream(ctx, stream)
	}
}

// reap waits for ended processes, containerd's runc and the containers' own, as PID 1 has to.
func reap(log *slog.Logger) {
	ended := make(chan os.Signal, 32)
	signal.Notify(ended, unix.SIGCHLD)
	for range ended {
		if err := reaper.Reap(); err != nil {
			log.Error("processes not reaped", "error", err)
		}
	}
}

// settle makes a Linux of what the kernel has unpacked.
func settle() error {
	if err := leaveInitial(); err != nil {
		return fmt.Errorf("leave the initial file system: %w", err)
	}

	for _, m := range []struct{ at, kind, source, data string }{
		{"/proc", "proc", "proc", ""},
		{"/sys", "sysfs", "sysfs", ""},
		{"/dev", "devtmpfs", "devtmpfs", ""},
		{"/dev/pts", "devpts", "devpts", "ptmxmode=0666,mode=0620"},
		{"/dev/shm", "tmpfs", "shm", "mode=1777"},
		{"/run", "tmpfs", "run", "mode=0711"},
		{"/tmp", "tmpfs", "tmp", "mode=1777"},
		{"/sys/fs/cgroup", "cgroup2", "cgroup2", ""},
	} {
		if err := mount(m.source, m.at, m.kind, m.data); err != nil {
			return err
		}
	}

	if err := loadModules(Modules); err != nil {
		return err
	}
	if err := mount(link.Share, link.SharedAt, "virtiofs", ""); err != nil {
		return err
	}

	for _, dir := range []string{bundles, link.FIFOs} {
		if err := os.MkdirAll(dir, 0o711); err != nil {
			return err
		}
	}

	// As the host's pods have it: dataplane's podSysctls.
	for name, value := range map[string]string{
		"net/ipv4/ip_unprivileged_port_start": "0",
		"net/ipv4/ping_group_range":           "0\t2147483647",
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys", name), []byte(value), 0); err != nil {
			return err
		}
	}

	return nil
}

func mount(source, at, kind, data string) error {
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := unix.Mount(source, at, kind, unix.MS_NOSUID, data); err != nil {
		return fmt.Errorf("mount %s at %q: %w", kind, at, err)
	}
	return nil
}

// leaveInitial makes a file system in memory the root: runc makes a container's root by pivot_root, which the kernel
// does not do from its initial file system
// (https://docs.kernel.org/filesystems/ramfs-rootfs-initramfs.html#what-is-rootfs).
func leaveInitial() error {
	const root = "/newroot"
	if err := os.Mkdir(root, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("root", root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}

	for _, dir := range []string{filepath.Dir(Runc), Modules} {
		if err := os.CopyFS(filepath.Join(root, dir), os.DirFS(dir)); err != nil {
			return err
		}
		if err := os.RemoveAll(dir); err != nil { // its memory
			return err
		}
	}

	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return err
	}
	if err := unix.Chroot("."); err != nil {
		return err
	}

	return os.Chdir("/")
}

// loadModules loads the kernel's modules in a folder, in the order of their names.
func loadModules(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := loadModule(filepath.Join(dir, file.Name())); err != nil {
			return fmt.Errorf("load module %s: %w", file.Name(), err)
		}
	}
	return nil
}

func loadModule(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := 0
	if !strings.HasSuffix(path, ".ko") { // the kernel unpacks what it was packed for
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}

	err = unix.FinitModule(int(f.Fd()), "", flags)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// openPort opens the virtio serial port of the link.
func openPort() (*os.File, error) {
	ports, err := filepath.Glob("/sys/class/virtio-ports/*")
	if err != nil {
		return nil, err
	}
	for _, port := range ports {
		name, err := os.ReadFile(filepath.Join(port, "name"))
		if err == nil && strings.TrimSpace(string(name)) == link.Port {
			return os.OpenFile(filepath.Join("/dev", filepath.Base(port)), os.O_RDWR|unix.O_NONBLOCK, 0)
		}
	}
	return nil, fmt.Errorf("find the link to the host: none of the ports %q is called %q", ports, link.Port)
}

// dial connects to a port of the guest itself.
func dial(ctx context.Context, port uint16) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		return conn, nil
	}
	if conn, err6 := (&net.Dialer{}).DialContext(ctx, "tcp", fmt.Sprintf("[::1]:%d", port)); err6 == nil {
		return conn, nil
	}
	return nil, err
}
