//go:build kernel

package nat_test

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// fill opens connections until that fails, at most so many. They are open until the test ends, and take little that
// they do not read.
func fill(t *testing.T, ns, to string, most int, opened func(net.Conn)) (open int) {
	t.Helper()
	d := net.Dialer{Timeout: 300 * time.Millisecond, Control: func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 4096) })
		return err
	}}

	for range most {
		var c net.Conn
		err := netns.Do(ns, func() (err error) {
			c, err = d.DialContext(t.Context(), "tcp", to)
			return err
		})
		if err != nil {
			break
		}

		t.Cleanup(func() { _ = c.Close() })
		opened(c)
		open++
	}

	return open
}

// TestManyConnections opens more connections than a container may have: those beyond wait, and others' are not touched,
// nor those that come in. Two containers cannot have more than all may have.
func TestManyConnections(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	one := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr("127.0.0.1"), Host: 8080, Container: 80, Protocol: wire.TCP},
	}})
	two := b.join(t, nat.Container{ID: "two"})
	echo(t, one.Netns, "0.0.0.0:80")

	nothing := func(net.Conn) {}
	if open := fill(t, one.Netns, outside+":8000", 600, nothing); open < 500 || open > 512 {
		t.Errorf("%d connections are open", open)
	}
	if got := says(t, two.Netns, outside+":8000", "hello"); got != machine+"\nhello" {
		t.Errorf("meanwhile another container gets %q", got)
	}

	if open := fill(t, two.Netns, outside+":8000", 600, nothing); open < 240 || open > 256 {
		t.Errorf("beside them another container opens %d", open)
	}
	if got := says(t, netns.Self, "127.0.0.1:8080", "hello"); got != one.DNS.String()+"\nhello" {
		t.Errorf("meanwhile a published port answers %q", got)
	}

	// Those of a container that leaves are others'.
	if err := one.Leave(); err != nil {
		t.Fatal(err)
	}
	if open := fill(t, two.Netns, outside+":8000", 600, nothing); open < 240 || open > 256 {
		t.Errorf("after the first has left another container opens %d more", open)
	}
}

// TestShortConnections opens more connections one after the other than there may be at a time, in and out, each ended
// first by the side that opened it.
func TestShortConnections(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	one := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr(machine), Host: 8080, Container: 80, Protocol: wire.TCP},
	}})
	echo(t, one.Netns, "0.0.0.0:80")
	for ns, to := range map[string]string{b.outside: machine + ":8080", one.Netns: outside + ":8000"} {
		began := time.Now()
		for n := range 1000 {
			var got int
			err := netns.Do(ns, func() error {
				c, err := net.DialTimeout("tcp", to, 2*time.Second)
				if err != nil {
					return err
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(2 * time.Second))
				got, err = c.Read(make([]byte, 100))
				return err
			})
			if err != nil || got == 0 {
				t.Fatalf("connection %d to %s: %v", n, to, err)
			}
		}

		t.Logf("1000 connections to %s took %v", to, time.Since(began))
	}
}

// TestPublishedConnections has strangers take all connections of a published port: the container still opens its own.
func TestPublishedConnections(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	one := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr(machine), Host: 8080, Container: 80, Protocol: wire.TCP},
	}})
	echo(t, one.Netns, "0.0.0.0:80")

	var answered int
	fill(t, b.outside, machine+":8080", 600, func(c net.Conn) {
		_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
		if n, _ := c.Read(make([]byte, 1)); n == 1 {
			answered++
		}
	})

	if answered < 370 || answered > 384 {
		t.Errorf("%d connections to a published port are answered", answered)
	}
	if got := says(t, one.Netns, outside+":8000", "hello"); got != machine+"\nhello" {
		t.Errorf("meanwhile the container gets %q", got)
	}
}

