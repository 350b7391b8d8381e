//go:build kernel

package nat_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
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

// TestOut has a container reach a server by TCP, UDP and ping, and be refused as the server refuses.
func TestOut(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	m := b.join(t, nat.Container{ID: "one"})

	if got := says(t, m.Netns, outside+":8000", "hello"); got != machine+"\nhello" {
		t.Errorf("TCP: %q", got)
	}
	long := strings.Repeat("0123456789abcdef", 1<<20)
	if got := says(t, m.Netns, outside+":8000", long); sha256.Sum256([]byte(got)) != sha256.Sum256([]byte(machine+"\n"+long)) {
		t.Errorf("16 MiB there and back by TCP: %d bytes came", len(got))
	}
	began := time.Now()
	if got := says(t, m.Netns, outside+":8001", ""); !strings.Contains(got, "connection refused") {
		t.Errorf("TCP to a port that nobody has: %q", got)
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the refusal came after %v", took)
	}
	if got := packet(t, m.Netns, outside+":8000", "hello"); got != "hello" {
		t.Errorf("UDP: %q", got)
	}
	large := strings.Repeat("x", 20000)
	if got := packet(t, m.Netns, outside+":8000", large); got != large {
		t.Errorf("a large packet of UDP: %d bytes", len(got))
	}
	run(t, m.Netns, "ping -c 2 -i 0.2 -W 3 "+outside)
	run(t, m.Netns, "ping -c 1 -W 3 127.0.0.1")
	run(t, m.Netns, "ping -c 1 -W 3 "+m.DNS.String())
	if got := run(t, m.Netns, "ip -o -6 addr | awk '{ print $2, $4 }'"); got != "lo ::1/128\n" {
		t.Errorf("its addresses of IPv6: %q", got)
	}
	if out, err := exec.Command("nsenter", "--net="+m.Netns, "ping", "-c1", "-W1", "192.0.2.77").CombinedOutput(); err == nil {
		t.Errorf("nobody's address answers pings: %s", out)
	}
}

// TestGuard asks for everything that containers do not reach, each with a server that answers the machine.
func TestGuard(t *testing.T) {
	b := newBed(t)
	run(t, "", "ip link add clu type bridge && ip link set clu alias 'mullion ip_forward=0/1 /run/x' && "+
		"ip addr add 10.213.0.254/24 dev clu && ip link set clu up && ip addr add 169.254.169.254/32 dev clu")
	t.Cleanup(func() { run(t, "", "ip link del clu") })
	echo(t, "", "0.0.0.0:8000")
	m := b.join(t, nat.Container{ID: "one"})

	for _, to := range []string{
		"127.0.0.1", "127.0.0.53", "0.0.0.0", machine, "10.213.0.254", cluster, "169.254.169.254", "192.0.2.255",
		"255.255.255.255", "224.0.0.1", m.DNS.String(), m.Addr.String(), m.Addr.Next().String(),
	} {
		if got := says(t, m.Netns, to+":8000", "hello"); strings.Contains(got, "hello") {
			t.Errorf("TCP to %s is answered: %q", to, got)
		}
		if got := packet(t, m.Netns, to+":8000", "hello"); got == "hello" {
			t.Errorf("UDP to %s is answered", to)
		}
	}
	for _, to := range []string{machine, cluster, "10.213.0.254", "169.254.169.254"} {
		if exec.Command("nsenter", "--net="+m.Netns, "ping", "-c1", "-W1", to).Run() == nil {
			t.Errorf("a ping to %s is answered", to)
		}
	}

	// An address that the machine gets later is guarded too.
	run(t, "", "ip addr add 192.0.2.3/32 dev out")
	if got := says(t, m.Netns, "192.0.2.3:8000", "hello"); strings.Contains(got, "hello") {
		t.Errorf("TCP to an address that the machine has got is answered: %q", got)
	}
	// The control: the same server answers the machine at all of them.
	for _, to := range []string{"127.0.0.1", machine, "10.213.0.254", "169.254.169.254", "192.0.2.3"} {
		if got := says(t, netns.Self, to+":8000", "hello"); !strings.Contains(got, "hello") {
			t.Errorf("the machine does not reach %s: %q", to, got)
		}
	}
}

