package preflight

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"syscall"
)

// Finding is one thing that a machine lacks.
type Finding struct {
	// Check is the name of what was looked at, for example "kernel".
	Check string `json:"check"`
	// Problem says what is wrong, Remedy what to do about it.
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
	// Fatal says that a cluster cannot come up. Otherwise it comes up and will lack something.
	Fatal bool `json:"fatal"`
}

// Facts are what Look found. For an attempt it holds the error, nil if the attempt worked.
type Facts struct {
	// Unprivileged says that an ordinary user looked. Then nothing was attempted.
	Unprivileged bool
	// Kernel is the release, as uname -r says it.
	Kernel string
	// Programs are errors for the distribution's programs that were not found; Own are the files of Mullion's that are
	// not beside it.
	Programs []error
	Own      []string
	// Hidden are files of Mullion's of which an ordinary user cannot see whether they are there.
	Hidden []string
	// Preloader says that Wine has its preloader, or is not there at all.
	Preloader bool
	// Namespaces are the kinds that the kernel lacks; MaxUserNamespaces is the machine's limit of user namespaces, -1
	// where there is none.
	Namespaces        []string
	MaxUserNamespaces int64
	// UserNamespace is the attempt to make one.
	UserNamespace error
	// DataFolder and BinFolder are looked at as file systems.
	DataFolder, BinFolder Folder
	// Controllers are the cgroup controllers that may be used, and CgroupWritable is the attempt to make a cgroup.
	Controllers    []string
	CgroupWritable error
	// Network is the attempt to make each kind of link and table that networks are made of, by its name.
	Network map[string]error
	// ModulesLocked says that the kernel loads no more modules.
	ModulesLocked bool
	// Seccomp says that the kernel filters system calls.
	Seccomp bool
	// CoreProgram is the program of the machine that takes core files, "" for none; CoreFiles is why containers cannot
	// be given the limit at which the kernel does not run it.
	CoreProgram string
	CoreFiles   error
	// AppArmorProfile is the profile that this process is confined by, "" for none.
	AppArmorProfile string
	SELinux         SELinux
	// MemoryAvailable and MemoryTotal are in bytes, 0 where they could not be read.
	MemoryAvailable, MemoryTotal uint64
	// InotifyInstances and InotifyWatches are the limits for each user, 0 where they could not be read.
	InotifyInstances, InotifyWatches int64
	// Routes are the machine's own networks.
	Routes []Route
	// IPv6 says that the kernel has it.
	IPv6 bool
	// Dropping are the nftables chains that drop what the machine forwards for a cluster, as "family table chain".
	Dropping []string
}

// Folder is what was found out about a folder, or about the nearest existing one above it.
type Folder struct {
	Path string
	// Unread is why nothing more is known of it.
	Unread error
	// Type is the file system's name, for example "ext4".
	Type string
	// NoExec and ReadOnly are the mount's options.
	NoExec, ReadOnly bool
	// Free is in bytes.
	Free uint64
	// IDMapped and Overlay are the attempts to mount the folder with other ids, and an overlay with its upper layer
	// there.
	IDMapped, Overlay error
}

// Route is a network of the machine's own.
type Route struct {
	Prefix netip.Prefix
	Link   string
}

// Want is what a cluster needs of the machine.
type Want struct {
	// Nodes is the number of nodes on this machine.
	Nodes int
	// Memory is what each node that does not have the machine's memory has of it, in bytes, by its name.
	Memory map[string]int64
	// New says that there is no state of the cluster yet.
	New bool
	// Subnets are the subnets of pods and Services, by their names in cluster.yaml.
	Subnets map[string][]netip.Prefix
	// IPv6 says that the cluster has it, beside IPv4.
	IPv6 bool
	// Link is the machine's link to the cluster's network.
	Link string
}

// firewalld is the name of its table.
const firewalld = "firewalld"

