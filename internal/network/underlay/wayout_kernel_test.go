//go:build kernel

package underlay_test

import (
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/ipv6"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// state6 returns what a cluster could leave of IPv6 in the machine's namespace.
func state6(t *testing.T, ns string) string {
	t.Helper()
	return run(t, ns, "sh", "-c", "cd /proc/sys/net/ipv6/conf; grep . */forwarding */accept_ra | grep -v ^mullion; "+
		"nft list tables; ip -6 route show | grep -v mullion | sed 's/ expires [0-9]*sec//'")
}

// connect6 gives the machine's uplink and what is behind it IPv6 addresses. The outside knows a way to the nodes.
func (e env) connect6(t *testing.T) {
	t.Helper()
	run(t, e.machine, "ip", "addr", "add", "2001:db8::1/64", "dev", "uplink", "nodad")
	run(t, e.outside, "sh", "-c", "ip addr add 2001:db8::2/64 dev eth0 nodad; ip route add fd00::/16 via 2001:db8::1")
}

func newEnv6(t *testing.T) env {
	t.Helper()
	e := newEnv(t)
	e.subnet6 = netip.MustParsePrefix("fd00:213::/64")
	e.u = e.open(t)
	return e
}

// The hosts reach what the machine reaches by IPv6, behind its address; nobody outside reaches them. A machine without
// IPv6 is no router, and becomes one when it gets IPv6.
func TestWayOut6(t *testing.T) {
	e := newEnv6(t)
	run(t, e.machine, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
	before := state6(t, e.machine)
	e.up(t)
	forwards := func() string {
		return strings.TrimSpace(run(t, e.machine, "cat", "/proc/sys/net/ipv6/conf/all/forwarding"))
	}

	if out, err := e.u.FollowRoutes6(t.Context()); err != nil || out || forwards() != "0" {
		t.Errorf("without IPv6: a way out: %t, %v; forwarding is %s", out, err, forwards())
	}

	a, b := e.u.HostNetns("win-a"), e.u.HostNetns("win-b-with-a-long-name")
	netnstest.Serve(t, a, "a", "[fd00:213::b]:80")
	netnstest.Flow(t, b, "[fd00:213::b]:80", "a", "fd00:213::c")
	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, state6(t, e.machine)); diff != "" {
		t.Errorf("machine without IPv6 after Down (-before +after):\n%s", diff)
	}

	e.up(t)
	run(t, e.machine, "sysctl", "-qw", "net.ipv6.conf.uplink.disable_ipv6=0")
	e.connect6(t)
	before = state6(t, e.machine)
	for range 2 { // the second time there is nothing to do
		if out, err := e.u.FollowRoutes6(t.Context()); err != nil || !out || forwards() != "1" {
			t.Errorf("with IPv6: a way out: %t, %v; forwarding is %s", out, err, forwards())
		}
	}

	if out, err := e.u.HasWayOut6(); err != nil || !out {
		t.Errorf("there is no way out: %v", err)
	}
	after := strings.ReplaceAll(state6(t, e.machine), "all/forwarding:1", "all/forwarding:0")
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the way out changes more than the switch (-before +after):\n%s", diff)
	}

	a = e.u.HostNetns("win-a")
	netnstest.Serve(t, a, "a", "[fd00:213::b]:80")
	netnstest.Serve(t, e.outside, "outside", "[2001:db8::2]:80")
	netnstest.Flow(t, a, "[2001:db8::2]:80", "outside", "2001:db8::1")
	netnstest.Flow(t, e.u.FabricNetns(), "[2001:db8::2]:80", "outside", "2001:db8::1")
	netnstest.NoFlow(t, e.outside, "[fd00:213::b]:80") // the guard
	run(t, a, "sh", "-c", "ip addr add fd00:244:1::2/128 dev eth0 nodad")
	run(t, e.machine, "ip", "route", "add", "fd00:244:1::/64", "via", "fd00:213::b")

	for from, lost := range map[string]string{"fd00:213::b": " 0% packet loss", "fd00:244:1::2": "100% packet loss"} {
		if out := run(t, a, "sh", "-c", "ping -c1 -W1 -I "+from+" 2001:db8::2 || true"); !strings.Contains(out, lost) {
			t.Errorf("of packets from %s:\n%s, want%s", from, out, lost)
		}
	}
}

