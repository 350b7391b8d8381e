//go:build kernel

package dataplane_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// flowsOfIPv6 checks the IPv6 flows of a host with dataplanetest.Dual.
func flowsOfIPv6(t *testing.T, h host) {
	t.Helper()
	a, b := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
	netnstest.Serve(t, b, "b6", "[fd00:244:1:1::6]:8080")
	netnstest.Serve(t, h.ns, "host6", "[fd00:244:1:1::2]:8080")
	netnstest.Flow(t, a, "[fd00:244:1:1::6]:8080", "b6", "fd00:244:1:1::5")
	netnstest.Flow(t, a, "[fd00:244:1:1::2]:8080", "host6", "fd00:244:1:1::5")
	netnstest.Flow(t, h.ns, "[fd00:244:1:1::6]:8080", "b6", "fd00:244:1:1::2")
}

// dualFabric is fabric with both families.
func dualFabric(t *testing.T) (a, b host, outside string) {
	t.Helper()
	a, b, outside = fabric(t)
	run(
		t, a.ns, "ip addr add fd00:213::11/64 dev eth0 nodad; ip route add fd00:244:1:2::/64 via fd00:213::12; ip route add default via fd00:213::100")
	run(
		t, b.ns, "ip addr add fd00:213::12/64 dev eth0 nodad; ip route add fd00:244:1:1::/64 via fd00:213::11; ip route add default via fd00:213::100")
	run(t, outside, "ip addr add fd00:213::100/64 dev eth0 nodad; ip addr add 2001:db8::1/128 dev lo")
	a.apply(t, dataplanetest.Dual("10.244.1", "fd00:244:1:1"))
	b.apply(t, dataplanetest.Dual("10.244.2", "fd00:244:1:2"))
	return a, b, outside
}

func TestIPv6BetweenHosts(t *testing.T) {
	a, b, outside := dualFabric(t)
	podA, podB := a.Pin(dataplanetest.NSA), b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, podB, "pod-b", "[fd00:244:1:2::5]:80")
	netnstest.Serve(t, b.ns, "host-b", "[fd00:213::12]:80")
	netnstest.Serve(t, outside, "outside", "[2001:db8::1]:80")
	netnstest.Serve(t, podA, "pod-a", "[fd00:244:1:1::5]:80")

	netnstest.Flow(t, podA, "[fd00:244:1:2::5]:80", "pod-b", "fd00:244:1:1::5") // an exception: the pod's own address
	netnstest.Flow(t, podA, "[fd00:213::12]:80", "host-b", "fd00:213::11")      // no exception: the host's
	netnstest.Flow(t, podA, "[2001:db8::1]:80", "outside", "fd00:213::11")      // no exception: the host's
	netnstest.Flow(t, a.ns, "[fd00:244:1:2::5]:80", "pod-b", "fd00:213::11")
	netnstest.NoFlow(t, outside, "[fd00:244:1:1::5]:80") // the outside knows no way to pods
	flowsBetweenPods(t, a)

	// The underlay sees one hardware address for a host with its pods.
	run(t, podA, "ping -6 -c1 -W2 fd00:244:1:2::5")
	if neighbours := run(t, b.ns, "ip -6 neigh show dev eth0"); strings.Contains(neighbours, "fd00:244:1:1::5") ||
		strings.Contains(neighbours, "00:15:5d:00:00:05") {
		t.Errorf("host b knows a pod as its neighbour:\n%s", neighbours)
	}
}