const (
	mib = 1 << 20
	// memoryBase and memoryNode are what a control plane and each node use when idle. Measured is their sum: 4.9 GiB
	// for a control plane and 20 Windows nodes, shared pages counted once (docs/benchmarks.md; `make bench`).
	// The share of the control plane is an estimate, that of a node is the rest: (4.9 GiB - 900 MiB) / 20, rounded up.
	// A Linux node is taken to use as much.
	memoryBase, memoryNode = 900 * mib, 210 * mib
	// diskLeast is what the first start writes and what kubelets keep free (internal/node/kubenode); diskGood leaves
	// room for images as well.
	diskLeast, diskGood = 1500 * mib, 4096 * mib
	// The kernel's defaults are 128 instances, which are enough, and as many watches as the memory allows.
	inotifyInstances, inotifyWatches = 128, 32768
)

// minKernel has overlayfs on ID-mapped layers: https://docs.kernel.org/filesystems/idmappings.html
func minKernel() [2]int { return [2]int{5, 19} }

// Fatal returns the findings that keep a cluster from coming up.
func Fatal(all []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !f.Fatal })
}

// since reports whether the kernel is of that version or newer; known is false if its version could not be read.
func (f Facts) since(version [2]int) (known, since bool) {
	var major, minor int
	if _, err := fmt.Sscanf(f.Kernel, "%d.%d", &major, &minor); err != nil {
		return false, false
	}
	return true, major > version[0] || (major == version[0] && minor >= version[1])
}

func kernel(f Facts, _ Want) []Finding {
	need := minKernel()
	if known, since := f.since(need); !known || since { // of an unknown version the attempts tell
		return nil
	}
	return []Finding{{
		Check: "kernel",
		Problem: fmt.Sprintf("the kernel is Linux %s; Windows containers need %d.%d or newer (overlayfs on ID-mapped layers)",
			f.Kernel, need[0], need[1]),
		Remedy: "boot a newer kernel: on Debian from backports, on Ubuntu from the hardware enablement stack",
		Fatal:  true,
	}}
}

func programs(f Facts, _ Want) []Finding {
	var all []Finding
	for _, err := range f.Programs {
		all = append(all, Finding{
			Check:   "programs",
			Problem: err.Error(),
			Remedy: "apt-get install --no-install-recommends nftables iproute2 iputils-ping wine64 wine64-preloader; " +
				"on a distribution other than Debian and Ubuntu, install its packages of these programs",
			Fatal: true,
		})
	}

	ours := f.Own
	if i := slices.Index(ours, unreleased); i >= 0 {
		ours = slices.Delete(slices.Clone(ours), i, i+1)
		all = append(all, Finding{
			Check:   "programs",
			Problem: "the program " + unreleased + " does not lie beside mullion",
			Remedy:  "in a checkout `make " + unreleased + "` builds it, and no release has it; or do without: leave --registry out",
			Fatal:   true,
		})
	}

	if len(ours) > 0 {
		all = append(all, Finding{
			Check:   "programs",
			Problem: "these lie beside mullion, and are not there: " + strings.Join(ours, ", "),
			Remedy:  "in a checkout `make build`; else install Mullion's package again, which has them all",
			Fatal:   true,
		})
	}

	return all
}

// unreleased is the program that lies beside mullion only where somebody has built it.
const unreleased = "registry"

// farHeap returns the kernel since which a program's heap begins up to 1 GiB after the program, instead of 32 MiB:
// https://github.com/torvalds/linux/blob/v6.9/arch/x86/kernel/process.c, arch_randomize_brk. See
// wine.Install.Preloader.
func farHeap() [2]int { return [2]int{6, 9} }

func preloader(f Facts, _ Want) []Finding {
	if known, far := f.since(farHeap()); f.Preloader || (known && !far) {
		return nil
	}
	return []Finding{{
		Check: "programs",
		Problem: fmt.Sprintf(
			"Wine's preloader is not installed: without it, on Linux %s one start of a Windows program in some thousands fails",
			f.Kernel),
		Remedy: "on Debian and Ubuntu, apt-get install wine64-preloader; elsewhere, install your distribution's package of Wine",
	}}
}

