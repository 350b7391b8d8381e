//go:build kernel

package underlay_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/underlay"
)

// run runs a program inside the namespace and returns what it prints.
// run returns what a program prints on its standard output. Its standard error is shown when it fails: ip warns there
// of namespaces of other tests that end while it reads their names.
func run(t *testing.T, ns string, args ...string) string {
	t.Helper()
	var out []byte
	var stderr bytes.Buffer
	err := netns.Do(ns, func() error {
		var err error
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Stderr = &stderr
		out, err = cmd.Output()
		return err
	})
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, &stderr)
	}

	return string(out)
}

// state is everything a cluster could leave in the machine's namespace.
func state(t *testing.T, ns string) string {
	t.Helper()
	return run(
		t, ns, "sh", "-c", "ip -br link | cut -d' ' -f1; ip route | sed 's/ linkdown//; s/ *$//'; nft list tables; cd /proc/sys/net/ipv4; cat ip_forward conf/all/accept_redirects")
}

// runWith runs a shell script in a namespace, with another as its descriptor 3.
func runWith(t *testing.T, ns, other, script string) {
	t.Helper()
	err := netns.Do(ns, func() error {
		f, err := os.Open(other)
		if err != nil {
			return err
		}
		defer f.Close()

		cmd := exec.Command("sh", "-c", script)
		cmd.ExtraFiles = []*os.File{f}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Logf("%s", out)
		}

		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// connect gives the machine an outside behind it.
func connect(t *testing.T, inside, outside string) {
	t.Helper()
	runWith(t, inside, outside, `ip link add uplink type veth peer name eth0 netns /proc/$$/fd/3 &&
		ip addr add 198.51.100.1/24 dev uplink && ip link set uplink up`)
	run(
		t, outside, "sh", "-c", "ip addr add 198.51.100.2/24 dev eth0; ip link set eth0 up; ip route add default via 198.51.100.1")
}

type env struct {
	u                *underlay.Underlay
	machine, outside string
	dir              string
	subnet6          netip.Prefix
	endpoint         netip.Addr
}

func newEnv(t *testing.T) env {
	t.Helper()
	e := env{
		machine: netnstest.New(t, "machine"),
		outside: netnstest.New(t, "outside"),
		dir:     t.TempDir(),
	}

	connect(t, e.machine, e.outside)
	e.u = e.open(t)
	t.Cleanup(func() {
		if err := e.open(t).Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})

	return e
}

func (e env) open(t *testing.T) *underlay.Underlay {
	t.Helper()
	u, err := underlay.New(underlay.Config{
		RunDir:       e.dir,
		MachineNetns: e.machine,
		Subnet6:      e.subnet6,
		Endpoint:     e.endpoint,
	})
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func (e env) up(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	if err := e.u.Up(ctx); err != nil {
		t.Fatal(err)
	}
	for name, addr := range map[string]string{"win-a": "10.213.0.11", "win-b-with-a-long-name": "10.213.0.12"} {
		if err := e.u.AddHost(ctx, name, netip.MustParseAddr(addr)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFlows(t *testing.T) {
	e := newEnv(t)
	e.up(t)
	a, b := e.u.HostNetns("win-a"), e.u.HostNetns("win-b-with-a-long-name")
	netnstest.Serve(t, a, "a", "10.213.0.11:80")
	netnstest.Serve(t, e.u.FabricNetns(), "api", "10.213.0.1:80")
	netnstest.Serve(t, e.machine, "machine", "10.213.0.254:80")
	netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")
	netnstest.Serve(t, a, "lo", "127.0.0.1:81")

	netnstest.Flow(t, b, "10.213.0.11:80", "a", "10.213.0.12")
	netnstest.Flow(t, e.u.FabricNetns(), "10.213.0.11:80", "a", "10.213.0.1")
	netnstest.Flow(t, e.machine, "10.213.0.11:80", "a", "10.213.0.254")
	netnstest.Flow(t, b, "10.213.0.1:80", "api", "10.213.0.12")
	netnstest.Flow(t, e.machine, "10.213.0.1:80", "api", "10.213.0.254")
	netnstest.Flow(t, b, "10.213.0.254:80", "machine", "10.213.0.12")
	netnstest.Flow(t, b, "198.51.100.2:80", "outside", "198.51.100.1")
	netnstest.Flow(t, e.u.FabricNetns(), "198.51.100.2:80", "outside", "198.51.100.1")
	netnstest.Flow(t, a, "127.0.0.1:81", "lo", "127.0.0.1")
	netnstest.NoFlow(t, e.outside, "10.213.0.11:80") // the guard
}

// The fabric's other address is reached like its first, and by the same.
func TestEndpoint(t *testing.T) {
	e := newEnv(t)
	e.endpoint = netip.MustParseAddr("10.213.0.10")
	e.u = e.open(t)
	e.up(t)
	if err := e.u.AddHost(t.Context(), "third", e.endpoint); err == nil {
		t.Error("a host has the fabric's address")
	}

	netnstest.Serve(t, e.u.FabricNetns(), "endpoint", "10.213.0.10:80")
	netnstest.Serve(t, e.u.FabricNetns(), "api", "10.213.0.1:80")
	netnstest.Flow(t, e.u.HostNetns("win-a"), "10.213.0.10:80", "endpoint", "10.213.0.11")
	netnstest.Flow(t, e.machine, "10.213.0.10:80", "endpoint", "10.213.0.254")
	netnstest.Flow(t, e.machine, "10.213.0.1:80", "api", "10.213.0.254")
	netnstest.NoFlow(t, e.outside, "10.213.0.10:80")
}

// Hosts, the control plane and the machine reach each other and the pods behind a host by IPv6; a machine without IPv6
// of its own forwards none.
func TestDualStack(t *testing.T) {
	e := newEnv(t)
	e.subnet6 = netip.MustParsePrefix("fd00:213::/64")
	before := run(t, e.machine, "sh", "-c", "cat /proc/sys/net/ipv6/conf/all/forwarding; ip -6 route show proto static")
	e.u = e.open(t)
	e.up(t)
	a, b := e.u.HostNetns("win-a"), e.u.HostNetns("win-b-with-a-long-name")
	netnstest.Serve(t, a, "a", "[fd00:213::b]:80")
	netnstest.Serve(t, e.machine, "machine", "[fd00:213::fe]:80")
	netnstest.Flow(t, b, "[fd00:213::b]:80", "a", "fd00:213::c")
	netnstest.Flow(t, e.u.FabricNetns(), "[fd00:213::b]:80", "a", "fd00:213::1")
	netnstest.Flow(t, e.machine, "[fd00:213::b]:80", "a", "fd00:213::fe")
	netnstest.Flow(t, b, "[fd00:213::fe]:80", "machine", "fd00:213::c")

	run(
		t, a, "sh", "-c", "ip link add pods type dummy || ip link add pods type bridge; ip addr add fd00:244:1::2/64 dev pods nodad; ip addr add 10.244.1.2/24 dev pods; ip link set pods up; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding")
	for range 2 { // the second time there is nothing to do
		err := e.u.SetPodRoute(t.Context(), netip.MustParseAddr("10.213.0.11"), netip.MustParsePrefix("10.244.1.0/24"),
			netip.MustParsePrefix("fd00:244:1::/64"))
		if err != nil {
			t.Fatal(err)
		}
	}

	netnstest.Serve(t, a, "pod", "[fd00:244:1::2]:80")
	netnstest.Serve(t, a, "pod4", "10.244.1.2:80")
	if err := e.u.AddHost(t.Context(), "late", netip.MustParseAddr("10.213.0.13")); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{b, e.machine, e.u.HostNetns("late")} {
		netnstest.Flow(t, from, "[fd00:244:1::2]:80", "pod", "")
		netnstest.Flow(t, from, "10.244.1.2:80", "pod4", "")
	}

	if err := e.u.RemoveHost(t.Context(), "win-a"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, b, "ip", "-6", "route"); strings.Contains(got, "fd00:244:1::") {
		t.Errorf("pods of a removed host are still routed:\n%s", got)
	}
	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}

	if after := run(t, e.machine, "sh", "-c",
		"cat /proc/sys/net/ipv6/conf/all/forwarding; ip -6 route show proto static"); after != before {
		t.Errorf("the machine's IPv6 before:\n%s\nand after:\n%s", before, after)
	}
}

func TestPodRoutes(t *testing.T) {
	e := newEnv(t)
	e.up(t)
	ctx := t.Context()
	a, b := e.u.HostNetns("win-a"), e.u.HostNetns("win-b-with-a-long-name")
	run(
		t, a, "sh", "-c", "ip link add pods type dummy || ip link add pods type bridge; ip addr add 10.244.1.2/24 dev pods; ip link set pods up")
	for _, cidr := range []string{"10.244.9.0/24", "10.244.1.0/24"} {
		if err := e.u.SetPodRoute(ctx, netip.MustParseAddr("10.213.0.11"), netip.MustParsePrefix(cidr)); err != nil {
			t.Fatal(err)
		}
	}

	netnstest.Serve(t, a, "pod", "10.244.1.2:80")
	for _, from := range []string{b, e.u.FabricNetns(), e.machine} {
		netnstest.Flow(t, from, "10.244.1.2:80", "pod", "")
		if got := run(t, from, "ip", "route"); strings.Contains(got, "10.244.9.0") {
			t.Errorf("the former pod network is still routed:\n%s", got)
		}
	}

	if got := run(t, a, "ip", "route", "show", "10.244.1.0/24"); strings.Contains(got, "via") {
		t.Errorf("a host routes its own pods away: %s", got)
	}
	if err := e.u.AddHost(ctx, "late", netip.MustParseAddr("10.213.0.13")); err != nil {
		t.Fatal(err)
	}

	netnstest.Flow(t, e.u.HostNetns("late"), "10.244.1.2:80", "pod", "10.213.0.13")
	if err := e.u.RemoveHost(ctx, "win-a"); err != nil {
		t.Fatal(err)
	}
	if got := run(t, b, "ip", "route"); strings.Contains(got, "10.244.1.0") {
		t.Errorf("pods of a removed host are still routed:\n%s", got)
	}
}

func TestServiceRoutes(t *testing.T) {
	e := newEnv(t)
	e.up(t)
	ctx := t.Context()
	a, b := e.u.HostNetns("win-a"), e.u.HostNetns("win-b-with-a-long-name")
	const service = "10.213.0.225"
	for _, host := range []string{a, b} {
		run(
			t, host, "sh", "-c", "ip link add svc type dummy || ip link add svc type bridge; ip addr add "+service+"/32 dev svc; ip link set svc up")
	}

	netnstest.Serve(t, a, "a", service+":80")
	netnstest.Serve(t, b, "b", service+":80")
	if err := e.u.SetPodRoute(ctx, netip.MustParseAddr("10.213.0.11"),
		netip.MustParsePrefix("10.244.1.0/24")); err != nil {
		t.Fatal(err)
	}

	to := func(via string) []underlay.Route {
		return []underlay.Route{{CIDR: netip.MustParsePrefix(service + "/32"), Via: netip.MustParseAddr(via)}}
	}

	for _, via := range []struct{ address, name string }{{"10.213.0.11", "a"}, {"10.213.0.12", "b"}} {
		if err := e.u.SetServiceRoutes(ctx, to(via.address)); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{e.machine, e.u.FabricNetns()} {
			netnstest.Flow(t, from, service+":80", via.name, "")
		}
	}

	if got := run(t, b, "ip", "route"); !strings.Contains(got, "10.244.1.0/24 via 10.213.0.11") {
		t.Errorf("the routes of Services replaced a route to pods:\n%s", got)
	}
	if err := e.u.AddHost(ctx, "late", netip.MustParseAddr("10.213.0.13")); err != nil {
		t.Fatal(err)
	}

	netnstest.Flow(t, e.u.HostNetns("late"), service+":80", "b", "10.213.0.13")
	if err := e.u.RemoveHost(ctx, "win-b-with-a-long-name"); err != nil {
		t.Fatal(err)
	}
	for _, ns := range []string{e.machine, e.u.FabricNetns(), e.u.HostNetns("late")} {
		if got := run(t, ns, "ip", "route"); strings.Contains(got, service) {
			t.Errorf("an address of a Service is still routed to a removed host:\n%s", got)
		}
	}

	if err := e.u.SetServiceRoutes(ctx, to("10.214.0.1")); err == nil {
		t.Error("a route by way of an address beyond the underlay was taken")
	}
}

func TestLeavesNothingBehind(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	e := newEnv(t)
	before := state(t, e.machine)
	e.up(t)
	if got := state(t, e.machine); got == before {
		t.Fatal("up changed nothing, so this test checks nothing")
	}

	for range 2 {
		if err := e.u.Down(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, state(t, e.machine)); diff != "" {
			t.Errorf("machine after Down (-before +after):\n%s", diff)
		}
	}

	left, err := os.ReadDir(e.dir)
	if err != nil || len(left) > 0 {
		t.Errorf("run folder holds %v, %v", left, err)
	}
}

func TestUpRepairs(t *testing.T) {
	damage := map[string]func(t *testing.T, e env){
		"nothing":      func(*testing.T, env) {},
		"link-deleted": func(t *testing.T, e env) { run(t, e.machine, "ip", "link", "del", "mullion0") },
		"table-deleted": func(t *testing.T,
			e env,
		) {
			run(t, e.machine, "nft", "delete", "table", "ip", "mullion_mullion0")
		},
		"fabric-unpinned": func(t *testing.T, e env) { remove(t, e.u.FabricNetns()) },
		"host-unpinned":   func(t *testing.T, e env) { remove(t, e.u.HostNetns("win-a")) },
		"address-removed": func(t *testing.T,
			e env,
		) {
			run(t, e.u.HostNetns("win-a"), "ip", "addr", "flush", "dev", "eth0")
		},
		"address-changed": func(t *testing.T, e env) {
			run(t, e.u.HostNetns("win-a"), "ip", "addr", "add", "10.213.0.99/24", "dev", "eth0")
		},
		"port-deleted": func(t *testing.T, e env) {
			run(t, e.u.FabricNetns(), "sh", "-c",
				"for l in $(ip -o link | grep -o 'h[0-9a-f]\\{14\\}'); do ip link del $l || exit 1; n=1; done; [ -n \"$n\" ]")
		},
		"bridge-deleted": func(t *testing.T, e env) { run(t, e.u.FabricNetns(), "ip", "link", "del", "underlay") },
		"half-made-in-fabric": func(t *testing.T, e env) {
			run(t, e.machine, "ip", "link", "del", "mullion0")
			run(t, e.u.FabricNetns(), "ip", "link", "add", "machine", "type", "veth", "peer", "name", "mullion0")
		},
	}

	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			before := state(t, e.machine)
			e.up(t)
			harm(t, e)
			e.u = e.open(t) // a new process, which remembers nothing
			e.up(t)
			netnstest.Serve(t, e.u.HostNetns("win-a"), "a", "10.213.0.11:80")
			netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")
			netnstest.Flow(t, e.u.HostNetns("win-b-with-a-long-name"), "10.213.0.11:80", "a", "10.213.0.12")
			netnstest.Flow(t, e.machine, "10.213.0.11:80", "a", "10.213.0.254")
			netnstest.Flow(t, e.u.HostNetns("win-a"), "198.51.100.2:80", "outside", "198.51.100.1")
			if err := e.u.Down(t.Context()); err != nil {
				t.Fatal(err)
			}

			// in those cases the former value of the switch is gone with the link
			if name != "link-deleted" && name != "half-made-in-fabric" {
				if diff := cmp.Diff(before, state(t, e.machine)); diff != "" {
					t.Errorf("machine after Down (-before +after):\n%s", diff)
				}
			}
		})
	}
}

func TestTaken(t *testing.T) {
	t.Run("link", func(t *testing.T) {
		e := newEnv(t)
		run(t, e.machine, "ip", "link", "add", "mullion0", "type", "bridge")
		if err := e.u.Up(t.Context()); !errors.Is(err, underlay.ErrLinkTaken) {
			t.Errorf("Up = %v, want ErrLinkTaken", err)
		}
		if err := e.u.Down(t.Context()); err != nil {
			t.Error(err)
		}
		run(t, e.machine, "ip", "link", "show", "mullion0") // a stranger's link is still there
	})

	t.Run("subnet", func(t *testing.T) {
		e := newEnv(t)
		run(
			t, e.machine, "sh", "-c", "ip link add other type bridge; ip addr add 10.213.0.200/26 dev other; ip link set other up")
		if err := e.u.Up(t.Context()); !errors.Is(err, underlay.ErrSubnetTaken) {
			t.Errorf("Up = %v, want ErrSubnetTaken", err)
		}
	})
}

// Docker and other programs that use iptables drop what the machine forwards. The cluster's way out works nevertheless,
// also if they start later, and nothing is left in their chains.
func TestForwardingIsDropped(t *testing.T) {
	const docker = `table ip filter {
		chain DOCKER-USER { counter return; }
		chain FORWARD { type filter hook forward priority 0; policy drop; jump DOCKER-USER; }
	}`

	const plain = `table ip filter { chain FORWARD { type filter hook forward priority 0; policy drop; }; }`
	for name, rules := range map[string]string{"docker": docker, "plain": plain} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")
			iptables := func() string { return run(t, e.machine, "nft", "-s", "list", "table", "ip", "filter") }
			e.up(t)
			run(t, e.machine, "sh", "-c", "echo '"+rules+"' | nft -f -")
			before := iptables()
			netnstest.NoFlow(t, e.u.HostNetns("win-a"), "198.51.100.2:80")
			for range 2 { // a second time changes nothing
				e.up(t)
			}

			if got := iptables(); strings.Count(got, "mullion0") != 4 { // two rules with a comment each
				t.Errorf("iptables' table is now\n%s", got)
			}
			netnstest.Flow(t, e.u.HostNetns("win-a"), "198.51.100.2:80", "outside", "198.51.100.1")
			if err := e.open(t).Down(t.Context()); err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(before, iptables()); diff != "" {
				t.Errorf("iptables' table after Down (-before +after):\n%s", diff)
			}
		})
	}
}