// TestSpoof sends from another address than the container's own, as any program can.
func TestSpoof(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	m := b.join(t, nat.Container{ID: "one"})
	from := func(addr string) string {
		var c net.Conn
		err := netns.Do(m.Netns, func() (err error) {
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(addr)}, Control: func(_, _ string, c syscall.RawConn) (err error) {
				_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
				return err
			}}
			c, err = d.DialContext(t.Context(), "udp4", outside+":8000")
			return err
		})
		if err != nil {
			return err.Error()
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_, _ = c.Write([]byte("x"))
		answer := make([]byte, 10)
		n, _ := c.Read(answer)
		return string(answer[:n])
	}
	run(t, m.Netns, "ip addr add 172.30.208.77/32 dev lo; true")
	if got := from(m.Addr.String()); got != "x" {
		t.Errorf("from its own address: %q", got)
	}
	if got := from("172.30.208.77"); got == "x" {
		t.Error("a packet from another address is answered")
	}
}

// TestPublish reaches a container by ports of the machine.
func TestPublish(t *testing.T) {
	b := newBed(t)
	loopback := netip.MustParseAddr("127.0.0.1")
	ports := []nat.Port{
		{Addr: loopback, Host: 8080, Container: 80, Protocol: wire.TCP},
		{Addr: loopback, Host: 8080, Container: 80, Protocol: wire.UDP},
		{Addr: netip.MustParseAddr(machine), Host: 81, Container: 80, Protocol: wire.TCP},
	}
	m := b.join(t, nat.Container{ID: "one", Ports: ports})
	echo(t, m.Netns, "0.0.0.0:80")

	want := m.DNS.String() + "\nhello"
	if got := says(t, netns.Self, "127.0.0.1:8080", "hello"); got != want {
		t.Errorf("TCP by the loopback: %q", got)
	}
	if got := packet(t, netns.Self, "127.0.0.1:8080", "hello"); got != "hello" {
		t.Errorf("UDP by the loopback: %q", got)
	}
	if got := says(t, b.outside, machine+":81", "hello"); got != want {
		t.Errorf("TCP from outside to the port that is published there: %q", got)
	}
	if got := says(t, b.outside, machine+":8080", "hello"); !strings.Contains(got, "refused") {
		t.Errorf("TCP from outside to a port of the loopback: %q", got)
	}

	for _, p := range ports {
		_, err := b.net.Join(nat.Container{ID: "two", Ports: []nat.Port{p}})
		if taken, ok := errors.AsType[*nat.PortError](err); !ok || !taken.Taken {
			t.Errorf("%s twice: %v", p, err)
		}
	}
	if _, err := b.net.Join(nat.Container{ID: "three", Ports: []nat.Port{{
		Addr: netip.MustParseAddr("198.51.100.7"), Host: 80, Container: 80, Protocol: wire.TCP,
	}}}); err == nil || !strings.Contains(err.Error(), "198.51.100.7:80/tcp") {
		t.Errorf("an address that is not the machine's: %v", err)
	}

	if err := m.Leave(); err != nil {
		t.Fatal(err)
	}
	again := b.join(t, nat.Container{ID: "four", Ports: ports}) // the ports are free at once
	if got := says(t, netns.Self, "127.0.0.1:8080", ""); strings.Contains(got, again.DNS.String()) {
		t.Errorf("nobody listens in the container, and yet: %q", got)
	}
}

// TestPeers has containers reach each other by address and name, and see each other's addresses.
func TestPeers(t *testing.T) {
	b := newBed(t)
	nameServer(t)
	one := b.join(t, nat.Container{ID: "one", Names: []string{"Web"}})
	two := b.join(t, nat.Container{ID: "two", Names: []string{"db", "db-alias"}})
	echo(t, two.Netns, "0.0.0.0:5432")

	if got := says(t, one.Netns, two.Addr.String()+":5432", "hello"); got != one.Addr.String()+"\nhello" {
		t.Errorf("TCP: %q", got)
	}
	if got := packet(t, one.Netns, two.Addr.String()+":5432", "hello"); got != "hello" {
		t.Errorf("UDP: %q", got)
	}
	run(t, one.Netns, "ping -c 1 -W 3 "+two.Addr.String())
	for name, want := range map[string]string{
		"db": two.Addr.String(), "DB-Alias": two.Addr.String(), "web": one.Addr.String(), "www.example.com": "203.0.113.9",
	} {
		for _, network := range []string{"udp", "tcp"} {
			if got := lookUp(t, one, network, name); got != want {
				t.Errorf("%s by %s is %q, want %q", name, network, got, want)
			}
		}
	}
	if err := two.Leave(); err != nil {
		t.Fatal(err)
	}
	if got := lookUp(t, one, "udp", "db"); got == two.Addr.String() {
		t.Error("the name of one that has left is still known")
	}
}