func namespaces(f Facts, _ Want) []Finding {
	var all []Finding
	if len(f.Namespaces) > 0 {
		all = append(all, Finding{
			Check:   "namespaces",
			Problem: "the kernel lacks these kinds of namespaces: " + strings.Join(f.Namespaces, ", "),
			Remedy:  "boot a kernel of a distribution",
			Fatal:   true,
		})
	}

	switch {
	case f.MaxUserNamespaces == 0:
		all = append(all, Finding{
			Check:   "namespaces",
			Problem: "user namespaces are turned off (user.max_user_namespaces = 0), and every Windows container needs one",
			Remedy:  "run `sysctl -w user.max_user_namespaces=15000`, and put the same setting into /etc/sysctl.d",
			Fatal:   true,
		})

	case f.UserNamespace != nil && len(f.Namespaces) == 0:
		all = append(all, Finding{
			Check:   "namespaces",
			Problem: fmt.Sprintf("a user namespace cannot be made, and every Windows container needs one: %v", f.UserNamespace),
			Remedy:  "Linux refuses it in a chroot: enter the folder with systemd-nspawn or pivot_root; a container needs to be privileged",
			Fatal:   true,
		})
	}

	return all
}

// isFull reports whether something could not be tried for want of room alone.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

func folders(f Facts, _ Want) []Finding {
	var all []Finding
	add := func(problem, remedy string) {
		all = append(all, Finding{
			Check:   "folders",
			Problem: problem,
			Remedy:  remedy,
			Fatal:   true,
		})
	}

	elsewhere := "choose a folder on ext4, xfs or btrfs with --data-dir"
	for _, d := range []Folder{f.DataFolder, f.BinFolder} {
		if d.NoExec {
			add(fmt.Sprintf("%q is mounted with noexec, and a cluster runs programs from there", d.Path),
				fmt.Sprintf("run `mount -o remount,exec %s`, or use another folder", d.Path))
		}
	}

	d := f.DataFolder
	switch {
	case d.Unread != nil && !f.Unprivileged:
		add(fmt.Sprintf("data folder %q cannot be looked at: %v", d.Path, d.Unread), elsewhere)
	case d.ReadOnly:
		add(fmt.Sprintf("data folder %q is on a file system that is mounted read-only", d.Path),
			"choose another folder with --data-dir")
	case isFull(d.Overlay), isFull(d.IDMapped):
		add(fmt.Sprintf("the file system of data folder %q is full, or its quota is used up: nothing can be made there", d.Path),
			"free some space there, and try again; `mullion status` says how much is left, and `mullion down` works on a full disk too")

	case d.Overlay != nil && d.Type == "overlay":
		add(
			fmt.Sprintf(
				"data folder %q is on overlayfs, as a container's own files are; the drives of Windows hosts cannot be mounted there", d.Path), elsewhere+"; in a container, choose one on a volume")
	case d.Overlay != nil:
		add(fmt.Sprintf("an overlay cannot be mounted in data folder %q (%s): %v", d.Path, d.Type, d.Overlay),
			elsewhere+"; `modprobe overlay` says whether the kernel has it")

	case d.IDMapped != nil:
		add(fmt.Sprintf("data folder %q cannot be mounted with ID mapping (%s): %v", d.Path, d.Type, d.IDMapped),
			elsewhere)
	}

	return all
}

func cgroups(f Facts, _ Want) []Finding {
	var missing []string
	for _, c := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(f.Controllers, c) {
			missing = append(missing, c)
		}
	}

	var all []Finding
	if len(missing) > 0 {
		all = append(all, Finding{
			Check:   "cgroups",
			Problem: "these cgroup controllers are not enabled, and kubelets need them: " + strings.Join(missing, ", "),
			Remedy:  "boot with cgroup_enable=memory (or without cgroup_disable) on the kernel's command line; in a container, have the controllers delegated to it",
			Fatal:   true,
		})
	}

	if f.CgroupWritable != nil {
		all = append(all, Finding{
			Check:   "cgroups",
			Problem: fmt.Sprintf("a cgroup cannot be made: %v", f.CgroupWritable),
			Remedy:  "in a container, run the container privileged and with a cgroup namespace of its own",
			Fatal:   true,
		})
	}

	return all
}

