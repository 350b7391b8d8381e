// Package vm says what a virtual machine of a pod is, for those who ask for one (package engine) and those who make one
// (packages shim and guest). A machine is a container of containerd with a shim of its own, which boots QEMU, and the
// pod's other containers are of the same shim, which starts them in the guest:
//
//	containerd ──ttrpc──▶ shim ──link──▶ agent in the guest ──▶ containerd's own task service ──▶ runc
//	                       │ QEMU                                   │
//	                       └ virtiofsd ◀──────── files ─────────────┘
package vm

import (
	"path/filepath"

	"mullion.dev/mullion/internal/runtime/vm/qemu"
)

// GroupAnnotation of a container's specification is the id of its machine: containers of one group have one shim
// (https://github.com/containerd/containerd/blob/v2.4.2/cmd/containerd-shim-runc-v2/manager/manager_linux.go).
const GroupAnnotation = "io.kubernetes.cri.sandbox-id"

// Annotation of a container's specification holds a Spec, as JSON.
const Annotation = "mullion.dev/machine"

// GuestRunc is where the guest has runc.
const GuestRunc = "/bin/runc"

// Spec is what the shim needs to know of a machine. All paths are absolute.
type Spec struct {
	// Dir is the machine's own folder, which the shim makes and removes. Others can enter the folders above it.
	Dir string `json:"dir"`

	Parts       qemu.Parts       `json:"parts"`
	Initrd      string           `json:"initrd"`
	Accelerator qemu.Accelerator `json:"accelerator"`
	User        qemu.User        `json:"user"`
	// CPUs is the number of processors, Memory the memory in bytes.
	CPUs   int64 `json:"cpus"`
	Memory int64 `json:"memory"`
	// OOMScore says how soon Linux kills the machine when there is no memory left: /proc/PID/oom_score_adj.
	OOMScore int `json:"oomScore"`
	// NetNS is the path of the network namespace whose interfaces the guest gets.
	NetNS    string `json:"netns"`
	Hostname string `json:"hostname"`
	// Cgroup is the machine's, in which the shim is.
	Cgroup string `json:"cgroup"`
}

// Share returns the folder that the guest sees as link.SharedAt.
func (s Spec) Share() string { return filepath.Join(s.Dir, "share") }

// Shared returns what the guest sees of a container: its root file system, mounts and specification.
func (s Spec) Shared(container string) string { return filepath.Join(s.Share(), container) }

// PortSocket returns the Unix socket by which others connect to ports of the guest: link.Dial, without the stream.
func (s Spec) PortSocket() string { return filepath.Join(s.Dir, "ports.sock") }
