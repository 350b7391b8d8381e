// Package layout names everything that a cluster has on the machine: files, folders and sockets, the link, the cgroup,
// systemd's scope. A cluster leaves nothing behind that is not named here. The package also reads and writes the
// cluster's specification in the data folder.
package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/atomicfile"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/cluster/bundle"
	"mullion.dev/mullion/internal/process/systemd"
	"mullion.dev/mullion/internal/spec"
)

// layoutVersion is the version of the data folder's layout.
const layoutVersion = "1"

// RunRoot is the parent of all clusters' run folders.
const RunRoot = "/run/mullion"

// Files of a run folder.
const (
	LockFile = "supervisor.lock"
	DataFile = "data-dir" // names the data folder, of whose path the run folder's name has only a hash
)

// EngineNamespace is the containerd namespace that holds a cluster's images and containers.
const EngineNamespace = "k8s.io"

// tag returns a short name made from a data folder's path, for things whose names are limited: 8 hexadecimal digits.
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

// DNSZones returns the folder where a user names the servers of single DNS zones.
func (p Paths) DNSZones() string { return p.join("dns") }

// Run returns the folder of sockets, pinned network namespaces and the engine's mounts. It is not in the data folder
// since runc with user namespaces needs every folder above a container's root to be traversable (0711), and since it
// should be gone after a reboot; its name is derived from the data folder's.
func (p Paths) Run() string { return filepath.Join(RunRoot, tag(p.Data)) }

// Pins returns the folder in which the cluster's network namespaces are pinned.
func (p Paths) Pins() string { return filepath.Join(p.Run(), "netns") }

// Socket returns the supervisor's Unix socket.
func (p Paths) Socket() string { return filepath.Join(p.Run(), "supervisor.sock") }

// View returns the Unix socket at which the cluster can be read without root. Every user of the machine may reach it;
// who is answered, package view decides.
func (p Paths) View() string { return filepath.Join(p.Run(), "view.sock") }

// Docker returns the Unix socket of Docker's API, where there is Docker's engine in place of a cluster.
func (p Paths) Docker() string { return filepath.Join(p.Run(), "docker.sock") }

// Viewers returns the file that names who is answered there besides root and a group.
func (p Paths) Viewers() string { return p.join("viewers.json") }

// ViewWork returns the folder of what is gathered for a reader, and removed when it is sent.
func (p Paths) ViewWork() string { return p.join("view") }

// Lock returns the file that the supervisor holds locked while it lives.
func (p Paths) Lock() string { return filepath.Join(p.Run(), LockFile) }

// EngineState returns containerd's state folder, under which containers' root file systems are mounted.
func (p Paths) EngineState() string { return filepath.Join(p.Run(), "containerd") }

// Spec returns the resolved specification of the cluster that is, or was, up.
func (p Paths) Spec() string { return p.join("cluster.json") }

// Logs returns the folder of log files, one a component.
func (p Paths) Logs() string { return p.join("logs") }

// LogLevel returns the file with how much Mullion's programs log, for logging.Load; without it that is the usual level.
func (p Paths) LogLevel() string { return p.join("log-level") }

// AdminKubeconfig returns the kubeconfig of the cluster's administrator, mode 0600.
func (p Paths) AdminKubeconfig() string { return p.join("kubeconfig", "admin.kubeconfig") }

// ContainerdSocket returns the engine's socket.
func (p Paths) ContainerdSocket() string { return filepath.Join(p.Run(), "containerd.sock") }

// ContainerdRoot returns the folder of what containerd keeps: images and snapshots.
func (p Paths) ContainerdRoot() string { return p.join("containerd", "root") }

// ContainerdConfig returns containerd's configuration file.
func (p Paths) ContainerdConfig() string { return p.join("containerd", "config.toml") }

// Etcd returns the folder of etcd's data.
func (p Paths) Etcd() string { return p.join("etcd") }

// Registry returns the folder of the images in the cluster's registry, which belongs to that program's user.
func (p Paths) Registry() string { return p.join("registry") }

// Wine returns the folder of the Wine system layers.
func (p Paths) Wine() string { return p.join("wine") }

// WinePrograms returns the folder of the Windows programs that hosts share.
func (p Paths) WinePrograms() string { return p.join("wine", "programs") }

// Node returns the folder of one node's host, Windows or Linux.
func (p Paths) Node(name string) string { return p.join("nodes", name) }

// NodeRun returns the folder of the files of a node's host that do not survive a reboot.
func (p Paths) NodeRun(name string) string { return filepath.Join(p.Run(), "nodes", name) }

// The files of a machine that joined, or is about to. They are written before there is anything of the machine in the
// cluster.

