package engine

import (
	"slices"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// passes reports whether a profile lets a call through, as libseccomp compares.
func passes(t *testing.T, p *specs.LinuxSeccomp, name string, args ...uint64) bool {
	t.Helper()
	return slices.ContainsFunc(p.Syscalls, func(rule specs.LinuxSyscall) bool {
		if rule.Action != specs.ActAllow || !slices.Contains(rule.Names, name) {
			return false
		}

		for _, c := range rule.Args {
			switch c.Op {
			case specs.OpEqualTo:
				if args[c.Index] != c.Value {
					return false
				}
			case specs.OpMaskedEqual:
				if args[c.Index]&c.Value != c.ValueTwo {
					return false
				}

			default:
				t.Fatalf("%s compares by %s", name, c.Op)
			}
		}

		return true
	})
}

func profile() *specs.LinuxSeccomp {
	e := &Engine{opts: Options{IDs: DefaultIDs()}}
	return e.spec(Container{ID: "c"}, nil, nil).Linux.Seccomp
}

func TestSeccompSockets(t *testing.T) {
	p := profile()
	const flags = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	for _, tt := range []struct {
		name string
		args []uint64
		want bool
	}{
		{"unix", []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET, 0}, true},
		{"tcp", []uint64{unix.AF_INET, unix.SOCK_STREAM | flags, unix.IPPROTO_TCP}, true},
		{"udp", []uint64{unix.AF_INET6, unix.SOCK_DGRAM | flags, 0}, true},
		{"ping", []uint64{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP}, true},
		{"routes", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE}, true},
		{"sctp", []uint64{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, false},
		{"sctp-by-packets", []uint64{unix.AF_INET, unix.SOCK_SEQPACKET, 0}, false},
		{"l2tp", []uint64{unix.AF_INET6, unix.SOCK_DGRAM, 115}, false},
		{"raw", []uint64{unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP}, false},
		{"generic-netlink", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC}, false},
		{"netfilter", []uint64{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, false},
		{"vsock", []uint64{unix.AF_VSOCK, unix.SOCK_STREAM, 0}, false},
		{"higher-bits", []uint64{unix.AF_INET, unix.SOCK_STREAM, 1<<32 | unix.IPPROTO_SCTP}, false},
	} {
		if got := passes(t, p, "socket", tt.args...); got != tt.want {
			t.Errorf("socket %s: passes %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestSeccompSocketOptions(t *testing.T) {
	p := profile()
	refused := map[uint64][]uint64{
		unix.IPPROTO_TCP:  {unix.TCP_ULP},
		unix.IPPROTO_IPV6: {32}, // IPV6_FLOWLABEL_MGR
		unix.SOL_SOCKET: {
			unix.SO_ATTACH_FILTER, unix.SO_ATTACH_BPF, unix.SO_ATTACH_REUSEPORT_CBPF, unix.SO_ATTACH_REUSEPORT_EBPF,
		},
		unix.IPPROTO_IP: nil,
	}

	for level, options := range refused {
		for option := range uint64(128) {
			want := !slices.Contains(options, option)
			if got := passes(t, p, "setsockopt", 3, level, option, 0, 0); got != want {
				t.Errorf("option %d of level %d passes: %v", option, level, got)
			}
		}

		for _, option := range options {
			for name, args := range map[string][]uint64{
				"level":  {3, 1<<32 | level, option, 0, 0},
				"option": {3, level, 1<<32 | option, 0, 0},
			} {
				if passes(t, p, "setsockopt", args...) {
					t.Errorf("option %d of level %d with higher bits of the %s passes", option, level, name)
				}
			}
		}
	}
}

// TestSeccompNarrowed: what the kernel does not look at does not help past a condition.
func TestSeccompNarrowed(t *testing.T) {
	p := profile()
	const high = 1 << 32
	for _, tt := range []struct {
		name string
		call string
		args []uint64
		want bool
	}{
		{"memory", "mmap", []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_ANONYMOUS, 0, 0}, true},
		{"memory-of-huge-pages", "mmap", []uint64{0, 4096, 3, unix.MAP_PRIVATE | unix.MAP_HUGETLB, 0, 0}, false},
		{"memory-of-gigantic-pages", "mmap", []uint64{0, 4096, 3, unix.MAP_HUGETLB | 30<<26, 0, 0}, false},
		{"file", "memfd_create", []uint64{0, unix.MFD_CLOEXEC}, true},
		{"file-of-huge-pages", "memfd_create", []uint64{0, high | unix.MFD_HUGETLB}, false},
		{"segment", "shmget", []uint64{0, 4096, 0o1600}, true},
		{"segment-of-huge-pages", "shmget", []uint64{0, 4096, 0o1600 | 0o4000}, false},
		{"name-of-a-thread", "prctl", []uint64{unix.PR_SET_NAME, 0}, true},
		{"no-new-privileges", "prctl", []uint64{unix.PR_SET_NO_NEW_PRIVS, 1}, true},
		{"name-of-memory", "prctl", []uint64{0x53564d41, 0}, true},
		{"filter", "prctl", []uint64{unix.PR_SET_SECCOMP, 2}, false},
		{"core-alone", "prctl", []uint64{unix.PR_SCHED_CORE, unix.PR_SCHED_CORE_CREATE}, false},
		{"core-alone-with-higher-bits", "prctl", []uint64{high | unix.PR_SCHED_CORE, 1}, false},
		{"merged-memory", "prctl", []uint64{unix.PR_SET_MEMORY_MERGE, 1}, false},
		{"merged-pages", "madvise", []uint64{0, 4096, unix.MADV_MERGEABLE}, false},
		{"merged-pages-with-higher-bits", "madvise", []uint64{0, 4096, high | unix.MADV_MERGEABLE}, false},
		{"pages-not-needed", "madvise", []uint64{0, 4096, unix.MADV_DONTNEED}, true},
		{"pages-populated", "madvise", []uint64{0, 4096, unix.MADV_POPULATE_WRITE}, true},
		{"speculation", "prctl", []uint64{unix.PR_SET_SPECULATION_CTRL, 0}, true},
		{"filter-with-higher-bits", "prctl", []uint64{high | unix.PR_SET_SECCOMP, 2}, false},
		{"files", "prlimit64", []uint64{0, unix.RLIMIT_NOFILE, 1}, true},
		{"core-files-read", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 0}, true},
		{"core-files", "prlimit64", []uint64{0, unix.RLIMIT_CORE, 1}, false},
		{"core-files-with-higher-bits", "prlimit64", []uint64{0, high | unix.RLIMIT_CORE, 1}, false},
		{"core-files-as-of-old", "setrlimit", []uint64{unix.RLIMIT_CORE, 1}, false},
		{"files-as-of-old", "setrlimit", []uint64{unix.RLIMIT_NOFILE, 1}, true},
		{"filter-of-calls", "seccomp", []uint64{1, 0, 0}, false},
		{"flush", "sync", nil, false},
		{"flush-of-a-file", "fsync", []uint64{3}, true},
		{"secret-memory", "memfd_secret", []uint64{0}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := passes(t, p, tt.call, tt.args...); got != tt.want {
				t.Errorf("%s passes: %v, want %v", tt.call, got, tt.want)
			}
		})
	}
}
