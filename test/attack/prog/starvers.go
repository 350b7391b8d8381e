package main

import "slices"

// starver takes one of something that the machine's programs share, one way.
type starver struct {
	// name is of the form resource/way.
	name string
	// ask is how much a container asks for, and most how much it may get of it. root is how much the machine's root
	// asks for, and gets; 0: as much as it gets depends on the kernel.
	ask, most, root int
	// take begins, and returns what takes once more. A negative answer is an error number, and the end.
	take func() func(n int) int
}

const (
	// refused is the most of what a container gets nothing of.
	refused = 0
	// byMemory is the most of what ends with the memory of the container, or is refused for want of it.
	byMemory = -1
	// open is the most of what has no bound but descriptors and processes; SECURITY.md names it.
	open = -2
	// underWay is the most of messages full of descriptors: those of as many as a process may have open.
	underWay = -3
)

// starvations returns all ways.
func starvations() []starver {
	var all []starver
	for _, group := range []func() []starver{
		descriptorWays, socketWays, unreadWays, optionWays, refusedFamilies, memoryWays, fileWays, lockWays, ipcWays,
		signalWays, processWays, namespaceWays, kernelWays,
	} {
		all = append(all, group()...)
	}
	return all
}

// every takes by the same call each time.
func every(number int, args ...any) func() func(int) int {
	return func() func(int) int {
		words := arguments(number, args...)
		return func(int) int { return raw(&words) }
	}
}

// each takes by a function that needs no beginning.
func each(take func(n int) int) func() func(int) int {
	return func() func(int) int { return take }
}

// many is more than a container of 256 MiB can hold of the smallest thing that Linux counts.
const many = 4 << 20

