package engine

import (
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// seccompProfile returns containerd's default profile, the same that Linux pods get with RuntimeDefault, without what
// Wine does not use:
//   - system calls of 32-bit programs, whose sockets no filter sees (socketcall);
//   - sockets of other families, kinds and protocols than sockets() has, and TCP_ULP of setsockopt(2). The kernel
//     loads the module of whatever a program names there, and runs it, and few programs have ever tried those modules;
//   - what all the machine's programs share, and nothing counts: see unshared and narrowed.
func seccompProfile(s *specs.Spec) *specs.LinuxSeccomp {
	p := seccomp.DefaultProfile(s)
	p.Architectures = []specs.Arch{specs.ArchX86_64}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(call specs.LinuxSyscall) bool {
		return slices.Contains(call.Names, "socket")
	})

	gone := append(unshared(), "socketcall", "setsockopt")
	for _, call := range narrowed() {
		gone = append(gone, call.Names...)
	}

	for i := range p.Syscalls {
		p.Syscalls[i].Names = slices.DeleteFunc(p.Syscalls[i].Names, func(name string) bool {
			return slices.Contains(gone, name)
		})
	}

	p.Syscalls = append(p.Syscalls, sockets()...)
	p.Syscalls = append(p.Syscalls, socketOptions()...)
	p.Syscalls = append(p.Syscalls, narrowed()...)
	return p
}

// allow lets a call through if all of the conditions hold.
func allow(call string, conditions ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{
		Names:  []string{call},
		Action: specs.ActAllow,
		Args:   conditions,
	}
}

// is holds for an argument of that value, in all its 64 bits: the kernel may look at fewer.
func is(index uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{
		Index: index,
		Value: value,
		Op:    specs.OpEqualTo,
	}
}

// masked holds for an argument that has the value in the bits of the mask.
func masked(index uint, mask, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{
		Index:    index,
		Value:    mask,
		ValueTwo: value,
		Op:       specs.OpMaskedEqual,
	}
}

// sockets returns the sockets that a container can make: those of Unix, TCP, UDP and ping, and the netlink that says
// which links and addresses there are.
func sockets() []specs.LinuxSyscall {
	const kinds = 0xf // the rest of the argument are SOCK_NONBLOCK and SOCK_CLOEXEC
	calls := []specs.LinuxSyscall{
		allow("socket", is(0, unix.AF_UNIX)),
		allow("socket", is(0, unix.AF_NETLINK), is(2, unix.NETLINK_ROUTE)),
	}

	for _, family := range []uint64{unix.AF_INET, unix.AF_INET6} {
		for _, protocol := range []uint64{0, unix.IPPROTO_TCP} {
			calls = append(calls, allow("socket", is(0, family), masked(1, kinds, unix.SOCK_STREAM), is(2, protocol)))
		}
		for _, protocol := range []uint64{0, unix.IPPROTO_UDP, unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6} {
			calls = append(calls, allow("socket", is(0, family), masked(1, kinds, unix.SOCK_DGRAM), is(2, protocol)))
		}
	}

	return calls
}

// othersBelow lets a call through if an argument is below a limit, a power of two, and is none of the values, and all
// of the conditions hold. A filter has no "other than this value" that bits which the kernel does not look at cannot pass by,
// and of the conditions of a rule no two are of the same argument. So it is a rule for each of the largest ranges
// between the values whose lower bits may be any.
func othersBelow(
	limit uint64, call string, index uint, values []uint64, conditions ...specs.LinuxSeccompArg,
) []specs.LinuxSyscall {
	var calls []specs.LinuxSyscall
	var within func(from, size uint64)
	within = func(from, size uint64) {
		hit := slices.ContainsFunc(values, func(v uint64) bool { return v >= from && v < from+size })
		switch {
		case !hit:
			inRange := masked(index, ^(size - 1), from)
			calls = append(calls, allow(call, append([]specs.LinuxSeccompArg{inRange}, conditions...)...))
		case size > 1:
			within(from, size/2)
			within(from+size/2, size/2)
		}
	}
	within(0, limit)

	return calls
}

// socketOptions returns the options that a container can set: all of the levels that sockets have, but
//   - TCP_ULP;
//   - filters: all programs of the machine share what those may take that the kernel compiles
//     (net.core.bpf_jit_limit), and without it no container starts;
//   - labels of IPv6's flows, of which all the machine's programs have 4,096.
func socketOptions() []specs.LinuxSyscall {
	const most, flowLabels = 128, 32 // IPV6_FLOWLABEL_MGR
	filters := []uint64{
		unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF,
	}

	var calls []specs.LinuxSyscall
	for _, level := range []uint64{unix.IPPROTO_IP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.SOL_NETLINK} {
		calls = append(calls, allow("setsockopt", is(1, level)))
	}
	calls = append(calls, othersBelow(most, "setsockopt", 2, filters, is(1, unix.SOL_SOCKET))...)
	calls = append(calls, othersBelow(most, "setsockopt", 2, []uint64{flowLabels}, is(1, unix.IPPROTO_IPV6))...)
	return append(calls, othersBelow(most, "setsockopt", 2, []uint64{unix.TCP_ULP}, is(1, unix.IPPROTO_TCP))...)
}

// unshared are calls by which a container would take, or hold up, what belongs to all: the kernel's asynchronous I/O
// (fs.aio-max-nr requests; those of io_uring the default profile has not), filters of calls, which are compiled as
// those of sockets are, memory that keeps the machine from its sleep, and writing out all that is not yet on the disk,
// of whatever program.
func unshared() []string {
	return strings.Fields("io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64 " +
		"seccomp memfd_secret sync syncfs")
}

// narrowed are calls that a container can make without some of their arguments: huge pages, which are a stock of the
// machine's; a filter by prctl(2); a cookie for cores by it, with which a program keeps the other threads of its core
// idle, whatever others wait for and its own cgroup may have; memory that is merged with others' pages of the same
// content, which the time of a write tells, and whose comparing is the machine's work; and another limit of core files,
// by which the kernel would run a program of the machine, as its root, for each process that crashes (userns.Rlimits).
func narrowed() []specs.LinuxSyscall {
	const hugeSegment, nameOfMemory, tracer = 0o4000, 0x53564d41, 0x59616d61 // SHM_HUGETLB, PR_SET_VMA, PR_SET_PTRACER

	calls := []specs.LinuxSyscall{
		allow("mmap", masked(3, unix.MAP_HUGETLB, 0)),
		allow("memfd_create", masked(1, unix.MFD_HUGETLB, 0)),
		allow("shmget", masked(2, hugeSegment, 0)),
		allow("prctl", is(0, nameOfMemory)),
		allow("prctl", is(0, tracer)),
		allow("prlimit64", is(2, 0)),
	}
	calls = append(calls, othersBelow(128, "prctl", 0, []uint64{
		unix.PR_SET_SECCOMP, unix.PR_SCHED_CORE, unix.PR_SET_MEMORY_MERGE,
	})...)
	calls = append(calls, othersBelow(128, "madvise", 2, []uint64{unix.MADV_MERGEABLE})...)
	calls = append(calls, othersBelow(16, "prlimit64", 1, []uint64{unix.RLIMIT_CORE})...)
	return append(calls, othersBelow(16, "setrlimit", 0, []uint64{unix.RLIMIT_CORE})...)
}
