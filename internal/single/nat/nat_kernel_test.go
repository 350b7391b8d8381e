//go:build kernel

package nat_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
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
	testrun.Once(t, testrun.Attack)
	b := newBed(t)
	echo(t, b.outside, outside+":8000")
	m := b.join(t, nat.Container{ID: "one"})
	from := func(addr string) string {
		var c net.Conn
		err := netns.Do(m.Netns, func() (err error) {
			free := func(_, _ string, c syscall.RawConn) (err error) {
				_ = c.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_FREEBIND, 1) })
				return err
			}
			d := net.Dialer{LocalAddr: &net.UDPAddr{IP: net.ParseIP(addr)}, Control: free}
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

// TestPublishAny publishes at ports that are free, and says which.
func TestPublishAny(t *testing.T) {
	b := newBed(t)
	loopback := netip.MustParseAddr("127.0.0.1")
	first := b.join(t, nat.Container{ID: "one", Ports: []nat.Port{
		{Addr: loopback, Container: 80, Protocol: wire.TCP},
		{Addr: loopback, Container: 80, Protocol: wire.UDP},
		{Addr: loopback, Host: 8000, Last: 8001, Container: 80, Protocol: wire.TCP},
	}})
	echo(t, first.Netns, "0.0.0.0:80")
	if p := first.Ports; len(p) != 3 || p[0].Host == 0 || p[1].Host == 0 || p[2].Host != 8000 || p[2].Last != 0 {
		t.Fatalf("opened %v", p)
	}

	for _, p := range first.Ports {
		at := netip.AddrPortFrom(p.Addr, p.Host).String()
		if p.Protocol == wire.UDP {
			if got := packet(t, netns.Self, at, "hello"); got != "hello" {
				t.Errorf("%s: %q", p, got)
			}
		} else if got := says(t, netns.Self, at, "hello"); !strings.HasSuffix(got, "\nhello") {
			t.Errorf("%s: %q", p, got)
		}
	}

	if received, sent, err := first.Carried(); err != nil || received < 100 || sent < 100 {
		t.Errorf("it has carried %d and %d: %v", received, sent, err)
	}

	several := nat.Port{
		Addr:      loopback,
		Host:      8000,
		Last:      8001,
		Container: 80,
		Protocol:  wire.TCP,
	}

	if second := b.join(t, nat.Container{ID: "two", Ports: []nat.Port{several}}); second.Ports[0].Host != 8001 {
		t.Errorf("opened %v", second.Ports)
	}
	_, err := b.net.Join(nat.Container{ID: "three", Ports: []nat.Port{several}})
	if taken, ok := errors.AsType[*nat.PortError](err); !ok || !taken.Taken ||
		err.Error() != "publish 127.0.0.1:8000-8001/tcp: other programs of this machine have the ports" {
		t.Errorf("all are taken: %v", err)
	}
}

// TestRename has a container found by other names, also by a gateway that is started later.
func TestRename(t *testing.T) {
	b := newBed(t)
	nameServer(t)
	one := b.join(t, nat.Container{ID: "one", Names: []string{"web"}})
	two := b.join(t, nat.Container{ID: "two", Names: []string{"db"}})
	found := func() {
		t.Helper()
		deadline := time.Now().Add(10 * time.Second)
		for lookUp(t, one, "udp", "store") != two.Addr.String() {
			if time.Now().After(deadline) {
				t.Fatalf("the new name is %q", lookUp(t, one, "udp", "store"))
			}
		}

		if got := lookUp(t, one, "udp", "db"); got == two.Addr.String() {
			t.Error("the old name is still known")
		}
	}

	if err := two.Rename([]string{"store"}); err != nil {
		t.Fatal(err)
	}
	found()
	run(t, "", "pkill -KILL -P $PPID -x -f mullion-nat")
	found()

	if err := two.Leave(); err != nil {
		t.Fatal(err)
	}
	if err := two.Rename([]string{"gone"}); err != nil {
		t.Errorf("of one that is gone: %v", err)
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
	testrun.Once(t, testrun.Loss)
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
	testrun.Once(t, testrun.Leftover)
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
