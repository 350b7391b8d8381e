package engine

import (
	"slices"
	"strings"

	"github.com/containerd/containerd/v2/contrib/seccomp"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// seccompProfile is containerd's default profile, the same that Linux pods get with RuntimeDefault, without what Wine
// does not use:
//   - system calls of 32-bit programs, whose sockets no filter sees (socketcall);
//   - asynchronous I/O of the kernel: all the machine's programs share fs.aio-max-nr requests;
//   - sockets of other families, kinds and protocols than sockets() has, and TCP_ULP of setsockopt(2). The kernel
//     loads the module of whatever a program names there, and runs it, and few programs have ever tried those modules.
func seccompProfile(s *specs.Spec) *specs.LinuxSeccomp {
	p := seccomp.DefaultProfile(s)
	p.Architectures = []specs.Arch{specs.ArchX86_64}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(call specs.LinuxSyscall) bool {
		return slices.Contains(call.Names, "socket")
	})
	for i := range p.Syscalls {
		p.Syscalls[i].Names = slices.DeleteFunc(p.Syscalls[i].Names, func(name string) bool {
			return name == "socketcall" || name == "setsockopt" || slices.Contains(asynchronousIO(), name)
		})
	}
	p.Syscalls = append(p.Syscalls, sockets()...)
	p.Syscalls = append(p.Syscalls, socketOptions()...)
	return p
}

// allow lets a call through if all of the conditions hold.
func allow(call string, conditions ...specs.LinuxSeccompArg) specs.LinuxSyscall {
	return specs.LinuxSyscall{Names: []string{call}, Action: specs.ActAllow, Args: conditions}
}

// is holds for an argument of that value, in all its 64 bits: the kernel may look at fewer.
func is(index uint, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: value, Op: specs.OpEqualTo}
}

// masked holds for an argument that has the value in the bits of the mask.
func masked(index uint, mask, value uint64) specs.LinuxSeccompArg {
	return specs.LinuxSeccompArg{Index: index, Value: mask, ValueTwo: value, Op: specs.OpMaskedEqual}
}

// sockets are the sockets that a container can make: those of Unix, TCP, UDP and ping, and the netlink that says
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

// socketOptions are the options that a container can set: all of the levels that sockets have, but TCP_ULP. A filter
// has no "other than this value" that cannot be passed by in bits that the kernel does not look at. So it lists all
// options below 64 but 31: each of 0 to 30 lacks one of the bits of 31.
func socketOptions() []specs.LinuxSyscall {
	var calls []specs.LinuxSyscall
	for _, level := range []uint64{
		unix.SOL_SOCKET, unix.IPPROTO_IP, unix.IPPROTO_IPV6, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.SOL_NETLINK,
	} {
		calls = append(calls, allow("setsockopt", is(1, level)))
	}
	const ulp, above = unix.TCP_ULP, ^uint64(unix.TCP_ULP)
	for bit := uint64(1); bit < ulp; bit <<= 1 {
		calls = append(calls, allow("setsockopt", is(1, unix.IPPROTO_TCP), masked(2, above|bit, 0)))
	}
	return append(calls, allow("setsockopt", is(1, unix.IPPROTO_TCP), masked(2, above, ulp+1)))
}

// asynchronousIO are the calls of io_setup(2) and its kind, not those of io_uring, which the default profile has not.
func asynchronousIO() []string {
	return strings.Fields("io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64")
}
