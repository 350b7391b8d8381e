package cluster

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/spec"
	"mullion.dev/mullion/internal/wine"
)

// choosePort checks that the wanted TCP port of the machine is free, or finds a free one for 0.
func choosePort(address string, port int) (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return 0, &ConflictError{
			Err:    fmt.Errorf("listen on %s port %d for the API server: %w", address, port, err),
			Remedy: "choose another networking.apiServerPort in cluster.yaml, or leave it out to get a free one",
		}
	case err != nil:
		return 0, &ConflictError{
			Err:    fmt.Errorf("listen on %s port %d for the API server: %w", address, port, err),
			Remedy: "choose an address of this machine",
		}
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil //nolint:forcetypeassert // a TCP listener has a TCP address
}

// freeOfOthers refuses an underlay subnet that the machine already uses: another cluster's, or a network of the machine's own.
func freeOfOthers(c spec.Cluster, paths Paths) error {
	if c.Foreign() { // its nodes are on a network of the machine's own
		return nil
	}
	underlay := c.Networking.Underlay()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && p.Overlaps(underlay) {
			return &ConflictError{
				Err:    fmt.Errorf("use underlay subnet %s: this machine already has the address %s", underlay, p),
				Remedy: fmt.Sprintf("another cluster may be up (`mullion --data-dir DIR down`); or set networking.underlaySubnet in cluster.yaml (data folder here: %s)", paths.Data),
			}
		}
	}
	return nil
}

// Preflight checks what the machine must have before a cluster is brought up. Its error lists all that is missing.
func Preflight(paths Paths) error {
	var errs []error
	if _, err := wine.Find(); err != nil {
		errs = append(errs, err)
	}
	for _, program := range []string{"runc", "nft"} {
		if _, err := lookPath(program); err != nil {
			errs = append(errs, fmt.Errorf("find program %q: %w", program, err))
		}
	}
	for _, program := range []string{
		"mullion-node", "mullion-init", "mullion-pause", "containerd", "containerd-shim-runc-v2", "coredns", "metrics-server", "cni/ptp", "cni/portmap", "cni/host-local",
		"windows/kubelet.exe", "windows/win-bridge.exe", "windows/host-local.exe", "windows/shim/bcryptprimitives.dll",
	} {
		if _, err := os.Stat(paths.Program(program)); err != nil {
			errs = append(errs, fmt.Errorf("find %q beside mullion (make build makes it): %w", program, err))
		}
	}
	return errors.Join(errs...)
}

// holdsOverlays refuses a folder, which need not be there yet, where overlayfs cannot have its upper folders: Linux has none on
// overlayfs itself, which is what a container's own files are on.
func holdsOverlays(folder string) error {
	var st unix.Statfs_t
	for at := folder; ; at = filepath.Dir(at) {
		err := unix.Statfs(at, &st)
		if errors.Is(err, unix.ENOENT) && at != filepath.Dir(at) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look at the file system of data folder %q: %w", folder, err)
		}
		if st.Type == unix.OVERLAYFS_SUPER_MAGIC {
			return &ConflictError{
				Err:    fmt.Errorf("use data folder %q: it is on overlayfs, as a container's own files are, and there Windows hosts cannot have their drives", folder),
				Remedy: "choose a folder on ext4, xfs or btrfs with --data-dir; in a container, one on a volume",
			}
		}
		return nil
	}
}

// lookPath finds a program also where an ordinary user's PATH does not lead.
func lookPath(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/sbin", "/sbin"} {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", exec.ErrNotFound
}