func network(f Facts, _ Want) []Finding {
	var all []Finding
	for _, what := range slices.Sorted(func(yield func(string) bool) {
		for name := range f.Network {
			if !yield(name) {
				return
			}
		}
	}) {
		if err := f.Network[what]; err != nil {
			remedy := "install the kernel's modules (on Debian the package linux-image-…), or boot a kernel of a distribution"
			if f.ModulesLocked {
				remedy = "the kernel loads no more modules until it boots again (kernel.modules_disabled = 1): name the module in /etc/modules-load.d and reboot"
			}

			all = append(all, Finding{
				Check:   "network",
				Problem: fmt.Sprintf("%s cannot be made: %v", what, err),
				Remedy:  remedy,
				Fatal:   true,
			})
		}
	}

	return all
}

func seccomp(f Facts, _ Want) []Finding {
	if f.Seccomp {
		return nil
	}
	return []Finding{{
		Check:   "seccomp",
		Problem: "the kernel does not filter system calls (seccomp), and that filter is part of what isolates containers",
		Remedy:  "boot a kernel of a distribution",
		Fatal:   true,
	}}
}

func coreFiles(f Facts, _ Want) []Finding {
	if f.CoreProgram == "" || f.CoreFiles == nil {
		return nil
	}
	return []Finding{{
		Check: "core-files",
		Problem: fmt.Sprintf("when a program of a container crashes, the kernel runs %s, as root and beside the container's limits: "+
			"the limit that prevents it cannot be set (%v)", f.CoreProgram, f.CoreFiles),
		Remedy: "begin where `ulimit -Hc` is not 0 (sudo: `Defaults rlimit_core=default` in sudoers) or with CAP_SYS_RESOURCE, " +
			"or `sysctl kernel.core_pattern=core`",
	}}
}

func apparmor(f Facts, _ Want) []Finding {
	if f.AppArmorProfile == "" {
		return nil
	}
	return []Finding{{
		Check: "apparmor",
		Problem: fmt.Sprintf("this process is confined by AppArmor profile %q, which may forbid mounts",
			f.AppArmorProfile),
		Remedy: "run mullion unconfined; in a container, run the container with apparmor=unconfined",
	}}
}

// Of its memory the machine keeps a tenth, within these bounds in bytes, that a node cannot have.
const leastKept, mostKept = 256 * mib, 2048 * mib

// NodeMemory returns how much of a machine's memory a single node can have, in bytes.
func NodeMemory(machine int64) int64 { return machine - min(max(machine/10, leastKept), mostKept) }

// nodeMemory refuses a node that shall have more than there is. Several together may: each takes what it uses.
func nodeMemory(f Facts, w Want) []Finding {
	most := NodeMemory(int64(f.MemoryTotal))
	var all []Finding
	for _, name := range slices.Sorted(maps.Keys(w.Memory)) {
		if f.MemoryTotal == 0 || w.Memory[name] <= most {
			continue
		}

		all = append(all, Finding{
			Check: "node-memory",
			Problem: fmt.Sprintf("node %s shall have %d MiB of memory; the machine has %d MiB, of which a node can have %d",
				name, w.Memory[name]/mib, f.MemoryTotal/mib, most/mib),
			Remedy: "give the node less memory in cluster.yaml, or leave the field out: then it shows the machine's",
			Fatal:  true,
		})
	}

	return all
}

// needed returns what an idle cluster uses of the memory, in bytes.
func needed(w Want) uint64 { return uint64(memoryBase + w.Nodes*memoryNode) }

func memory(f Facts, w Want) []Finding {
	need := needed(w)
	if !w.New || f.MemoryAvailable == 0 || f.MemoryAvailable >= need {
		return nil
	}
	return []Finding{{
		Check: "memory",
		Problem: fmt.Sprintf("%d MiB of memory are available; a cluster of %d nodes uses about %d MiB before it runs any pod",
			f.MemoryAvailable/mib, w.Nodes, need/mib),
		Remedy: "end other programs, or describe fewer nodes",
	}}
}