// A machine that forwarded nothing before is no router between its networks while a cluster is up; one that was stays
// one. The networks are tunnels here: pairs are left alone.
func TestNoRouter(t *testing.T) {
	for was, want := range map[string]bool{"0": false, "1": true} {
		t.Run("ip_forward was "+was, func(t *testing.T) {
			e := newEnv(t)
			run(t, e.machine, "sh", "-c", "echo "+was+" >/proc/sys/net/ipv4/ip_forward")
			for _, side := range []struct{ ns, link, at, peer string }{
				{e.machine, "uplink", "1", "2"}, {e.outside, "eth0", "2", "1"},
			} {
				for id, subnet := range map[string]string{"5": "203.0.113.", "6": "192.0.2."} {
					run(t, side.ns, "sh", "-c", fmt.Sprintf(
						"ip link add net%[1]s type vxlan id %[1]s dev %[2]s remote 198.51.100.%[3]s dstport 4790 && "+
							"ip addr add %[4]s%[5]s/24 dev net%[1]s && ip link set net%[1]s up", id, side.link, side.peer,
						subnet, side.at))
				}
			}

			// The second network's neighbour is somebody else than the first one's.
			private := netnstest.New(t, "private")
			runWith(t, e.outside, private, "ip link set net6 netns /proc/$$/fd/3")
			run(t, private, "sh", "-c", "ip addr add 192.0.2.2/24 dev net6; ip link set net6 up; "+
				"ip route add default via 192.0.2.1")
			run(t, e.outside, "ip", "route", "add", "192.0.2.0/24", "via", "203.0.113.1")
			e.up(t)
			netnstest.Serve(t, private, "private", "192.0.2.2:80")
			netnstest.Serve(t, e.outside, "outside", "198.51.100.2:80")

			if want {
				netnstest.Flow(t, e.outside, "192.0.2.2:80", "private", "203.0.113.2")
			} else {
				netnstest.NoFlow(t, e.outside, "192.0.2.2:80")
			}
			netnstest.Flow(t, e.u.HostNetns("win-a"), "198.51.100.2:80", "outside", "198.51.100.1")
		})
	}
}

