// Package cluster is the composition root: it turns a cluster's specification into the ordered parts that make it, and
// brings it up and down. Everything a cluster leaves on the machine is named here.
package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
)

// layoutVersion is the version of the data folder's layout.
const layoutVersion = "1"

// runRoot is the parent of all clusters' run folders.
const runRoot = "/run/mullion"

// tag is a short name made from a data folder's path, for things whose names are limited: 8 hexadecimal digits.
func tag(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:4])
}

// Paths are a cluster's places on disk: Data holds its state, Bin the programs.
type Paths struct {
	Data string
	Bin  string
}

func (p Paths) join(parts ...string) string {
	return filepath.Join(append([]string{p.Data}, parts...)...)
}

// dnsZones is the folder where a user names the servers of single DNS zones.
func (p Paths) dnsZones() string { return p.join("dns") }

// Run is the folder of sockets, pinned network namespaces and the engine's mounts. It is not in the data folder since
// runc with user namespaces needs every folder above a container's root to be traversable (0711), and since it should
// be gone after a reboot; its name is derived from the data folder's.
func (p Paths) Run() string { return filepath.Join(runRoot, tag(p.Data)) }

// Socket is the supervisor's Unix socket.
func (p Paths) Socket() string { return filepath.Join(p.Run(), "supervisor.sock") }

// Lock is the file that the supervisor holds locked while it lives.
func (p Paths) Lock() string { return filepath.Join(p.Run(), "supervisor.lock") }

// EngineState is containerd's state folder, under which containers' root file systems are mounted.
func (p Paths) EngineState() string { return filepath.Join(p.Run(), "containerd") }

// Spec is the resolved specification of the cluster that is, or was, up.
func (p Paths) Spec() string { return p.join("cluster.json") }

// Logs is the folder of log files, one a component.
func (p Paths) Logs() string { return p.join("logs") }

// AdminKubeconfig is the kubeconfig of the cluster's administrator, mode 0600.
func (p Paths) AdminKubeconfig() string { return p.join("kubeconfig", "admin.kubeconfig") }

// ContainerdSocket is the engine's socket.
func (p Paths) ContainerdSocket() string { return filepath.Join(p.Run(), "containerd.sock") }

// Node is the folder of one Windows host.
func (p Paths) Node(name string) string { return p.join("nodes", name) }

// nodeRun is the folder of what a Windows host has that does not survive a reboot.
func (p Paths) nodeRun(name string) string { return filepath.Join(p.Run(), "nodes", name) }

// Program is one of the Linux programs that Mullion carries.
func (p Paths) Program(name string) string { return filepath.Join(p.Bin, name) }

// fileModes gives the files and folders that this process makes, and those that its children make, the modes they are
// made with: with the umask of a hardened machine (027 or 077) the programs with users of their own cannot reach what
// they are to read.
func fileModes() { unix.Umask(0o022) }

// Prepare makes the data folder, or checks that the one there is of this layout. The caller's umask is changed for it.
func (p Paths) Prepare() error {
	fileModes()
	if err := os.MkdirAll(p.Data, 0o700); err != nil {
		return err
	}
	if err := os.Chmod(p.Data, 0o700); err != nil {
		return err
	}
	version := p.join("version")
	got, err := os.ReadFile(version)
	switch {
	case err == nil && strings.TrimSpace(string(got)) != layoutVersion:
		return fmt.Errorf(
			"use data folder %q: its layout is version %s, this program knows %s; run `mullion down` of the version that made it", p.Data, strings.TrimSpace(string(got)), layoutVersion)
	case err == nil:
	case errors.Is(err, os.ErrNotExist):
		entries, err := os.ReadDir(p.Data)
		if err != nil {
			return err
		}
		if len(entries) > 0 {
			return fmt.Errorf(
				"use data folder %q: it holds files that Mullion did not make; choose an empty or new folder with --data-dir", p.Data)
		}
		if err := atomicfile.Write(version, []byte(layoutVersion+"\n"), 0o600); err != nil {
			return err
		}
	default:
		return err
	}
	for _, dir := range []string{p.Logs(), p.join("nodes")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return os.MkdirAll(p.Run(), 0o711)
}