// TestManyFlows begins more flows than a container may have, and has strangers take those of a published port: others'
// flows are not touched, nor the container's own by the strangers.
func TestManyFlows(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	one := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr(machine), Host: 8080, Container: 80, Protocol: wire.UDP},
	}})
	two := b.join(t, nat.Container{ID: "two"})
	echo(t, one.Netns, "0.0.0.0:80")

	answered := func(ns, to string, most int) (n int) {
		var all []net.Conn
		for range most {
			c, err := dial(t, ns, "udp", to)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = c.Write([]byte("x"))
			all = append(all, c)
			if len(all)%50 == 0 {
				time.Sleep(5 * time.Millisecond) // else the interface drops packets
			}
		}

		deadline := time.Now().Add(time.Second)
		for _, c := range all {
			_ = c.SetReadDeadline(deadline)
			if got, _ := c.Read(make([]byte, 10)); got == 1 {
				n++
			}
		}

		return n
	}

	if n := answered(b.outside, machine+":8080", 400); n < 240 || n > 256 {
		t.Errorf("%d clients of a published port are answered", n)
	}
	if n := answered(one.Netns, outside+":8000", 600); n < 480 || n > 512 {
		t.Errorf("meanwhile %d flows of the container are answered", n)
	}
	if got := packet(t, two.Netns, outside+":8000", "hello"); got != "hello" {
		t.Errorf("meanwhile another container gets %q", got)
	}

	t.Logf("mullion-nat has%s", run(t, "", "grep VmRSS: /proc/$(pgrep -x -f mullion-nat)/status"))
}

// TestEndedConnections has a container end its connections and never take what was sent to it: they count as long as
// that waits for it.
func TestEndedConnections(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8001")
	m := b.join(t, nat.Container{ID: "one"})
	var l net.Listener
	err := netns.Do(b.outside, func() (err error) {
		l, err = net.Listen("tcp", outside+":8000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	defer l.Close()
	go func() {
		text := make([]byte, 100<<10)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(text)
			_ = c.Close()
		}
	}()

	var all []net.Conn
	open := fill(t, m.Netns, outside+":8000", 700, func(c net.Conn) {
		_ = c.(*net.TCPConn).CloseWrite()
		all = append(all, c)
		time.Sleep(2 * time.Millisecond) // its other side has ended too
	})
	t.Logf("with %d of them mullion-nat has%s", open, run(t, "", "grep VmRSS: /proc/$(pgrep -x -f mullion-nat)/status"))
	if open < 500 || open > 512 {
		t.Errorf("%d connections have ended and are not taken", open)
	}

	if got := says(t, m.Netns, outside+":8001", "x"); strings.HasSuffix(got, "x") {
		t.Errorf("one more is opened: %q", got)
	}

	for _, c := range all {
		_ = c.Close() // what is not read is thrown away, and the other side told
	}

	deadline := time.Now().Add(5 * time.Second)
	for got := ""; got != machine+"\nx"; got = says(t, m.Netns, outside+":8001", "x") {
		if time.Now().After(deadline) {
			t.Fatalf("after they are gone: %q", got)
		}
	}
}

// TestCgroup holds that mullion-nat is in its cgroup, with limits of its memory and its processors.
func TestCgroup(t *testing.T) {
	group := fmt.Sprintf("/mullion-test-nat-%d", time.Now().UnixNano())
	t.Cleanup(func() {
		if err := cgroup.Remove(group); err != nil {
			t.Error(err)
		}
	})
	run(t, "", "mount -t proc proc /proc")
	t.Cleanup(func() { run(t, "", "umount /proc") })
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	var log strings.Builder
	n := nat.New(nat.Config{
		Program: program,
		Pins:    filepath.Join(t.TempDir(), "pins"),
		Cgroup:  group,
		Log:     slog.New(slog.NewTextHandler(&log, nil)),
		Output:  os.Stderr,
	})

	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	defer n.Close()

	if own := run(t, "", "cat /proc/$(pgrep -x -f mullion-nat)/cgroup"); !strings.Contains(own, group) {
		t.Errorf("it is in\n%s", own)
	}

	half := max(1, runtime.NumCPU()/2) * 100_000
	for _, limit := range []struct{ what, v1, v2, want string }{
		{"limit memory", "memory%s/memory.limit_in_bytes", "%s/memory.max", fmt.Sprint(768 << 20)},
		{"limit cpu", "cpu%s/cpu.cfs_quota_us", "%s/cpu.max", fmt.Sprint(half)},
	} {
		file := "/sys/fs/cgroup/" + fmt.Sprintf(limit.v1, group)
		if _, err := os.Stat(file); err != nil {
			file = "/sys/fs/cgroup" + fmt.Sprintf(limit.v2, group)
		}

		got, err := os.ReadFile(file)
		switch words := strings.Fields(string(got)); {
		case err != nil && !strings.Contains(log.String(), limit.what): // a machine without the controller
			t.Errorf("%s: %v, and nothing in the log: %s", limit.what, err, log.String())
		case err == nil && words[0] != limit.want:
			t.Errorf("%s: %q, want %s", limit.what, got, limit.want)
		}
	}
}