// The kernel changes whether a machine takes redirects whenever forwarding is switched. Afterwards it is as it was, on
// a hardened machine too, and when a crash has left the link.
func TestRedirectsAsBefore(t *testing.T) {
	for _, was := range []string{"0", "1"} {
		t.Run("accept_redirects was "+was, func(t *testing.T) {
			e := newEnv(t)
			run(t, e.machine, "sh", "-c",
				"cd /proc/sys/net/ipv4; echo 0 >ip_forward; echo "+was+" >conf/all/accept_redirects")
			before := state(t, e.machine)
			e.up(t)
			again := e.open(t)
			if err := again.Up(t.Context()); err != nil {
				t.Fatal(err)
			}

			if got := run(t, e.machine, "cat", "/proc/sys/net/ipv4/ip_forward"); got != "1\n" {
				t.Errorf("control: ip_forward is %q", got)
			}
			if err := again.Down(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, state(t, e.machine)); diff != "" {
				t.Errorf("the machine (-before +after):\n%s", diff)
			}
		})
	}
}

// Two clusters on one machine: the forwarding switch is put back only when the last one goes, whichever it is.
func TestTwoClusters(t *testing.T) {
	e := newEnv(t)
	before := state(t, e.machine)
	second, err := underlay.New(underlay.Config{
		RunDir:       t.TempDir(),
		MachineNetns: e.machine,
		Link:         "mullion1",
		Subnet:       netip.MustParsePrefix("10.214.0.0/24"),
	})
	if err != nil {
		t.Fatal(err)
	}

	e.up(t)
	if err := second.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.u.Down(t.Context()); err != nil {
		t.Fatal(err)
	}

	if got := run(t, e.machine, "cat", "/proc/sys/net/ipv4/ip_forward"); strings.TrimSpace(got) != "1" {
		t.Error("the first Down took forwarding away from the second cluster")
	}
	if err := second.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, state(t, e.machine)); diff != "" {
		t.Errorf("machine after both (-before +after):\n%s", diff)
	}
}

func remove(t *testing.T, pin string) {
	t.Helper()
	if err := netns.Remove(pin); err != nil {
		t.Fatal(err)
	}
}
