//go:build kernel

package nat_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/single/nat"
	"mullion.dev/mullion/internal/single/nat/gateway"
	"mullion.dev/mullion/internal/single/nat/wire"
)

// inside is the variable of a test process that is in namespaces of its own: they are the machine's.
const inside = "MULLION_TEST_NAT_INSIDE"

// TestMain runs the tests in namespaces of their own, and is mullion-nat when it is started as that.
func TestMain(m *testing.M) {
	if os.Args[0] == "mullion-nat" {
		if err := gateway.Serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:   unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWPID,
		Unshareflags: unix.CLONE_NEWNS, // with it, what is mounted stays there
		Pdeathsig:    unix.SIGKILL,
	}
	_ = cmd.Run() // its code is passed on
	os.Exit(cmd.ProcessState.ExitCode())
}

// The addresses of the bed: the machine's, and that of a server beyond it.
const (
	machine = "192.0.2.1"
	outside = "192.0.2.2"
	cluster = "10.213.0.1"
)

// bed is a machine with a network, beyond which is a server.
type bed struct {
	net     *nat.Network
	outside string // the pin of the server's namespace
	dir     string
}

func run(t *testing.T, ns, command string) string {
	t.Helper()
	var out []byte
	do := func() (err error) {
		out, err = exec.Command("sh", "-c", command).CombinedOutput()
		return err
	}
	err := do
	if ns != "" {
		err = func() error { return netns.Do(ns, do) }
	}
	if err := err(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{dir: t.TempDir()}
	run(t, "", "mount -t proc proc /proc; ip link set lo up; echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range")
	b.outside = filepath.Join(b.dir, "outside")
	if _, err := netns.Ensure(b.outside); err != nil {
		t.Fatal(err)
	}
	ns := fmt.Sprintf("nsenter --net=%s ", b.outside)
	run(t, "", "ip link add out type veth peer name in && ip link set in netns /proc/$$/fd/9 9<"+b.outside)
	run(t, "", "ip addr add "+machine+"/24 dev out && ip link set out up && ip route add default via "+outside)
	run(t, "", ns+"ip addr add "+outside+"/24 dev in && "+ns+"ip link set in up && "+ns+"ip route add default via "+machine)
	resolv := filepath.Join(b.dir, "resolv.conf")
	if err := os.WriteFile(resolv, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "", "mount --bind "+resolv+" /etc/resolv.conf")

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b.net = nat.New(nat.Config{
		Program:  program,
		Pins:     filepath.Join(b.dir, "pins"),
		Clusters: "mullion ip_forward=",
		Log:      slog.New(slog.NewTextHandler(t.Output(), nil)),
		Output:   os.Stderr,
	})
	t.Cleanup(func() {
		if err := b.net.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(filepath.Join(b.dir, "pins")); len(left) > 0 {
			t.Errorf("pins are left: %v", left)
		}
		run(t, "", "umount /etc/resolv.conf; ip link del out; umount /proc")
		if err := netns.Remove(b.outside); err != nil {
			t.Error(err)
		}
	})
	return b
}

// join connects a container.
func (b *bed) join(t *testing.T, c nat.Container) *nat.Member {
	t.Helper()
	m, err := b.net.Join(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Leave(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// echo serves TCP and UDP in a namespace ("": the machine's): what comes goes back, after the client's address.
func echo(t *testing.T, ns, at string) {
	t.Helper()
	var l net.Listener
	var p net.PacketConn
	listen := func() (err error) {
		if l, err = net.Listen("tcp", at); err != nil {
			return err
		}
		p, err = net.ListenPacket("udp", at)
		return err
	}
	err := listen
	if ns != "" {
		err = func() error { return netns.Do(ns, listen) }
	}
	if err := err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close(); _ = p.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				host, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				fmt.Fprintln(c, host)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(buffer[:n], from)
		}
	}()
}

// dial connects from a namespace.
func dial(t *testing.T, ns, network, to string) (net.Conn, error) {
	t.Helper()
	var c net.Conn
	err := netns.Do(ns, func() (err error) {
		c, err = (&net.Dialer{Timeout: 5 * time.Second}).DialContext(t.Context(), network, to)
		return err
	})
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return c, err
}

// says connects by TCP, sends a text, and returns what comes back until the end.
func says(t *testing.T, ns, to, text string) string {
	t.Helper()
	c, err := dial(t, ns, "tcp", to)
	if err != nil {
		return err.Error()
	}
	go func() {
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
	}()
	all, err := io.ReadAll(c)
	if err != nil {
		return err.Error()
	}
	return string(all)
}

// packet sends a packet, and returns the one that comes back.
func packet(t *testing.T, ns, to, text string) string {
	t.Helper()
	c, err := dial(t, ns, "udp", to)
	if err != nil {
		return err.Error()
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		return err.Error()
	}
	answer := make([]byte, 1<<16)
	n, err := c.Read(answer)
	if err != nil {
		return err.Error()
	}
	return string(answer[:n])
}

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

// lookUp asks for a name at the gateway.
func lookUp(t *testing.T, from *nat.Member, network, name string) string {
	t.Helper()
	r := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return dial(t, from.Netns, network, netip.AddrPortFrom(from.DNS, 53).String())
	}}
	found, err := r.LookupNetIP(t.Context(), "ip4", name+".")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(found[0])
}

// nameServer answers the machine's questions at its loopback: www.example.com is 203.0.113.9.
func nameServer(t *testing.T) {
	t.Helper()
	answer := func(question []byte) []byte {
		var m dnsmessage.Message
		if m.Unpack(question) != nil {
			return nil
		}
		m.Response, m.Additionals = true, nil
		if name := m.Questions[0].Name; name.String() == "www.example.com." && m.Questions[0].Type == dnsmessage.TypeA {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET, TTL: 1},
				Body:   &dnsmessage.AResource{A: [4]byte{203, 0, 113, 9}},
			}}
		} else {
			m.RCode = dnsmessage.RCodeNameError
		}
		packed, _ := m.Pack()
		return packed
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(); _ = l.Close() })
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, from, err := p.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = p.WriteTo(answer(buffer[:n]), from)
		}
	}()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buffer := make([]byte, 1<<16)
			n, _ := c.Read(buffer)
			reply := answer(buffer[2:max(n, 2)])
			_, _ = c.Write(append([]byte{byte(len(reply) >> 8), byte(len(reply))}, reply...))
			_ = c.Close()
		}
	}()
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

// TestManyConnections opens more connections than a container may have: those beyond wait, and others' are not touched.
func TestManyConnections(t *testing.T) {
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	one, two := b.join(t, nat.Container{ID: "one"}), b.join(t, nat.Container{ID: "two"})
	var open int
	for range 1100 {
		var c net.Conn
		err := netns.Do(one.Netns, func() (err error) {
			c, err = net.DialTimeout("tcp", outside+":8000", 300*time.Millisecond)
			return err
		})
		if err != nil {
			break
		}
		defer c.Close()
		open++
	}
	if open < 1000 || open > 1024 {
		t.Errorf("%d connections are open", open)
	}
	if got := says(t, two.Netns, outside+":8000", "hello"); got != machine+"\nhello" {
		t.Errorf("meanwhile another container gets %q", got)
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
