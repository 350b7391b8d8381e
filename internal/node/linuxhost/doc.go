// Package linuxhost owns the host of a Linux node: pinned mount, UTS, IPC and cgroup namespaces beside a network
// namespace that somebody else pins, and the root file system that is seen in them. It starts programs inside. It knows
// neither the kubelet nor what its files say, and makes no network.
//
//	           Ensure                        Remove, or the machine's reboot
//	(nothing) ────────▶ up (four pins) ─────────────────────────────────────▶ (nothing)
//
// A Linux host has no first process: a pin is a file with the namespace bound onto it, so the namespaces, and what
// containerd and the kubelet mount in them, outlive every process of the host. Whatever is killed, pods go on.
//
// # The root
//
// The host's root is a folder of the node's own with the machine's programs (/usr and what stands beside it) bound into
// it read-only. /etc, /var, /run, /home and the rest are the node's: a hostPath volume shows the node's files, not the
// machine's. /dev has the harmless devices, /sys is read-only, and the switches of the kernel that a kubelet sets for
// the whole machine are plain files here.
//
// # PID namespace
//
// There is none: a PID namespace dies with its first process, and every container of the node would with it. A pod with
// hostPID therefore sees the machine's processes.
package linuxhost

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
)

// ErrDown says that a host's namespaces are not there.
var ErrDown = errors.New("the host is not up")

// Host describes a Linux host. It is plain data.
type Host struct {
	// Name is the host name.
	Name string `json:"name"`
	// Netns is the pinned network namespace of the host.
	Netns string `json:"netns"`
	// Root is the folder that becomes the host's root. It keeps what is written there.
	Root string `json:"root"`
	// RunDir is a folder of the host's own that does not survive a reboot: it holds the pins and, in its folder run,
	// the host's /run.
	RunDir string `json:"runDir"`
	// Cgroup is the host's cgroup below each hierarchy's root, "/a/b". In the host it is "/".
	Cgroup string `json:"cgroup"`
	// Programs are folders of the host in which commands are looked for before those of the machine.
	Programs []string `json:"programs,omitempty"`
	// Usr, unless "", is a folder of the machine that keeps what is written to the host's /usr. Without it /usr is
	// read-only.
	Usr string `json:"usr,omitempty"`
	// Binds are shown in the host read-only.
	Binds []Bind `json:"binds,omitempty"`
}

// Bind shows Source, a folder of the machine, at Target in the host.
type Bind struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// PATH returns the variable of that name for the host's commands.
func (h Host) PATH() string {
	return strings.Join(append(slices.Clone(h.Programs), "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin",
		"/sbin", "/bin"), ":")
}

// Run returns the machine's path of the /run of the host whose RunDir it is.
func Run(runDir string, parts ...string) string {
	return filepath.Join(append([]string{runDir, "run"}, parts...)...)
}

// Path returns the machine's path of a file of the host, except below /run, /usr and what else is mounted in the host
// alone.
func (h Host) Path(parts ...string) string {
	return filepath.Join(append([]string{h.Root}, parts...)...)
}

func (h Host) pins() string { return filepath.Join(h.RunDir, "ns") }

func (h Host) pin(name string) string { return filepath.Join(h.pins(), name) }
