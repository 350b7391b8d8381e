package engine

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"mullion.dev/mullion/internal/runtime/userns"
)

// Container is what Create needs to know of a Windows container.
type Container struct {
	// ID names the container, its snapshot and its cgroup.
	ID string
	// Pod names the cgroup that the container's is in, with those of the other containers of its pod; Remove leaves it
	// to RemovePod. If it is "" there is none.
	Pod string
	// Labels are kept by containerd; List returns them.
	Labels map[string]string
	// ChainID names the snapshot of the image's unpacked top layer; a container with a scratch has none.
	ChainID string
	// Scratch, unless "", is a folder of the machine with the folders fs and work, to which the container writes, and
	// which outlasts it. Layers are the folders below it, top first, each with a folder of C:. They are open, and the
	// caller closes them after Create.
	Scratch string
	Layers  []*os.File
	// Ephemeral is a container that never starts again once the machine has: the files of its own layer need not reach
	// the disk, neither when its programs flush them nor when it ends.
	Ephemeral bool
	// Args, Env and Dir start PID 1; Dir is a Linux path in the container.
	Args []string
	Env  []string
	Dir  string
	// UID is the user in the container: 0 or a user of the system layer's etc/passwd; the group has the same id.
	UID uint32
	// Account is the account of the image that this user is; "": it is none, and its name is that of etc/passwd.
	Account string
	// Hostname is what the container's Windows calls itself.
	Hostname string
	// NetNS is the path of the network namespace; empty means one of the container's own without any interface.
	NetNS string
	// Mounts are folders and files of the machine that the container sees on its drives.
	Mounts []Mount
	// Volumes are Windows paths of folders that the container's user writes to, and that go with the container.
	Volumes []string
	// SystemFiles are files of the machine bound read-only to Linux paths that the system layer has, as
	// /etc/resolv.conf.
	SystemFiles []BindMount
	// Shares is the root of a mount that has the SMB shares which the container's programs use, as <server>/<share>;
	// nil: they use none. It is attached nowhere: Create moves it, and the caller closes the file afterwards.
	Shares *os.File
	// WorkDir is a folder of the machine, of MakeWorkDir, that is given to the container's user, seen as WorkDirTarget.
	WorkDir string
	// Terminal gives PID 1 a terminal.
	Terminal bool
	// Resources are the limits.
	Resources Resources
	// Kind, unless nil, has the container run elsewhere than on the machine's own kernel.
	Kind Kind

	// DiskIDs gives its programs the ids that are on disk instead of those of its pod; Create sets it if a mount knows
	// no others.
	DiskIDs bool
}

// addLabels adds labels of the engine's own. The map that the caller gave is left as it is.
func (c *Container) addLabels(labels map[string]string) {
	maps.Copy(labels, c.Labels)
	c.Labels = labels
}

// WorkDirTarget is where a container sees its WorkDir: exit files lie there.
const WorkDirTarget = "/run/mullion"

// Mount is a folder or file of the machine that a container sees at Target.
type Mount struct {
	// Source is the open folder or file; O_PATH is enough. Create binds it, and the caller closes it afterwards.
	Source *os.File
	// Target is a Windows path in the container; it may lack the drive and use any case.
	Target string
	// LinuxTarget, unless "", is a path outside C: at which the container's Linux side sees the same, read-only. The
	// system layer has a file there.
	LinuxTarget string
	// ReadOnly refuses writing.
	ReadOnly bool
	// Own gives the container's user what the source's owner has: it is a person's folder, not a volume of pods. What
	// root owns is given so only to be read: whoever can write as root has the machine.
	Own bool
}