// A machine that forwarded nothing is no router between its networks while a cluster is up, and gets its switches back
// from the last cluster that goes, also if another cluster has IPv4 alone, and after a crash.
func TestWayOut6OfTwoClusters(t *testing.T) {
	for _, first := range []string{"the one that set it", "the other"} {
		t.Run(first+" goes first", func(t *testing.T) {
			e := newEnv6(t)
			e.connect6(t)
			run(t, e.machine, "sh", "-c", "cd /proc/sys/net/ipv6/conf; echo 1 >uplink/forwarding; echo 2 >lo/accept_ra")
			before := state(t, e.machine) + state6(t, e.machine)
			second, err := underlay.New(underlay.Config{
				RunDir:       t.TempDir(),
				MachineNetns: e.machine,
				Link:         "mullion1",
				Subnet:       netip.MustParsePrefix("10.214.0.0/24"),
				Subnet6:      netip.MustParsePrefix("fd00:214::/64"),
			})
			if err != nil {
				t.Fatal(err)
			}

			e.up(t)
			if err := second.Up(t.Context()); err != nil {
				t.Fatal(err)
			}

			e.u = e.open(t) // a new process, which remembers nothing
			e.up(t)
			order := []*underlay.Underlay{e.u, second}
			if first == "the other" {
				order = []*underlay.Underlay{second, e.u}
			}
			if err := order[0].Down(t.Context()); err != nil {
				t.Fatal(err)
			}

			for _, key := range []string{"net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"} {
				if got := run(t, e.machine, "cat", "/proc/sys/"+key); strings.TrimSpace(got) != "1" {
					t.Errorf("the first Down took %s away from the second cluster", key)
				}
			}

			if err := order[1].Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, state(t, e.machine)+state6(t, e.machine)); diff != "" {
				t.Errorf("machine after both (-before +after):\n%s", diff)
			}
		})
	}
}

// A machine that has its address and default route from router advertisements keeps them, and goes on to learn.
func TestWayOut6KeepsLearned(t *testing.T) {
	e := newEnv6(t)
	learned := func() string {
		return run(t, e.machine, "sh", "-c", "ip -6 route show default proto ra | cut -d' ' -f1-5; "+
			"ip -6 -o addr show dev uplink scope global | grep -o '2001:db8:[0-9]*' || true")
	}

	advertise(t, e, 1, func() bool { return strings.Contains(learned(), "2001:db8:1") })
	before := learned()
	e.up(t)
	if diff := cmp.Diff(before, learned()); diff != "" || !strings.HasPrefix(before, "default via fe80::") {
		t.Errorf("what the machine learned before:\n%s\nand with a cluster (-before +after):\n%s", before, diff)
	}

	advertise(t, e, 2, func() bool { return strings.Contains(learned(), "2001:db8:2") })
	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := learned(); !strings.HasPrefix(got, "default via fe80::") {
		t.Errorf("after Down the machine has\n%s", got)
	}
}

// advertise sends router advertisements of the network 2001:db8:NUMBER::/64 to the machine until it has learned of it.
func advertise(t *testing.T, e env, number byte, learned func() bool) {
	t.Helper()
	message := []byte{134, 0, 0, 0, 64, 0, 0x07, 0x08, 0, 0, 0, 0, 0, 0, 0, 0} // RFC 4861, section 4.2: 1800 s
	message = append(message, 3, 4, 64, 0xc0, 0, 0, 0x07, 0x08, 0, 0, 0x07, 0x08, 0, 0, 0, 0)
	message = append(message, 0x20, 0x01, 0x0d, 0xb8, 0, number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

	deadline := time.Now().Add(20 * time.Second)
	for !learned() {
		if time.Now().After(deadline) {
			t.Fatal("the machine does not learn of an advertised network")
		}

		err := netns.Do(e.outside, func() error {
			conn, err := net.ListenPacket("ip6:ipv6-icmp", "::")
			if err != nil {
				return err
			}
			defer conn.Close()

			link, err := net.InterfaceByName("eth0")
			if err != nil {
				return err
			}
			_, err = ipv6.NewPacketConn(conn).WriteTo(message, &ipv6.ControlMessage{HopLimit: 255, IfIndex: link.Index},
				&net.IPAddr{IP: net.IPv6linklocalallnodes, Zone: "eth0"})
			return err
		})
		if err != nil {
			t.Log(err) // the link-local address is not yet there
		}

		<-time.After(200 * time.Millisecond)
	}
}

// Docker drops what the machine forwards by IPv6 too.
func TestForwardingOfIPv6IsDropped(t *testing.T) {
	e := newEnv6(t)
	e.connect6(t)
	run(t, e.machine, "sh", "-c", "echo 'table ip6 filter { chain DOCKER-USER { counter return; }; "+
		"chain FORWARD { type filter hook forward priority 0; policy drop; jump DOCKER-USER; }; }' | nft -f -")
	ip6tables := func() string { return run(t, e.machine, "nft", "-s", "list", "table", "ip6", "filter") }
	before := ip6tables()
	e.up(t)
	netnstest.Serve(t, e.outside, "outside", "[2001:db8::2]:80")
	netnstest.Flow(t, e.u.HostNetns("win-a"), "[2001:db8::2]:80", "outside", "2001:db8::1")

	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, ip6tables()); diff != "" {
		t.Errorf("ip6tables' table after Down (-before +after):\n%s", diff)
	}
}