// The same kinds of load balancers as in TestLoadBalancing, with IPv6.
func TestIPv6LoadBalancing(t *testing.T) {
	a, b, outside := dualFabric(t)
	plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	plan.LoadBalancers = slices.Concat(
		both("local", "fd00:96::1", 80, nil, "[fd00:244:1:1::6]:8080"),
		both("remote", "fd00:96::2", 80, nil, "[fd00:244:1:2::5]:8080"),
		both("self", "fd00:96::3", 80, nil, "[fd00:244:1:1::5]:8080"),
		both("sticky", "fd00:96::6", 80, func(lb *netplan.LoadBalancer) { lb.ByClient = true },
			"[fd00:244:1:1::6]:8080", "[fd00:244:1:2::5]:8080"),
		both("external", "2001:db8:1::7", 80, func(lb *netplan.LoadBalancer) {
			lb.External, lb.SourceVIP = true, netip.MustParseAddr("fd00:244:1:1::9")
		}, "[fd00:244:1:1::6]:8080"),
		both("node", "", 30080, nil, "[fd00:244:1:1::6]:8080"),
		both("node-remote", "", 30081, nil, "[fd00:244:1:2::5]:8080"),
		both("node-4", "", 30080, nil, "10.244.1.6:8080"),
	)

	for i := range plan.LoadBalancers[len(plan.LoadBalancers)-2:] { // the same port of the other family
		plan.LoadBalancers[len(plan.LoadBalancers)-2+i].ID += "-4"
	}

	plan.Normalize()
	a.apply(t, plan)
	podA := a.Pin(dataplanetest.NSA)
	netnstest.Serve(t, podA, "a", "[fd00:244:1:1::5]:8080")
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "b", "[fd00:244:1:1::6]:8080")
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "b4", "10.244.1.6:8080")
	netnstest.Serve(t, b.Pin(dataplanetest.NSA), "far", "[fd00:244:1:2::5]:8080")
	run(t, outside, "ip route add 2001:db8:1::/48 via fd00:213::11")

	netnstest.Flow(t, podA, "[fd00:96::1]:80", "b", "fd00:244:1:1::5")
	netnstest.Flow(t, podA, "[fd00:96::2]:80", "far", "fd00:244:1:1::5")
	netnstest.Flow(t, podA, "[fd00:96::3]:80", "a", "fd00:244:1:1::2")
	netnstest.Flow(t, outside, "[fd00:213::11]:30080", "b", "fd00:213::100")
	netnstest.Flow(t, outside, "10.213.0.11:30080", "b4", "10.213.0.100")
	netnstest.Flow(t, outside, "[fd00:213::11]:30081", "far", "fd00:213::11")
	netnstest.Flow(t, outside, "[2001:db8:1::7]:80", "b", "fd00:213::100")
	netnstest.NoFlow(t, a.ns, "[fd00:96::1]:80")         // a host does not reach service addresses
	netnstest.NoFlow(t, a.ns, "[fd00:213::11]:30080")    // nor its own node port
	netnstest.NoFlow(t, outside, "[fd00:213::12]:30080") // which the other host has not

	first := ""
	for range 10 {
		name, _, err := netnstest.Ask(podA, "tcp", "[fd00:96::6]:80", 300*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}

		if first == "" {
			first = name
		}
		if name != first {
			t.Errorf("with affinity to %s, and then to %s", first, name)
		}
	}
}

// Access rules name addresses of both families, and never stop neighbour discovery.
func TestIPv6AccessRules(t *testing.T) {
	h := newHost(t)
	plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	plan.LoadBalancers = nil

	plan.Ports[1].ACL = []netplan.ACL{
		{
			Priority: 100,
			In:       true,
			Protocol: netplan.TCP,
			Remote:   []netip.Prefix{netip.MustParsePrefix("fd00:244:1:1::5/128")},
		},
		{
			Priority: 100,
			In:       true,
			Protocol: netplan.UDP,
			Remote:   []netip.Prefix{netip.MustParsePrefix("10.244.1.5/32")},
		},
		{Priority: 200, In: true, Block: true},
		{Priority: 200, Block: true},
	}

	h.apply(t, plan)
	a, b := h.Pin(dataplanetest.NSA), h.Pin(dataplanetest.NSB)
	netnstest.Serve(t, b, "b6", "[fd00:244:1:1::6]:8080")
	netnstest.Serve(t, b, "b4", "10.244.1.6:8080")
	netnstest.Serve(t, a, "a6", "[fd00:244:1:1::5]:8080")

	for _, tt := range []struct {
		ns, network, addr string
		passes            bool
	}{
		{a, "tcp", "[fd00:244:1:1::6]:8080", true},
		{a, "udp", "[fd00:244:1:1::6]:8080", false},
		{a, "tcp", "10.244.1.6:8080", false},
		{a, "udp", "10.244.1.6:8080", true},
		{h.ns, "tcp", "[fd00:244:1:1::6]:8080", false},
		{b, "tcp", "[fd00:244:1:1::5]:8080", false},
	} {
		_, _, err := netnstest.Ask(tt.ns, tt.network, tt.addr, 300*time.Millisecond)
		if (err == nil) != tt.passes {
			t.Errorf("%s to %s: %v; want it to pass: %t", tt.network, tt.addr, err, tt.passes)
		}
	}

	// The pod still is found after its neighbour entry is gone.
	run(t, h.ns, "ip -6 neigh flush all")
	if _, _, err := netnstest.Ask(a, "tcp", "[fd00:244:1:1::6]:8080", 300*time.Millisecond); err != nil {
		t.Error(err)
	}
}

// A UDP client that keeps its port follows its load balancer, of IPv6 too.
func TestIPv6UDPFlowsMove(t *testing.T) {
	a, _, _ := dualFabric(t)
	plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	plan.LoadBalancers = nil
	a.apply(t, plan)
	netnstest.Serve(t, a.Pin(dataplanetest.NSA), "self", "[fd00:244:1:1::5]:53")
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "near", "[fd00:244:1:1::6]:53")
	client := newUDPClient(t, a.Pin(dataplanetest.NSA))
	vip := "[fd00:96::53]:53"
	for _, backend := range []struct{ name, addr string }{
		{"near", "[fd00:244:1:1::6]:53"},
		{"self", "[fd00:244:1:1::5]:53"},
		{"near", "[fd00:244:1:1::6]:53"},
	} {
		a.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: both("dns", "fd00:96::53", 53, nil,
			backend.addr)}})
		client.answeredBy(vip, backend.name)
	}
}