func disk(f Facts, w Want) []Finding {
	free, where := f.DataFolder.Free, f.DataFolder.Path
	switch {
	case f.DataFolder.Unread != nil: // folders says so
	case w.New && free < diskLeast:
		return []Finding{{
			Check: "disk",
			Problem: fmt.Sprintf("%d MiB are free in %q; the first start of a cluster writes %d MiB", free/mib, where,
				diskLeast/mib),
			Remedy: "make room, or choose another folder with --data-dir",
			Fatal:  true,
		}}

	case w.New && free < diskGood:
		return []Finding{{
			Check: "disk",
			Problem: fmt.Sprintf(
				"%d MiB are free in %q, which leaves little for images; below 256 MiB pods are evicted", free/mib,
				where),
			Remedy: "make room, or choose another folder with --data-dir",
		}}
	}

	return nil
}

func inotify(f Facts, _ Want) []Finding {
	var all []Finding
	for _, limit := range []struct {
		name  string
		value int64
		good  int64
	}{
		{"fs.inotify.max_user_instances", f.InotifyInstances, inotifyInstances},
		{"fs.inotify.max_user_watches", f.InotifyWatches, inotifyWatches},
	} {
		if limit.value != 0 && limit.value < limit.good {
			all = append(all, Finding{
				Check: "inotify",
				Problem: fmt.Sprintf("%s is %d: with many pods kubelets end with \"too many open files\"", limit.name,
					limit.value),
				Remedy: fmt.Sprintf("run `sysctl -w %s=%d`, and put the same setting into /etc/sysctl.d", limit.name, limit.good),
			})
		}
	}

	return all
}

func subnets(f Facts, w Want) []Finding {
	var all []Finding
	names := make([]string, 0, len(w.Subnets))
	for name := range w.Subnets {
		names = append(names, name)
	}

	slices.Sort(names)
	for _, name := range names {
		for _, r := range f.Routes {
			i := slices.IndexFunc(w.Subnets[name], r.Prefix.Overlaps)
			if r.Prefix.Bits() == 0 || i < 0 || r.Link == w.Link {
				continue
			}

			subnet := w.Subnets[name][i]
			all = append(all, Finding{
				Check: "subnets",
				Problem: fmt.Sprintf(
					"networking.%s %s overlaps %s, which this machine reaches by %s: pods cannot reach that network",
					name, subnet, r.Prefix, r.Link),
				Remedy: fmt.Sprintf("set networking.%s in cluster.yaml to a subnet that this machine does not use", name),
			})
		}
	}

	return all
}

func ipv6(f Facts, w Want) []Finding {
	if f.IPv6 || !w.IPv6 {
		return nil
	}
	return []Finding{{
		Check:   "ipv6",
		Fatal:   true,
		Problem: "the cluster is to have IPv6, and this machine's kernel has none",
		Remedy:  "leave the IPv6 subnets out of cluster.yaml, or start the machine without ipv6.disable=1",
	}}
}

func firewall(f Facts, w Want) []Finding {
	dropping := slices.DeleteFunc(slices.Clone(f.Dropping), func(chain string) bool {
		return !w.IPv6 && strings.HasPrefix(chain, "ip6 ")
	})
	if len(dropping) == 0 {
		return nil
	}

	remedy := fmt.Sprintf("allow this machine to forward packets from and to link %s", w.Link)
	if strings.Contains(dropping[0], " "+firewalld+" ") {
		remedy = fmt.Sprintf("firewall-cmd --permanent --zone=trusted --add-interface=%s && firewall-cmd --reload",
			w.Link)
	}

	return []Finding{{
		Check: "firewall",
		Problem: fmt.Sprintf(
			"the firewall drops packets that this machine forwards (nftables: %s): pods reach each other and this machine, but nothing beyond this machine", strings.Join(dropping, ", ")),
		Remedy: remedy,
	}}
}