// JoinCA returns the file of the cluster's authority.
func (p Paths) JoinCA() string { return p.join("join", "ca.crt") }

// JoinKubeconfig returns the kubeconfig with the bootstrap token that the machine joined by, mode 0600.
func (p Paths) JoinKubeconfig() string { return p.join("join", "bootstrap.kubeconfig") }

// JoinClaim returns the file that says which part of the underlay the machine has, or was about to claim.
func (p Paths) JoinClaim() string { return p.join("join", "claim.json") }

// JoinNode returns the folder with the certificate of a node that could not be deleted when a join was taken back.
func (p Paths) JoinNode(name string) string { return p.join("join", "nodes", name) }

// Leftover reports whether the data folder has the remains of a join that was interrupted before it wrote the cluster's
// specification.
func (p Paths) Leftover() bool {
	_, specErr := os.Stat(p.Spec())
	_, claimErr := os.Stat(p.JoinClaim())
	return errors.Is(specErr, os.ErrNotExist) && claimErr == nil
}

// Program returns the path of one of the Linux programs that Mullion carries.
func (p Paths) Program(name string) string { return filepath.Join(p.Bin, name) }

// Kubernetes returns the bundle of a version, "" being the one that Mullion comes with: that of the cluster's own, in
// the data folder, or else that beside Mullion's programs. One without etcd has that of the version that Mullion comes
// with.
func (p Paths) Kubernetes(v string) bundle.Bundle {
	usual := bundle.At(p.Bin, version.Kubernetes)
	if v == "" {
		return usual
	}
	b := bundle.At(p.Data, v)
	if !b.There() {
		b = bundle.At(p.Bin, v)
	}
	b.Spare = usual.Dir
	return b
}

// Link returns the name of the machine's link to the cluster's network.
func (p Paths) Link() string { return "mullion" + tag(p.Data) }

// Scope returns the name of systemd's unit of the cluster's processes.
func (p Paths) Scope() string { return "mullion-" + tag(p.Data) + ".scope" }

// CgroupParent returns the cgroup, below each controller's root, of all containers of a cluster: the cgroup that
// systemd has delegated to the cluster's scope, or else one that Mullion makes.
func (p Paths) CgroupParent() string {
	if delegated, ok := systemd.Delegated(p.Scope()); ok {
		return delegated
	}
	return "/mullion-" + tag(p.Data)
}

// The cgroups of what is in no node's. Such a name is no node's.
const (
	Supervisor = systemd.Inner
	Control    = "@control"
	Agents     = "@agents"
	Hosts      = "@hosts"
)

// OwnCgroup returns the cgroup in which those cgroups are, beside that of the containers, so that the machine's other
// work has its place between the two. Below systemd's scope, which is one of systemd's many, it is the same as that.
func (p Paths) OwnCgroup() string {
	if delegated, ok := systemd.Delegated(p.Scope()); ok {
		return delegated
	}
	return "/mullion-" + tag(p.Data) + "@own"
}

// Cgroup returns the cgroup of one of these names.
func (p Paths) Cgroup(name string) string { return p.OwnCgroup() + "/" + name }

// Nice returns the file that is there if all of the cluster gives way to the machine's other work.
func (p Paths) Nice() string { return p.join("nice") }

// LoadSpec reads the specification of the cluster that is, or was, up; os.ErrNotExist if there is none.
func (p Paths) LoadSpec() (spec.Cluster, error) {
	data, err := os.ReadFile(p.Spec())
	if err != nil {
		return spec.Cluster{}, err
	}
	var c spec.Cluster
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read %q: %w", p.Spec(), err)
	}
	if err := c.Validate(); err != nil {
		return c, fmt.Errorf("read %q: %w", p.Spec(), err)
	}
	return c.WithDefaults(), nil
}

// SaveSpec writes the specification of the cluster.
func (p Paths) SaveSpec(c spec.Cluster) error { return atomicfile.WriteJSON(p.Spec(), c) }

// fileModes keeps the umask of a hardened machine (027 or 077) from the files that this process and its children make.
// With such a umask the programs that have users of their own could not read their files.
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

	file := p.join("version")
	got, err := os.ReadFile(file)
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

		if err := atomicfile.Write(file, []byte(layoutVersion+"\n"), 0o600); err != nil {
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

	if err := os.MkdirAll(p.Run(), 0o711); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(p.Run(), DataFile), []byte(p.Data+"\n"), 0o600)
}

// DataOf returns the data folder that a cluster's run folder belongs to.
func DataOf(run string) (string, error) {
	text, err := os.ReadFile(filepath.Join(run, DataFile))
	return strings.TrimSuffix(string(text), "\n"), err
}
