package main

import (
	"encoding/binary"
	"strings"
)

// attack is one try to reach past a container.
type attack struct {
	// name is of the form group/what.
	name string
	// try returns what the kernel answered; a negative one is an error number.
	try func() int
	// held are the answers, beside the usual ones, that a container may get.
	held []int
}

// usual returns the answers of a kernel that refuses, or does not show what is asked for.
func usual() []int {
	return []int{eperm, enoent, eacces, erofs, enosys, enxio, eprotonosupport, esocktnosupport, eafnosupport}
}

// attacks returns all attacks.
func attacks() []attack {
	var all []attack
	for _, group := range []func() []attack{
		mounts, namespaces, devices, proc, system, scheduling, labels, ids, others, network, sockets, compat, gate32,
	} {
		all = append(all, group()...)
	}
	return all
}

func does(number int, args ...any) func() int {
	return func() int { return call(number, args...) }
}

func makes(number int, args ...any) func() int {
	return func() int { return descriptor(number, args...) }
}

func opens(path string, flags int) func() int { return func() int { return file(path, flags) } }

const (
	msRdonly, msRemount, msBind, msRec, msPrivate = 1, 32, 4096, 16384, 1 << 18
)

func mounts() []attack {
	return []attack{
		{name: "mount/tmpfs", try: does(sysMount, "none", "/tmp", "tmpfs", 0, "")},
		{name: "mount/proc", try: does(sysMount, "none", "/tmp", "proc", 0, "")},
		{name: "mount/sysfs", try: does(sysMount, "none", "/tmp", "sysfs", 0, "")},
		{name: "mount/cgroup", try: does(sysMount, "none", "/tmp", "cgroup2", 0, "")},
		{name: "mount/overlay", try: does(sysMount, "none", "/tmp", "overlay", 0, "lowerdir=/usr:/etc")},
		{name: "mount/bind", try: does(sysMount, "/", "/tmp", "", msBind|msRec, 0)},
		{name: "mount/remount-writable", try: does(sysMount, "none", "/proc/sys", "", msRemount|msBind, 0)},
		{name: "mount/private", try: does(sysMount, "none", "/", "", msPrivate|msRec, 0)},
		{name: "mount/umount", try: does(sysUmount, "/tmp", 2), held: []int{einval}},
		{name: "mount/pivot-root", try: does(sysPivotRoot, ".", "."), held: []int{einval}},
		{name: "mount/chroot", try: does(sysChroot, "/")},
		{name: "mount/open-tree", try: makes(sysOpenTree, atFDCWD, "/", 1)},
		{name: "mount/fsopen", try: makes(sysFsopen, "tmpfs", 0)},
		{name: "mount/fspick", try: makes(sysFspick, atFDCWD, "/", 0)},
		{name: "mount/setattr", try: does(sysMountSetattr, atFDCWD, "/", 0, make([]byte, 32), 32)},
	}
}

func namespaces() []attack {
	var all []attack
	for _, kind := range []struct {
		name string
		flag int
	}{
		{"mount", 0x00020000},
		{"cgroup", 0x02000000},
		{"uts", 0x04000000},
		{"ipc", 0x08000000},
		{"pid", 0x20000000},
		{"net", 0x40000000},
	} {
		all = append(all, attack{name: "namespace/unshare-" + kind.name, try: does(sysUnshare, kind.flag)})
	}

	// A program with threads gets EINVAL for these two, whatever its rights, if the call gets so far.
	for _, kind := range []struct {
		name string
		flag int
	}{{"user", 0x10000000}, {"time", 0x80}} {
		all = append(all, attack{name: "namespace/unshare-" + kind.name, try: does(sysUnshare, kind.flag)})
	}

	for _, kind := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		all = append(all, attack{name: "namespace/enter-" + kind, try: func() int {
			return with("/proc/1/ns/"+kind, oRDONLY, func(fd int) int { return call(sysSetns, fd, 0) })
		}})
	}

	return all
}

// node makes the file of a device, and removes it again.
func node(mode, device int) func() int {
	return func() int {
		const path = "/tmp/attack-device"
		code := call(sysMknod, path, mode, device)
		if code >= 0 {
			call(sysUnlink, path)
		}
		return code
	}
}

