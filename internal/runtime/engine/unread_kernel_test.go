//go:build kernel

package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// TestUnread fills a socket of netlink and one of ping in a network namespace.
func TestUnread(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	path := filepath.Join(t.TempDir(), "ns")
	if _, err := netns.Ensure(path); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := netns.Remove(path); err != nil {
			t.Error(err)
		}
	})

	const most = 1 << 30
	empty, err := Unread(path, most)
	if err != nil || empty > 1<<20 {
		t.Fatalf("in an empty namespace %d bytes wait, %v", empty, err)
	}

	for name, tt := range map[string]struct {
		socket [3]int
		to     unix.Sockaddr
		packet []byte
		answer int64 // of bytes, at least
	}{
		// of a kind that there is not: an error is the answer
		"netlink": {
			[3]int{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE},
			&unix.SockaddrNetlink{Family: unix.AF_NETLINK},
			[]byte{16, 0, 0, 0, 0xff, 0, 5, 0, 1, 0, 0, 0, 0, 0, 0, 0},
			100,
		},
		"ping": {
			[3]int{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP},
			&unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}},
			append([]byte{8, 0, 0, 0}, make([]byte, 1000)...), 1000,
		},
		"ping of IPv6": {
			[3]int{unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_ICMPV6},
			&unix.SockaddrInet6{Addr: [16]byte{15: 1}},
			append([]byte{128, 0, 0, 0}, make([]byte, 1000)...), 1000,
		},
	} {
		var fd int
		err := netns.Do(path, func() (err error) {
			if _, err := netns.Sysctl("net/ipv4/ping_group_range", "0\t2147483647"); err != nil {
				return err
			}
			fd, err = unix.Socket(tt.socket[0], tt.socket[1]|unix.SOCK_CLOEXEC, tt.socket[2])
			return err
		})
		if name == "ping of IPv6" && errors.Is(err, unix.EAFNOSUPPORT) {
			continue
		}

		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		const packets = 20
		for range packets {
			if err := unix.Sendto(fd, tt.packet, 0, tt.to); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}

		got, err := Unread(path, most)
		if err != nil || got < empty+ownBytes+packets*tt.answer {
			t.Errorf("%s: %d bytes wait, before %d, %v", name, got, empty, err)
		}
		if few, err := Unread(path, 1); err != nil || few <= 1 {
			t.Errorf("%s: %d bytes wait, of which more than 1 is too many, %v", name, few, err)
		}

		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
		if got, err := Unread(path, most); err != nil || got != empty {
			t.Errorf("%s: %d bytes wait when it is closed, before %d, %v", name, got, empty, err)
		}
	}

	if _, err := Unread(path+"-not", most); err == nil {
		t.Error("a namespace that is not there has sockets")
	}
}