// descriptorWays are descriptors, each with what is behind it.
func descriptorWays() []starver {
	var all []starver
	for _, w := range []struct {
		way  string
		take func() func(int) int
	}{
		{"null", every(sysOpen, "/dev/null", oRDONLY, 0)},
		{"folder", every(sysOpen, "/", oRDONLY|oDirectory, 0)},
		{"path", every(sysOpen, "/", oPath, 0)},
		{"copy", every(sysDup, 0)},
		{"proc-stat", every(sysOpen, "/proc/self/stat", oRDONLY, 0)},
		{"proc-net", every(sysOpen, "/proc/self/net/dev", oRDONLY, 0)},
		{"proc-maps", every(sysOpen, "/proc/self/maps", oRDONLY, 0)},
		{"proc-mounts", every(sysOpen, "/proc/self/mountinfo", oRDONLY, 0)},
		{"proc-status", every(sysOpen, "/proc/self/status", oRDONLY, 0)},
		{"proc-cgroup", every(sysOpen, "/proc/self/cgroup", oRDONLY, 0)},
		{"proc-root", every(sysOpen, "/proc/self/root", oPath, 0)},
		{"namespace", every(sysOpen, "/proc/self/ns/net", oRDONLY, 0)},
		{"pipe", func() func(int) int { ends := make([]byte, 8); return every(sysPipe2, ends, 0)() }},
		{"packet-pipe", func() func(int) int { ends := make([]byte, 8); return every(sysPipe2, ends, oDirect)() }},
		{"event", every(sysEventfd2, 0, 0)},
		{"timer", every(sysTimerfdCreate, 1, 0)},
		{"armed-timer", each(armedTimer)},
		{"signal", func() func(int) int { return every(sysSignalfd4, -1, make([]byte, 8), 8, 0)() }},
		{"poller", every(sysEpollCreate1, 0)},
		{"process", func() func(int) int { return every(sysPidfdOpen, call(sysGetpid), 0)() }},
		{"memory-file", every(sysMemfdCreate, "attack", 0)},
		{"ruleset", func() func(int) int { return every(sysLandlockCreate, make8(1), 8, 0)() }},
		{"nameless-file", every(sysOpen, "/tmp", oRDWR|oTmpfile, 0o600)},
	} {
		all = append(all, starver{"descriptors/" + w.way, many, byMemory, 500, w.take})
	}

	return append(all,
		starver{"descriptors/inotify", 100, 8, 20, every(sysInotifyInit)},
		starver{"descriptors/fanotify", 100, refused, 20, every(sysFanotifyInit, 0, 0)},
		starver{"descriptors/terminal", 200, 32, 64, every(sysOpen, "/dev/ptmx", oRDWR|0o400, 0)},
		starver{"descriptors/secret-memory", many, byMemory, 0, every(sysMemfdSecret, 0)},
		starver{"descriptors/faults", 100, refused, 20, every(sysUserfaultfd, 0)},
		starver{"descriptors/io-uring", 100, refused, 4, func() func(int) int {
			return func(int) int { return call(sysIOUringSetup, 1, make([]byte, 120)) }
		}},
		starver{"descriptors/perf", 100, refused, 4, func() func(int) int {
			event := append(words(1, 112), make([]byte, 104)...)
			return func(int) int { return call(sysPerfEventOpen, event, 0, -1, -1, 0) }
		}},
		starver{"descriptors/bpf-map", 100, refused, 20, func() func(int) int {
			return every(sysBPF, 0, words(1, 4, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 72)()
		}},
		starver{"watches/epoll", 200000, 200000, 100000, watcher},
		starver{"watches/epoll-nested", many, byMemory, 100, each(nestedPoller)},
		starver{"watches/inotify", 20000, 8192, 10000, inotifyWatcher},
		starver{"watches/dnotify", many, byMemory, 100, each(folderNotifier)},
		starver{"watches/pressure", many, byMemory, 0, each(pressureWatcher)},
	)
}

func make8(v uint32) []byte { return words(v, 0) }

func armedTimer(int) int {
	fd := call(sysTimerfdCreate, 1, 0)
	if fd < 0 {
		return fd
	}
	return call(sysTimerfdSettime, fd, 0, words(0, 0, 0, 0, 3600, 0, 0, 0), 0)
}

// nestedPoller returns a poller that watches another.
func nestedPoller(int) int {
	one, other := call(sysEpollCreate1, 0), call(sysEpollCreate1, 0)
	if one < 0 || other < 0 {
		return min(one, other)
	}
	return call(sysEpollCtl, one, 1, other, make([]byte, 12))
}

// inotifyWatcher watches files that it makes.
func inotifyWatcher() func(int) int {
	poller := call(sysInotifyInit)
	call(sysMkdir, "/tmp/watched", 0o777)
	return func(n int) int {
		name := "/tmp/watched/" + itoa(n)
		call(sysMkdir, name, 0o777)
		return min(call(sysInotifyAddWatch, poller, name, 1), 0)
	}
}

// folderNotifier has a signal sent when a folder changes.
func folderNotifier(int) int {
	const notify, multishot, blocked = 1026, 1 << 31, 1
	fd := call(sysOpen, "/tmp", oRDONLY|oDirectory, 0)
	if fd < 0 {
		return fd
	}
	return call(sysFcntl, fd, notify, multishot|blocked)
}

// pressureWatcher has the kernel look every 2 seconds whether programs of the machine waited for memory.
func pressureWatcher(int) int {
	const trigger = "some 150000 2000000\x00"
	fd := call(sysOpen, "/proc/pressure/memory", oRDWR, 0)
	if fd < 0 {
		return fd
	}
	return min(call(sysWrite, fd, trigger, len(trigger)), 0)
}

// lockWays are locks of files, and leases.
func lockWays() []starver {
	return []starver{
		{"locks/ofd", many, byMemory, 100, locker},
		{"locks/posix", many, byMemory, 100, func() func(int) int { return lockBytes(6) }},
		{"locks/whole-file", many, byMemory, 100, each(func(int) int {
			fd := call(sysOpen, "/tmp/flocked", oRDWR|0o100, 0o600)
			if fd < 0 {
				return fd
			}
			return call(sysFlock, fd, 1) // LOCK_SH
		})},
		{"locks/lease", many, byMemory, 100, each(func(n int) int {
			fd := call(sysOpen, "/tmp/leased"+itoa(n), oRDONLY|0o100, 0o600)
			if fd < 0 {
				return fd
			}
			return call(sysFcntl, fd, 1024, 0) // F_SETLEASE, F_RDLCK
		})},
	}
}

// lockBytes locks every second byte of a file, by a command of fcntl(2).
func lockBytes(command int) func(int) int {
	fd := call(sysOpen, "/tmp/locked", oRDWR|0o100, 0o600)
	return func(n int) int {
		lock := append(words(1, 0), offset(unbounded-2*n)...) // F_WRLCK, SEEK_SET
		return call(sysFcntl, fd, command, append(append(lock, offset(1)...), make([]byte, 8)...))
	}
}

func offset(n int) []byte { return words(uint32(n), uint32(n>>32)) }

// ipcWays are of System V and POSIX.
func ipcWays() []starver {
	queue := func(name string) func() func(int) int {
		return each(func(n int) int { return call(sysMqOpen, name+itoa(n), oRDWR|0o100, 0o600, 0) })
	}
	return []starver{
		{"ipc/semaphore-sets", 40000, 32000, 100, every(sysSemget, 0, 1, 0o600)},
		{"ipc/semaphores", 40000, byMemory, 10, every(sysSemget, 0, 32000, 0o600)},
		{"ipc/message-queues", 40000, 32000, 100, every(sysMsgget, 0, 0o1600)},
		{"ipc/messages", 40000, byMemory, 100, messenger},
		{"ipc/segments", 5000, 4096, 100, every(sysShmget, 0, 4096, 0o1600)},
		{"ipc/segment-mebibytes", 1000, byMemory, 16, each(segment)},
		{"ipc/huge-segments", 8, refused, 0, every(sysShmget, 0, 2<<20, 0o1600|0o4000)}, // SHM_HUGETLB
		{"ipc/posix-queues", 8, refused, 8, queue("attack")},
	}
}

// segment returns a segment of memory of a mebibyte that is used.
func segment(int) int {
	id := call(sysShmget, 0, chunk, 0o1600)
	if id < 0 {
		return id
	}
	at := call(sysShmat, id, 0, 0)
	if at < 0 {
		return at
	}
	return min(call(sysMadvise, at, chunk, 23), 0) // MADV_POPULATE_WRITE
}

// signalWays are signals that wait, and timers that send them.
func signalWays() []starver {
	return []starver{
		{"signals/thread", 10000, 4096, 5000, queuer},
		{"signals/timers", 10000, 4096, 5000, func() func(int) int {
			return func(int) int { return call(sysTimerCreate, 0, 0, make([]byte, 8)) }
		}},
		{"signals/timers-of-the-processor", 10000, 4096, 5000, func() func(int) int {
			return func(int) int { return call(sysTimerCreate, 2, 0, make([]byte, 8)) } // CLOCK_PROCESS_CPUTIME_ID
		}},
	}
}

// processWays are processes, of which each waits to be killed.
func processWays() []starver {
	return []starver{
		{"processes/sharing-memory", 8192, 4096, 50, each(func(int) int { return spawn() })},
	}
}

// namespaceWays are namespaces, mounts and groups of processes.
func namespaceWays() []starver {
	all := []starver{
		{"mounts/tmpfs", 8, refused, 8, each(func(n int) int { return call(sysMount, "none", "/tmp", "tmpfs", 0, "") })},
		{"mounts/bind", 8, refused, 8, each(func(n int) int { return call(sysMount, "/", "/tmp", "", msBind, 0) })},
		{"mounts/detached", 8, refused, 8, every(sysOpenTree, atFDCWD, "/", 1)},
		{"mounts/contexts", 8, refused, 8, every(sysFsopen, "tmpfs", 0)},
		{"cgroups/folder", 8, refused, 0, each(func(n int) int {
			return call(sysMkdir, "/sys/fs/cgroup/attack"+itoa(n), 0o777)
		})},
	}

	for _, kind := range []struct {
		name string
		flag int
	}{
		{"mount", 0x00020000},
		{"cgroup", 0x02000000},
		{"uts", 0x04000000},
		{"ipc", 0x08000000},
		{"net", 0x40000000},
	} {
		all = append(all, starver{"namespaces/" + kind.name, 8, refused, 8, every(sysUnshare, kind.flag)})
	}

	return append(all,
		starver{"namespaces/user", 8, refused, 0, every(sysUnshare, 0x10000000)},
		starver{"namespaces/time", 8, refused, 0, every(sysUnshare, 0x80)})
}

// kernelWays are of the kernel as a whole.
func kernelWays() []starver {
	key := func(kind string) func() func(int) int {
		return each(func(n int) int { return call(sysAddKey, kind, "attack:"+itoa(n), "x", 1, -2) }) // of the process
	}
	return []starver{
		{"keys/user", 8, refused, 8, key("user")},
		{"keys/logon", 8, refused, 8, key("logon")},
		{"keys/big", 8, refused, 0, key("big_key")},
		{"keys/ring", 8, refused, 8, each(func(n int) int {
			return call(sysAddKey, "keyring", "attack"+itoa(n), 0, 0, -2)
		})},
		{"keys/lasting", 8, refused, 0, every(sysKeyctl, 22, -1, -2)}, // KEYCTL_GET_PERSISTENT
		{"keys/session", 8, refused, 8, every(sysKeyctl, 1, 0)},       // KEYCTL_JOIN_SESSION_KEYRING
		{"asynchronous-io/contexts", 8, refused, 8, each(func(int) int {
			return call(sysIOSetup, 16, make([]byte, 8))
		})},
		{"filters/of-calls", 64, refused, 4, filterOfCalls(false)},
		{"filters/of-calls-by-prctl", 64, refused, 4, filterOfCalls(true)},
		{"flushes/machine", 64, refused, 4, every(sysSync)},
		{"flushes/file-system", 64, refused, 4, func() func(int) int {
			return every(sysSyncfs, call(sysOpen, "/", oRDONLY|oDirectory, 0))()
		}},
		{"helpers/core-dumps", 4, refused, 4, every(sysPrlimit, 0, 4, words(0, 0, 0, 0), 0)},
		{"settings/files", 8, refused, 0, every(sysOpen, "/proc/sys/fs/file-max", oWRONLY, 0)},
		{"settings/inotify", 8, refused, 0, every(sysOpen, "/proc/sys/fs/inotify/max_user_instances", oWRONLY, 0)},
		{"settings/connections", 8, refused, 0, every(sysOpen, "/proc/sys/net/netfilter/nf_conntrack_max", oWRONLY, 0)},
		{"settings/neighbours", 8, refused, 0, every(sysOpen, "/proc/sys/net/ipv4/neigh/default/gc_thresh3", oWRONLY, 0)},
		{"settings/own-limits", 8, refused, 0, every(sysOpen, "/proc/sys/user/max_inotify_instances", oWRONLY, 0)},
		{"settings/processes", 8, refused, 0, every(sysOpen, "/proc/sys/kernel/pid_max", oWRONLY, 0)},
		{"settings/terminals", 8, refused, 0, every(sysOpen, "/proc/sys/kernel/pty/max", oWRONLY, 0)},
		{"settings/caches", 8, refused, 0, every(sysOpen, "/proc/sys/vm/drop_caches", oWRONLY, 0)},
		{"log-of-the-kernel/lines", 8, refused, 0, every(sysOpen, "/dev/kmsg", oWRONLY, 0)},
		{"log-of-the-kernel/unread", 8, refused, 8, every(sysSyslog, 9, 0, 0)},
		{"priority/last-to-be-ended", 8, refused, 0, each(func(int) int { // for want of memory
			return with("/proc/self/oom_score_adj", oWRONLY, func(fd int) int { return call(sysWrite, fd, "-1000", 5) })
		})},
		{"priority/above-others", 8, refused, 8, every(sysSetpriority, 0, 0, -20)},
		{"priority/real-time", 8, refused, 8, every(sysSetscheduler, 0, 1, words(1))},
		{"priority/disk-real-time", 8, refused, 8, every(sysIoprioSet, 1, 0, 1<<13)},
	}
}

// filterOfCalls has the kernel compile a filter of system calls, as large as one may be. What all the machine's filters
// may take when they are compiled has an end, and containers start by one.
func filterOfCalls(byPrctl bool) func() func(int) int {
	return func() func(int) int {
		program, header := filterProgram(4096)
		kept = append(kept, program)
		call(sysPrctl, 38, 1, 0, 0, 0) // PR_SET_NO_NEW_PRIVS
		if byPrctl {
			return every(sysPrctl, 22, 2, header)() // PR_SET_SECCOMP, SECCOMP_MODE_FILTER
		}
		return every(sysSeccomp, 1, 0, header)()
	}
}

// filterProgram returns one of BPF's as it was at first, which lets everything through, and what a call takes of it.
func filterProgram(length int) (program, header []byte) {
	for i := range length - 1 {
		program = append(program, 0x04, 0, 0, 0) // add to the accumulator
		program = append(program, words(uint32(i))...)
	}
	program = append(program, 0x06, 0, 0, 0) // return
	program = append(program, words(0x7fff0000)...)
	header = append(words(uint32(length), 0), offset(int(pointer(program)))...)
	return program, header
}

func find(name string) (starver, bool) {
	all := starvations()
	i := slices.IndexFunc(all, func(s starver) bool { return s.name == name })
	if i < 0 {
		return starver{}, false
	}
	return all[i], true
}