// TestGatewayKilled kills mullion-nat: it is started again with all containers and ports.
func TestGatewayKilled(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	m := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr("127.0.0.1"), Host: 8080, Container: 80, Protocol: wire.TCP},
	}})
	echo(t, m.Netns, "0.0.0.0:80")
	for range 2 {
		run(t, "", "pkill -KILL -P $PPID -x -f mullion-nat")
		deadline := time.Now().Add(10 * time.Second)
		for {
			out, in := says(t, m.Netns, outside+":8000", "x"), says(t, netns.Self, "127.0.0.1:8080", "x")
			if out == machine+"\nx" && in == m.DNS.String()+"\nx" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("after the kill: out %q, in %q", out, in)
			}
		}
	}
}

// TestLeavesNothing compares the machine's network before and after.
func TestLeavesNothing(t *testing.T) {
	b := newBed(t)
	const state = "ip -o addr | sed 's/valid_lft.*//'; ip route; ip rule; nft list ruleset; cat /proc/sys/net/ipv4/ip_forward; ss -Hlntu"
	before := run(t, "", state)
	m := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: netip.MustParseAddr("127.0.0.1"), Host: 8080, Container: 80, Protocol: wire.UDP},
	}})
	during := run(t, "", state)
	if want := strings.Count(before, "\n") + 1; strings.Count(during, "\n") != want {
		t.Errorf("beside the socket of its port there is something of the container in the machine's network:\n%s", during)
	}
	apart, err := b.net.Apart("apart")
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, apart.Netns, "ip -o link | wc -l; ping -c 1 -W 2 127.0.0.1 >/dev/null && echo ok"); got != "1\nok\n" {
		t.Errorf("a namespace apart: %q", got)
	}
	if err := errors.Join(m.Leave(), apart.Leave()); err != nil {
		t.Fatal(err)
	}
	if after := run(t, "", state); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// fill opens connections until that fails, at most so many. They are open until the test ends, and take little that they
// do not read.
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

// TestBadRequests has mullion-nat refuse what it cannot carry out, and go on.
func TestBadRequests(t *testing.T) {
	b := newBed(t)
	if err := b.net.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.net.Join(nat.Container{ID: "one", Names: []string{strings.Repeat("x", 70000)}}); err == nil {
		t.Error("a message that is too long was sent")
	}
	echo(t, b.outside, outside+":8000")
	m := b.join(t, nat.Container{ID: "two"})
	if got := says(t, m.Netns, outside+":8000", "x"); !bytes.HasSuffix([]byte(got), []byte("x")) {
		t.Errorf("after it: %q", got)
	}
}

// TestNoRights holds that mullion-nat has a user of its own, no capability, no way to any, and bounds of its memory.
func TestNoRights(t *testing.T) {
	b := newBed(t)
	if err := b.net.Start(); err != nil {
		t.Fatal(err)
	}
	got := run(t, "", "cat /proc/$(pgrep -x -f mullion-nat)/task/*/status | grep -E '^(Uid|Gid|Groups|CapPrm|CapEff|CapAmb|CapInh|NoNewPrivs):' | sort -u")
	const want = "CapAmb:\t0000000000000000\nCapEff:\t0000000000000000\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n" +
		"Gid:\t65531\t65531\t65531\t65531\nGroups:\t \nNoNewPrivs:\t1\nUid:\t65531\t65531\t65531\t65531\n"
	if got != want {
		t.Errorf("it has\n%s\nwant\n%s", got, want)
	}

	// Also where nothing else bounds its memory.
	const limits = "Max data size 1073741824 1073741824\n"
	got = run(t, "", "grep '^Max data size' /proc/$(pgrep -x -f mullion-nat)/limits | awk '{ print $1, $2, $3, $4, $5 }'")
	if got != limits {
		t.Errorf("its limits are\n%s\nwant\n%s", got, limits)
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
