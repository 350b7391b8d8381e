package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// DaemonConfig is what our own containerd needs to know. All paths are absolute.
type DaemonConfig struct {
	// Root is the folder of images and snapshots. It may lie below a folder that only root can enter.
	Root string
	// State is the folder of running tasks. Every folder above it must be enterable by others (mode 0711): runc sets up
	// the root file system from inside the container's user namespace and walks to it by path (runc 1.1.5:
	// "error preparing rootfs: mount …: permission denied" otherwise).
	State string
	// Socket is the gRPC socket; the ttRPC socket is the same with ".ttrpc" appended.
	Socket string
	// LinuxCRI keeps containerd's own CRI plugins, which Linux nodes use.
	LinuxCRI bool
}

// TOML returns the config.toml of containerd 2.x (configuration version 3:
// https://github.com/containerd/containerd/blob/v2.4.2/docs/PLUGINS.md).
func (c DaemonConfig) TOML() string {
	disabled := []string{
		"io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
		"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.blockfile",
		"io.containerd.snapshotter.v1.erofs",
		"io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing", "io.containerd.nri.v1.nri",
	}

	if !c.LinuxCRI {
		disabled = append(disabled, "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
			"io.containerd.grpc.v1.cri",
			"io.containerd.podsandbox.controller.v1.podsandbox", "io.containerd.internal.v1.cri",
			"io.containerd.internal.v1.opt")
	}

	var b strings.Builder
	fmt.Fprintf(&b, "version = 3\nroot = %q\nstate = %q\n", c.Root, c.State)
	fmt.Fprintf(&b, "disabled_plugins = [%s]\n", quoteList(disabled))
	fmt.Fprintf(&b, "oom_score = -999\n\n[grpc]\n  address = %q\n\n[ttrpc]\n  address = %q\n", c.Socket,
		c.Socket+".ttrpc")
	// Without this option the sockets of containerd's shims are in /run/containerd/s whatever the state folder is, and
	// a shim that is killed leaves its socket there.
	fmt.Fprintf(&b, "\n[plugins.'io.containerd.shim.v1.manager']\n  socket_dir = %q\n", c.shimSockets())

	return b.String()
}

// shimSockets returns the folder of the shims' sockets; containerd refuses a path of more than 42 bytes.
func (c DaemonConfig) shimSockets() string { return filepath.Join(filepath.Dir(c.Socket), "s") }

// Write writes the config.toml to path and makes the folders it names with the modes they need.
func (c DaemonConfig) Write(path string) error {
	for _, d := range []struct {
		path string
		mode os.FileMode
	}{
		{c.Root, 0o700},
		{c.State, 0o711},
		{filepath.Dir(c.Socket), 0o711},
		{c.shimSockets(), 0o700},
		{filepath.Dir(path), 0o711},
	} {
		if err := os.MkdirAll(d.path, d.mode); err != nil {
			return fmt.Errorf("make containerd folder %q: %w", d.path, err)
		}
	}

	return atomicfile.Write(path, []byte(c.TOML()), 0o600)
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, ", ")
}