func devices() []attack {
	all := []attack{
		{name: "device/mknod-mem", try: node(0o020666, 1<<8|1)},
		{name: "device/mknod-disk", try: node(0o060666, 254<<8)},
		{name: "device/mknod-tun", try: node(0o020666, 10<<8|200)},
	}
	for _, device := range []string{
		"mem", "kmem", "port", "kmsg", "kvm", "fuse", "net/tun", "loop-control", "loop0", "mapper/control", "vda", "sda",
		"nvme0n1", "vhost-net", "vhost-vsock", "vsock", "uinput", "console", "cpu_dma_latency", "hpet", "rtc0", "btrfs-control", "userfaultfd", "dri/card0", "input/event0", "bus/usb/001/001",
	} {
		all = append(all, attack{name: "device/" + strings.ReplaceAll(device, "/", "-"), try: opens("/dev/"+device, oRDWR)})
	}
	return all
}

// proc writes what the kernel lets root write, and reads what it lets root read.
func proc() []attack {
	var all []attack
	for _, f := range []string{
		"sys/kernel/core_pattern", "sys/kernel/modprobe", "sys/kernel/hostname", "sys/kernel/panic",
		"sys/kernel/pid_max", "sys/kernel/randomize_va_space", "sys/kernel/yama/ptrace_scope", "sys/kernel/sysrq",
		"sys/kernel/unprivileged_bpf_disabled", "sys/vm/overcommit_memory", "sys/vm/drop_caches", "sys/vm/panic_on_oom",
		"sys/fs/file-max", "sys/fs/suid_dumpable", "sys/fs/protected_symlinks", "sys/fs/binfmt_misc/register",
		"sys/user/max_inotify_instances", "sys/user/max_user_namespaces", "sys/net/ipv4/ip_forward",
		"sys/net/ipv4/conf/all/rp_filter", "sys/net/ipv6/conf/all/disable_ipv6", "sys/dev/cdrom/debug", "irq/default_smp_affinity",
		"mtrr",
	} {
		all = append(all, attack{name: "proc/write-" + strings.ReplaceAll(f, "/", "-"), try: opens("/proc/"+f, oWRONLY)})
	}

	for _, f := range []string{"kcore", "vmallocinfo", "kpagecount", "kpageflags", "slabinfo", "bus/pci/devices"} {
		all = append(all, attack{name: "proc/read-" + strings.ReplaceAll(f, "/", "-"), try: func() int {
			return with("/proc/"+f, oRDONLY|oNonblock, func(fd int) int { return readable(fd) })
		}, held: []int{einval}})
	}

	return append(all,
		attack{name: "proc/write-sysrq-trigger", try: func() int { return with("/proc/sysrq-trigger", oWRONLY, ofProc) }},
		attack{name: "proc/kernel-addresses", try: func() int {
			return with("/proc/kallsyms", oRDONLY, kernelAddress)
		}},
		attack{name: "proc/read-kmsg", try: opens("/proc/kmsg", oRDONLY)},
		attack{name: "proc/oom-score", try: func() int {
			return with("/proc/self/oom_score_adj", oWRONLY, func(fd int) int { return call(sysWrite, fd, "-1000", 5) })
		}},
		attack{name: "sys/cgroup", try: opens("/sys/fs/cgroup/cgroup.procs", oWRONLY)},
		attack{name: "sys/cgroup-memory", try: opens("/sys/fs/cgroup/memory/release_agent", oWRONLY)},
		attack{name: "sys/uevent-helper", try: opens("/sys/kernel/uevent_helper", oWRONLY)},
		attack{name: "sys/power", try: opens("/sys/power/state", oWRONLY)},
		attack{name: "sys/debug", try: opens("/sys/kernel/debug", oRDONLY|oDirectory)},
		attack{name: "sys/modules", try: opens("/sys/module", oRDONLY|oDirectory)},
		attack{name: "sys/block", try: opens("/sys/block", oRDONLY|oDirectory)},
	)
}