// spec returns the OCI specification. sources are the paths on the machine of c.Mounts, and targets their places in the
// root file system, in the same order.
func (e *Engine) spec(c Container, sources, targets []string) *specs.Spec {
	k := e.kindOf(c)
	ids := k.ids(c)
	idMap := []specs.LinuxIDMapping{{ContainerID: 0, HostID: ids.Base, Size: ids.Size}}
	spaces := []specs.LinuxNamespace{
		{Type: specs.UserNamespace},
		{Type: specs.PIDNamespace},
		{Type: specs.MountNamespace},
		{Type: specs.IPCNamespace},
		{Type: specs.UTSNamespace},
		{Type: specs.CgroupNamespace},
		{Type: specs.NetworkNamespace, Path: c.NetNS},
	}

	score := e.oomScore(c.Resources)
	s := &specs.Spec{
		Version:  specs.Version,
		Hostname: c.Hostname,
		Root:     &specs.Root{Path: "rootfs"},
		Process: &specs.Process{
			Terminal:        c.Terminal,
			User:            k.user(c.UID),
			Args:            c.Args,
			Env:             c.Env,
			Cwd:             c.Dir,
			Capabilities:    k.capabilities(),
			NoNewPrivileges: true,
			OOMScoreAdj:     &score, // or that of containerd's shim is inherited, which is next to containerd's
			// Open files are limited as containerd itself is, whose limit cannot be raised from inside a user
			// namespace.
			Rlimits: userns.Rlimits(mostTasks),
		},
		Mounts: append(e.systemMounts(c), bindMounts(c.Mounts, sources, targets)...),
		Linux: &specs.Linux{
			UIDMappings:   idMap,
			GIDMappings:   idMap,
			Namespaces:    spaces,
			CgroupsPath:   path.Join(e.opts.CgroupParent, c.Pod, c.ID),
			Resources:     c.Resources.cgroup(e.swap),
			MaskedPaths:   maskedPaths(),
			ReadonlyPaths: []string{"/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		},
	}
	k.adapt(c, s)
	s.Linux.Resources.Devices = append([]specs.LinuxDeviceCgroup{{
		Allow:  false,
		Access: "rwm",
	}}, s.Linux.Resources.Devices...)

	s.Linux.Seccomp = seccompProfile(s)
	return s
}

// mostTerminals bounds a container's terminals. Those of all containers of the machine come out of one stock, of 3,072
// as Linux has it; 1,024 more are left to the machine's own programs
// (https://github.com/torvalds/linux/blob/v6.12/fs/devpts/inode.c, devpts_new_index). Each `exec` with a terminal takes
// one, and Wine's consoles take none.
const mostTerminals = "max=32"

// sharesTarget is where Wine looks for \\server\share.
const sharesTarget = "/dosdevices/unc"

// systemMounts returns the mounts that every container has. There is no /sys: the kernel lets only the owner of the
// network namespace mount sysfs, and a pod's network namespace belongs to the machine.
func (e *Engine) systemMounts(c Container) []specs.Mount {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{
			Destination: "/dev",
			Type:        "tmpfs",
			Source:      "tmpfs",
			Options:     []string{"nosuid", "strictatime", "mode=755", "size=65536k"},
		},
		{
			Destination: "/dev/pts",
			Type:        "devpts",
			Source:      "devpts",
			Options:     []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", mostTerminals},
		},
		{
			Destination: "/dev/shm",
			Type:        "tmpfs",
			Source:      "shm",
			// as Linux containers have it: https://github.com/containerd/containerd/blob/v2.4.2/pkg/oci/mounts.go#L46
			Options: []string{"nosuid", "noexec", "nodev", "mode=1777", "size=65536k"},
		},
		{
			Destination: "/tmp",
			Type:        "tmpfs",
			Source:      "tmpfs",
			Options:     []string{"nosuid", "nodev", "mode=1777", c.Resources.tmpSize(e.opts.Memory)},
		},
		{
			Destination: "/run",
			Type:        "tmpfs",
			Source:      "tmpfs",
			Options:     []string{"nosuid", "nodev", "noexec", "mode=755", "size=1024k"},
		},
	}

	if c.WorkDir != "" {
		mounts = append(mounts, specs.Mount{
			Destination: WorkDirTarget,
			Type:        "bind",
			Source:      c.WorkDir,
			Options:     []string{"bind", "rw", "nosuid", "nodev", "noexec", "rprivate"},
		})
	}

	if c.Shares != nil {
		mounts = append(mounts, specs.Mount{
			Destination: sharesTarget,
			Type:        "bind",
			Source:      filepath.Join(e.sourceDir(c.ID), sharesSource),
			Options:     []string{"bind", "rw", "nosuid", "nodev", "rprivate"},
		})
	}

	for _, m := range slices.Concat(e.opts.SystemMounts, c.SystemFiles) {
		mounts = append(mounts, readOnlyBind(m))
	}

	for _, m := range e.kindOf(c).memoryMounts() {
		mounts = append(mounts, readOnlyBind(m))
	}

	return mounts
}

func readOnlyBind(m BindMount) specs.Mount {
	return specs.Mount{
		Destination: m.Target,
		Type:        "bind",
		Source:      m.Source,
		Options:     []string{"rbind", "ro", "nosuid", "nodev", "rprivate"},
	}
}

// bindMounts returns a container's own mounts, the i-th of sources[i] at targets[i].
func bindMounts(mounts []Mount, sources, targets []string) []specs.Mount {
	var out []specs.Mount
	for i, m := range mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}

		out = append(out, specs.Mount{
			Destination: targets[i],
			Type:        "bind",
			Source:      sources[i],
			Options:     []string{"rbind", mode, "nosuid", "nodev", "rprivate"},
		})
		if m.LinuxTarget != "" {
			out = append(out, readOnlyBind(BindMount{Source: sources[i], Target: m.LinuxTarget}))
		}
	}

	return out
}

// maskedPaths returns the paths that Kubernetes masks for Linux pods
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/securitycontext/util.go, defaultMaskedPaths).
func maskedPaths() []string {
	return strings.Fields(
		"/proc/acpi /proc/asound /proc/bus /proc/interrupts /proc/kcore /proc/keys /proc/latency_stats /proc/sched_debug " +
			"/proc/scsi /proc/timer_list /proc/timer_stats /proc/sysrq-trigger")
}
