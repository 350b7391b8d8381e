//go:build kernel

package dataplane_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// bind binds a port of the host as a program there does.
func (h host) bind(network, addr string) error {
	return netns.Do(h.ns, func() error {
		if network == "udp" {
			c, err := net.ListenPacket(network, addr)
			if err == nil {
				err = c.Close()
			}
			return err
		}

		l, err := net.Listen(network, addr)
		if err == nil {
			err = l.Close()
		}
		return err
	})
}

func TestHoldPorts(t *testing.T) {
	h := newHost(t)
	held, err := h.HoldPorts(netplan.HeldPorts{
		First: 8080,
		Last:  8081,
		TCP:   true,
	})
	if err != nil {
		t.Fatal(err)
	}

	for _, addr := range []string{":8080", "0.0.0.0:8081", "127.0.0.1:8080", "[::1]:8081"} {
		if err := h.bind("tcp", addr); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("bind %s: %v", addr, err)
		}
	}

	for network, addr := range map[string]string{"udp": ":8080", "tcp": ":8082"} {
		if err := h.bind(network, addr); err != nil {
			t.Errorf("bind what nobody holds: %v", err)
		}
	}

	err = netns.Do(h.ns, func() error {
		c, err := net.DialTimeout("tcp", "127.0.0.1:8080", time.Second)
		if err == nil {
			_ = c.Close()
		}
		return err
	})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("connect to a held port: %v", err)
	}

	if err := held.Close(); err != nil {
		t.Error(err)
	}
	if err := h.bind("tcp", ":8080"); err != nil {
		t.Errorf("bind what was given back: %v", err)
	}
}

// A port that a program has bound stays its own, and a failed attempt to hold it leaves nothing.
func TestHoldPortsInUse(t *testing.T) {
	h := newHost(t)
	var l net.Listener
	err := netns.Do(h.ns, func() (err error) { l, err = net.Listen("tcp4", "127.0.0.1:9002"); return err })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()

	before := openFiles(t)
	if _, err := h.HoldPorts(netplan.HeldPorts{
		First: 9000,
		Last:  9003,
		TCP:   true,
		UDP:   true,
	}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("ports of which one is in use: %v", err)
	}

	if after := openFiles(t); after != before {
		t.Errorf("%d open files, before %d", after, before)
	}
}

// However many ports are held, the process has file descriptors left.
func TestHoldPortsLeavesFiles(t *testing.T) {
	h := newHost(t)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 512, Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }()

	files := openFiles(t)
	if _, err := h.HoldPorts(netplan.HeldPorts{
		First: 50000,
		Last:  51000,
		TCP:   true,
		UDP:   true,
	}); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("2002 sockets of a process that may have 512 files: %v", err)
	}

	if after := openFiles(t); after != files {
		t.Errorf("%d open files, before %d", after, files)
	}

	held, err := h.HoldPorts(netplan.HeldPorts{
		First: 50000,
		Last:  50063,
		TCP:   true,
		UDP:   true,
	})
	if err != nil {
		t.Fatal(err)
	}

	if err := held.Close(); err != nil {
		t.Error(err)
	}
}

// The host's own connections never get held ports as their source, even if few others are left.
func TestHeldPortsAreNotEphemeral(t *testing.T) {
	h := newHost(t)
	run(t, h.ns, `echo 50000 50009 > /proc/sys/net/ipv4/ip_local_port_range`)
	held, err := h.HoldPorts(netplan.HeldPorts{
		First: 50000,
		Last:  50007,
		TCP:   true,
		UDP:   true,
	})
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = held.Close() }()

	err = netns.Do(h.ns, func() error {
		l, err := net.Listen("tcp4", "127.0.0.1:7000")
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }()

		for range 2 {
			c, err := net.Dial("tcp4", "127.0.0.1:7000")
			if err != nil {
				return err
			}
			defer func() { _ = c.Close() }()
			if port := c.LocalAddr().(*net.TCPAddr).Port; port < 50008 {
				return fmt.Errorf("a connection has the held port %d", port)
			}
		}

		if c, err := net.DialTimeout("tcp4", "127.0.0.1:7000", time.Second); err == nil {
			return fmt.Errorf("a third connection has port %d", c.LocalAddr().(*net.TCPAddr).Port)
		}

		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
