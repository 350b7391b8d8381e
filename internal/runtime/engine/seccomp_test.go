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
	for option := range uint64(64) {
		want := option != unix.TCP_ULP
		if got := passes(t, p, "setsockopt", 3, unix.IPPROTO_TCP, option, 0, 0); got != want {
			t.Errorf("option %d of TCP passes: %v", option, got)
		}
		if !passes(t, p, "setsockopt", 3, unix.SOL_SOCKET, option, 0, 0) {
			t.Errorf("option %d of SOL_SOCKET does not pass", option)
		}
	}
	for name, args := range map[string][]uint64{
		"higher bits of the level":  {3, 1<<32 | unix.IPPROTO_TCP, unix.TCP_ULP, 0, 0},
		"higher bits of the option": {3, unix.IPPROTO_TCP, 1<<32 | unix.TCP_ULP, 0, 0},
	} {
		if passes(t, p, "setsockopt", args...) {
			t.Errorf("TCP_ULP with %s passes", name)
		}
	}
}
