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
//   - sockets of other families than these. The kernel loads the module of a family when a program asks for it.
func seccompProfile(s *specs.Spec) *specs.LinuxSeccomp {
	p := seccomp.DefaultProfile(s)
	p.Architectures = []specs.Arch{specs.ArchX86_64}
	p.Syscalls = slices.DeleteFunc(p.Syscalls, func(call specs.LinuxSyscall) bool {
		return slices.Contains(call.Names, "socket")
	})
	for i := range p.Syscalls {
		p.Syscalls[i].Names = slices.DeleteFunc(p.Syscalls[i].Names, func(name string) bool {
			return name == "socketcall" || slices.Contains(asynchronousIO(), name)
		})
	}
	for _, family := range []uint64{unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK} {
		p.Syscalls = append(p.Syscalls, specs.LinuxSyscall{
			Names:  []string{"socket"},
			Action: specs.ActAllow,
			Args:   []specs.LinuxSeccompArg{{Index: 0, Value: family, Op: specs.OpEqualTo}},
		})
	}
	return p
}

// asynchronousIO are the calls of io_setup(2) and its kind, not those of io_uring, which the default profile has not.
func asynchronousIO() []string {
	return strings.Fields("io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents io_pgetevents_time64")
}