// readable returns the number of bytes that a file has, at most 16, and ENOENT if it is empty: that stands for one that
// is hidden.
func readable(fd int) int {
	n := call(sysRead, fd, make([]byte, 16), 16)
	if n == 0 {
		return enoent
	}
	return n
}

// ofProc returns 0 for a file of /proc, and ENOENT for another one: the null device hides a file that is not to be had,
// and whoever opens that to write has nothing.
func ofProc(fd int) int {
	const magic = 0x9fa0 // PROC_SUPER_MAGIC, statfs(2)
	b := make([]byte, 120)
	if code := call(sysFstatfs, fd, b); code < 0 {
		return code
	}
	if binary.LittleEndian.Uint64(b) != magic {
		return enoent
	}
	return 0
}

// kernelAddress returns the first digit of the kernel's symbols that is not zero; EPERM if all of them are.
func kernelAddress(fd int) int {
	b := make([]byte, 4096)
	n := call(sysRead, fd, b, len(b))
	if n <= 0 {
		return n
	}
	for line := range strings.Lines(string(b[:n])) {
		if address, _, ok := strings.Cut(line, " "); ok && strings.Trim(address, "0") != "" {
			return 1
		}
	}
	return eperm
}

// system asks for what belongs to the machine's administrator.
func system() []attack {
	return []attack{
		{name: "system/init-module", try: does(sysInitModule, "x", 1, "")},
		{name: "system/finit-module", try: func() int {
			return with("/proc/self/exe", oRDONLY, func(fd int) int { return call(sysFinitModule, fd, "", 0) })
		}},
		{name: "system/delete-module", try: does(sysDeleteModule, "no_module_of_this_name", oNonblock)},
		{name: "system/kexec-load", try: does(sysKexecLoad, 0, 17, 0, 0)},
		{name: "system/kexec-file-load", try: does(sysKexecFileLoad, -1, -1, 0, "", 0)},
		{name: "system/reboot", try: does(sysReboot, 0xfee1dead, 672274793, 0, 0)}, // CAD_OFF: as it is
		{name: "system/swapon", try: does(sysSwapon, "/", 0)},
		{name: "system/swapoff", try: does(sysSwapoff, "/")},
		{name: "system/acct", try: does(sysAcct, "/")},
		{name: "system/quotactl", try: does(sysQuotactl, 0x800002<<8, "/", 0, make([]byte, 128))},
		{name: "system/quotactl-fd", try: func() int {
			return with("/", oRDONLY, func(fd int) int { return call(sysQuotactlFD, fd, 0x800002<<8, 0, make([]byte, 128)) })
		}},
		{name: "system/syslog", try: does(sysSyslog, 3, make([]byte, 4096), 4096)},
		{name: "system/syslog-level", try: does(sysSyslog, 8, 0, 9)},
		{name: "system/bpf-map", try: makes(sysBPF, 0, words(1, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 72)},
		{name: "system/perf", try: makes(sysPerfEventOpen, append(words(1, 112), make([]byte, 104)...), -1, 0, -1, 0)},
		{name: "system/perf-self", try: makes(sysPerfEventOpen, append(words(1, 112), make([]byte, 104)...), 0, -1, -1, 0)},
		{name: "system/userfaultfd", try: makes(sysUserfaultfd, 0)},
		{name: "system/io-uring", try: makes(sysIOUringSetup, 1, make([]byte, 120))},
		{name: "system/iopl", try: does(sysIopl, 3)},
		{name: "system/ioperm", try: does(sysIoperm, 0x80, 1, 1)},
		{name: "system/settimeofday", try: does(sysSettimeofday, 0, words(0, 0))},
		{name: "system/clock-settime", try: does(sysClockSettime, 0, words(0, 0, 0xffffffff, 0xffffffff))},
		{name: "system/adjtimex", try: does(sysAdjtimex, append(words(0x4000, 0), make([]byte, 200)...))},
		{name: "system/clock-adjtime", try: does(sysClockAdjtime, 0, append(words(0x4000, 0), make([]byte, 200)...))},
		{name: "system/sethostname", try: does(sysSethostname, "x", -1)},
		{name: "system/setdomainname", try: does(sysSetdomainname, "x", -1)},
		{name: "system/vhangup", try: does(sysVhangup)},
		{name: "system/fanotify", try: makes(sysFanotifyInit, 0x4, 0), held: []int{-24}}, // EMFILE: the limit is none
		{name: "system/file-handle", try: func() int {
			handle := append(words(128, 0), make([]byte, 128)...)
			if code := call(sysNameToHandleAt, atFDCWD, "/", handle, make([]byte, 8), 0); code < 0 {
				return code
			}
			return with("/", oRDONLY, func(fd int) int { return descriptor(sysOpenByHandleAt, fd, handle, oRDONLY) })
		}, held: []int{eopnotsupp}},
		{name: "system/asynchronous-io", try: func() int {
			id := make([]byte, 8)
			if code := call(sysIOSetup, 1<<14, id); code < 0 {
				return code
			}
			return 1 // the context goes with the process
		}},
		{name: "system/real-time", try: does(sysSetscheduler, 0, 1, words(1))},
		{name: "system/priority", try: does(sysSetpriority, 0, 0, -20)},
		{name: "system/limits", try: does(sysPrlimit, 0, 7, words(0xffffffff, 0, 0xffffffff, 0), 0)},
		{name: "system/keyring", try: does(sysAddKey, "user", "attack", "x", 1, -4)},
		{name: "system/keyring-request", try: does(sysRequestKey, "user", "attack", "", -3)},
		{name: "system/keyring-session", try: does(sysKeyctl, 0, -3, 1)},
		{name: "system/migrate-pages", try: does(sysMigratePages, 1, 0, 0, 0)},
	}
}

// scheduling asks for a processor, the disk or memory ahead of others.
func scheduling() []attack {
	return []attack{
		// PR_SCHED_CORE, PR_SCHED_CORE_CREATE: no program without the cookie runs beside it, on the threads of a core.
		{name: "scheduling/core-alone", try: does(sysPrctl, 62, 1, 0, 0, 0)},
		{name: "scheduling/core-alone-for-all", try: does(sysPrctl, 62, 1, 0, 2, 0)},
		{name: "scheduling/deadline", try: func() int { // SCHED_DEADLINE: 9 of each 10 ms
			return call(sysSchedSetattr, 0, append(words(48, 6, 0, 0, 0, 0),
				words(9000000, 0, 10000000, 0, 10000000, 0)...), 0)
		}},
		{name: "scheduling/round-robin", try: does(sysSetscheduler, 0, 2, words(1))},
		{name: "scheduling/disk-writer", try: does(sysPrctl, 57, 1, 0, 0, 0)},   // PR_SET_IO_FLUSHER
		{name: "scheduling/merged-memory", try: does(sysPrctl, 67, 1, 0, 0, 0)}, // PR_SET_MEMORY_MERGE
		{name: "scheduling/merged-pages", try: func() int {
			const readWrite, private = 3, 0x22 // and of no file
			at := call(sysMmap, 0, 4096, readWrite, private, -1, 0)
			if at < 0 {
				return at
			}
			defer call(sysMunmap, at, 4096)
			return call(sysMadvise, at, 4096, 12) // MADV_MERGEABLE
		}},
		{name: "scheduling/another-program", try: does(sysPrctl, 35, 13, 0, 0, 0)}, // PR_SET_MM_EXE_FILE
	}
}

// labels asks for another domain of SELinux, and for another policy. What a program may have of labels for what it
// makes and starts, the machine's policy says for the domain of whoever brought the cluster up; no right comes with it,
// and no_new_privs keeps a program that it starts in its domain.
func labels() []attack {
	const label = "system_u:system_r:init_t:s0"
	return []attack{
		{name: "label/domain", try: func() int {
			return with("/proc/self/attr/current", oRDWR, func(fd int) int { return call(sysWrite, fd, label, len(label)) })
		}, held: []int{einval}},
		{name: "label/policy", try: opens("/sys/fs/selinux/load", oWRONLY)},
		{name: "label/enforce", try: opens("/sys/fs/selinux/enforce", oRDWR)},
		{name: "label/null-device", try: relabels("/dev/null"), held: noLabel()},
		{name: "label/hosts", try: relabels("/Files/windows/system32/drivers/etc/hosts"), held: noLabel()},
		{name: "label/termination-log", try: relabels("/Files/dev/termination-log"), held: noLabel()},
	}
}

// noLabel are the answers of a machine without SELinux.
func noLabel() []int { return []int{enodata, eopnotsupp} }

// relabels gives a file that is not the container's the label that it has: who may do that may give it another one. A
// container's own files may have any label, which says nothing to who is not confined.
func relabels(path string) func() int {
	return func() int {
		const name = "security.selinux"
		label := make([]byte, 256)
		n := call(sysGetxattr, path, name, label, len(label))
		if n < 0 {
			return n
		}
		return call(sysSetxattr, path, name, label[:n], n, 0)
	}
}

func ids() []attack {
	return []attack{
		{name: "id/unmapped-user", try: does(sysSetuid, 12345678), held: []int{einval}},
		{name: "id/unmapped-group", try: does(sysSetgid, 12345678), held: []int{einval}},
		{name: "id/no-groups", try: does(sysSetgroups, 0, 0)},
		{name: "id/capabilities", try: does(sysCapset, words(0x20080522, 0), words(1<<21, 1<<21, 0, 0, 0, 0))},
		{name: "id/bounding", try: func() int { // CAP_SYS_ADMIN is in the bounding set
			if code := call(sysPrctl, 23, 21, 0, 0, 0); code != 0 {
				return code
			}
			return eperm
		}},
		{name: "id/new-privileges", try: func() int {
			if code := call(sysPrctl, 39, 0, 0, 0, 0); code != 1 {
				return 1
			}
			return eperm
		}},
		{name: "id/securebits", try: does(sysPrctl, 28, 0x2f, 0, 0, 0)},
	}
}

// others are tries to reach processes that are not the container's.
func others() []attack {
	return []attack{
		{name: "process/first-of-machine", try: func() int { // its own init is process 1; no other can be seen
			return with("/proc/1/comm", oRDONLY, func(fd int) int {
				b := make([]byte, 64)
				n := max(call(sysRead, fd, b, len(b)), 0)
				if strings.HasPrefix(string(b[:n]), "mullion-init") {
					return esrch
				}
				return 1
			})
		}, held: []int{esrch}},
		{name: "process/root-of-first", try: opens("/proc/1/root/var/lib", oRDONLY|oDirectory)},
		{name: "process/working-folder-of-first", try: opens("/proc/1/cwd/../../../../boot", oRDONLY|oDirectory)},
		{name: "process/overwrite-init", try: opens("/proc/1/exe", oWRONLY), held: []int{-26}}, // ETXTBSY
		{name: "process/overwrite-loader", try: opens("/proc/self/exe", oWRONLY), held: []int{-26}},
		{
			name: "process/signal-unseen", try: func() int { return unseen(func(pid int) int { return call(sysKill, pid, 0) }) },
			held: []int{esrch},
		},
		{name: "process/trace-unseen", try: func() int {
			return unseen(func(pid int) int { return call(sysPtrace, 0x4206, pid, 0, 0) }) // PTRACE_SEIZE
		}, held: []int{esrch}},
		{name: "process/read-unseen", try: func() int {
			byte1 := words(uint32(0x1000), 0, 1, 0) // address and length
			return unseen(func(pid int) int { return call(sysProcessVMReadv, pid, byte1, 1, byte1, 1, 0) })
		}, held: []int{esrch}},
		{name: "process/pidfd-unseen", try: func() int {
			return unseen(func(pid int) int { return descriptor(sysPidfdOpen, pid, 0) })
		}, held: []int{esrch}},
		{name: "process/kcmp", try: does(sysKcmp, 1, 2, 0, 0, 0), held: []int{esrch}},
		{name: "process/move-pages", try: does(sysMovePages, 1, 0, 0, 0, 0, 0)},
	}
}

// unseen calls a function with ids of processes that a machine has and a container does not, until one of the calls is
// answered otherwise than with ESRCH.
func unseen(call1 func(pid int) int) int {
	for pid := 2; pid < 40; pid++ {
		if code := file("/proc/"+itoa(pid)+"/stat", oRDONLY); code >= 0 {
			continue // one of its own
		}
		if code := call1(pid); code != esrch {
			return code
		}
	}
	return esrch
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// network asks for what belongs to a network's administrator.
func network() []attack {
	const setFlags, setAddress, setHardware, addBridge = 0x8914, 0x8916, 0x8924, 0x89a0
	control := func(request int, b []byte) func() int {
		return func() int {
			return socket(afInet, sockDgram, 0, func(fd int) int { return call(sysIoctl, fd, request, b) })
		}
	}

	option := func(level, name int, value []byte) func() int {
		return func() int {
			return socket(afInet, sockDgram, 0, func(fd int) int {
				return call(sysSetsockopt, fd, level, name, value, len(value))
			})
		}
	}

	option6 := func(level, name int, value []byte) func() int {
		return func() int {
			return socket(afInet6, sockDgram, 0, func(fd int) int {
				return call(sysSetsockopt, fd, level, name, value, len(value))
			})
		}
	}
	lo := words(1)
	return []attack{
		{name: "network/link-up", try: control(setFlags, ifreq("lo", 0x49))},
		{name: "network/address", try: control(setAddress, ifreq("lo", 2, 0, 0, 0, 127, 0, 0, 1))},
		{name: "network/hardware-address", try: control(setHardware, ifreq("eth0", 1, 0, 2, 0, 0, 0, 0, 1)), held: []int{enodev}},
		{name: "network/bridge", try: control(addBridge, []byte("lo\x00"))},
		{name: "network/mark", try: option(1, 36, words(1))},
		{name: "network/transparent", try: option(0, 19, words(1))},
		{name: "network/transparent-6", try: option6(41, 75, words(1))},
		{name: "network/hop-options", try: option6(41, 54, []byte{0, 0, 1, 4, 0, 0, 0, 0})},
		{name: "network/destination-options", try: option6(41, 59, []byte{0, 0, 1, 4, 0, 0, 0, 0})},
		{name: "network/force-buffer", try: option(1, 33, words(1))},
		{name: "network/new-link", try: func() int {
			dummy := attribute(18, attribute(1, []byte("dummy\x00\x00\x00")))
			return netlink(0, 16, 0x600, append(words(0, 0, 0, 0), dummy...))
		}},
		{name: "network/new-address", try: func() int {
			address := append(append([]byte{2, 32, 0, 0}, lo...), attribute(2, []byte{127, 9, 9, 9})...)
			return netlink(0, 20, 0x600, address)
		}},
		{name: "network/new-route", try: func() int {
			return netlink(0, 24, 0x600, append([]byte{2, 32, 0, 0, 254, 4, 254, 1, 0, 0, 0, 0},
				append(attribute(1, []byte{192, 0, 2, 77}), attribute(4, lo)...)...))
		}},
		{name: "network/new-neighbour", try: func() int {
			return netlink(0, 28, 0x600, append(append([]byte{2, 0, 0, 0}, lo...), append([]byte{0x80, 0, 0, 0},
				attribute(1, []byte{127, 9, 9, 9})...)...))
		}},
		{name: "network/new-qdisc", try: func() int {
			return netlink(0, 36, 0x600, append(append([]byte{0, 0, 0, 0}, lo...), append(words(0, 0xffffffff, 0),
				attribute(1, []byte("pfifo\x00\x00\x00"))...)...))
		}},
		{name: "network/nftables", try: func() int { return netlink(12, 10<<8, 0, []byte{2, 0, 0, 0}) }},
		{name: "network/ipsec", try: func() int { return netlink(6, 0x19, 0, make([]byte, 40)) }},
		{name: "network/audit", try: func() int { return netlink(9, 1000, 0, nil) }, held: []int{econnrefused}},
	}
}

// attribute returns an attribute of netlink.
func attribute(kind uint16, value []byte) []byte {
	n := 4 + len(value)
	b := append([]byte{byte(n), byte(n >> 8), byte(kind), byte(kind >> 8)}, value...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// sockets are families and kinds by which frames are written, or the kernel or the machine is talked to.
func sockets() []attack {
	var all []attack
	for _, s := range []struct {
		name                   string
		family, kind, protocol int
	}{
		{"packet", afPacket, sockRaw, 0x0300},
		{"packet-cooked", afPacket, sockDgram, 0x0300},
		{"packet-by-internet", afInet, sockPacket, 0x0300}, // the kernel takes it for the family of packets
		{"raw-ip", afInet, sockRaw, 255},
		{"raw-icmp", afInet, sockRaw, 1},
		{"raw-tcp", afInet, sockRaw, 6},
		{"raw-ip6", 10, sockRaw, 58},
		{"key", afKey, sockRaw, 2},
		{"vsock", afVsock, sockStream, 0},
		{"algorithms", afALG, sockSeqpacket, 0},
		{"xdp", afXDP, sockRaw, 0},
		{"tipc", afTIPC, sockSeqpacket, 0},
		{"rds", afRDS, sockSeqpacket, 0},
		{"bluetooth", afBluetooth, sockRaw, 1},
		{"netlink-generic", afNetlink, sockRaw, 16}, // loads the module of whatever family is asked for
		{"netlink-netfilter", afNetlink, sockRaw, 12},
	} {
		all = append(all, attack{name: "socket/" + s.name, try: func() int { return socket(s.family, s.kind, s.protocol, nil) }})
	}

	return append(all, attack{name: "socket/upper-layer-of-tcp", try: upperLayer})
}

// upperLayer has the kernel look for the module of a protocol above TCP, and reports whether it did.
func upperLayer() int {
	const tcp, ulp = 6, 31
	name := []byte("mullion-none")
	code := socket(afInet, sockStream, 0, func(fd int) int {
		return call(sysSetsockopt, fd, tcp, ulp, name, len(name))
	})
	if code == enoent {
		return 0
	}
	return code
}

// compat makes calls by the numbers of x32, the ABI of 32-bit pointers that the processor's 64-bit mode has too: by a
// filter that looks at the numbers of x86-64 alone they would pass. Whoever makes one may be killed.
func compat() []attack {
	var all []attack
	for _, c := range []struct {
		name   string
		number int
		args   []any
	}{
		{"getpid", sysGetpid, nil},
		{"socket-packet", sysSocket, []any{afPacket, sockRaw, 0x0300}},
		{"unshare", sysUnshare, []any{0x04000000}},
		{"mount", sysMount, []any{"none", "/tmp", "tmpfs", 0, ""}},
		{"keyctl", sysKeyctl, []any{0, -3, 1}},
		{"bpf", sysBPF, []any{0, words(1, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 72}},
		{"ioctl", x32Ioctl, []any{0, 0x5401, make([]byte, 64)}},
		{"ptrace", x32Ptrace, []any{0, 0, 0, 0}},
		{"setsockopt", x32Setsockopt, []any{-1, 6, 31, "x", 1}},
	} {
		all = append(all, attack{name: "x32/" + c.name, try: func() int {
			return callApart(x32|c.number, c.args...)
		}})
	}

	return all
}

// gate32 makes calls by the gate of 32-bit programs, which 64-bit programs reach too: their numbers mean others there.
// Pointers are none; where one is due, the kernel that looks for it has let the call through.
func gate32() []attack {
	var all []attack
	for _, c := range []struct {
		name   string
		number int
		args   []any
	}{
		{"getpid", 20, nil},
		{"unshare", 310, []any{0x04000000}},
		{"socket-packet", 359, []any{afPacket, sockRaw, 0x0300}},
		{"socket-call", 102, []any{1, 0}},
		{"keyctl", 288, []any{0, 0}},
		{"ptrace", 26, []any{0, 0, 0, 0}},
		{"setsockopt", 366, []any{-1, 6, 31, 0, 1}},
		{"userfaultfd", 374, []any{0}},
		{"io-uring", 425, []any{1, 0}},
		{"bpf", 357, []any{0, 0, 72}},
		{"mount", 21, []any{0, 0, 0, 0, 0}},
	} {
		all = append(all, attack{name: "gate32/" + c.name, try: func() int {
			return callApart32(c.number, c.args...)
		}})
	}

	return all
}
