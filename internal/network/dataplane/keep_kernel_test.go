//go:build kernel

package dataplane_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// keeping makes a load balancer's packets keep their destination, from outside too.
func keeping(lb *netplan.LoadBalancer) { lb.External, lb.PreserveDIP = true, true }

// With PreserveDIP a backend gets packets as they were sent: its server listens at the virtual address only, and sees
// the client's own address.
func TestPreserveDIP(t *testing.T) {
	a, b, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = append(both("kept", "203.0.113.20", 80, keeping, "10.244.1.5:8080", "10.244.1.6:8080"),
		both("plain", "203.0.113.21", 80, func(lb *netplan.LoadBalancer) { lb.External = true }, "10.244.1.5:80")...)
	plan.Normalize()
	a.apply(t, plan)
	dataplanetest.Expect(t, a, plan)
	run(t, outside, "ip route add 203.0.113.0/24 via 10.213.0.11")
	run(t, b.ns, "ip route add 203.0.113.0/24 via 10.213.0.11")
	first, second := a.Pin(dataplanetest.NSA), a.Pin(dataplanetest.NSB)
	netnstest.Serve(t, first, "a5", "203.0.113.20:80")
	netnstest.Serve(t, second, "a6", "203.0.113.20:80")
	netnstest.Serve(t, first, "plain", "10.244.1.5:80")

	answered := map[string]int{}
	for range 40 {
		for _, network := range []string{"tcp", "udp"} {
			name, seen, err := netnstest.Ask(outside, network, "203.0.113.20:80", 3*time.Second)
			if err != nil || seen.String() != "10.213.0.100" {
				t.Fatalf("%s: answered by %q, which saw %s: %v", network, name, seen, err)
			}
			answered[network+" "+name]++
		}
	}

	if len(answered) != 4 {
		t.Errorf("answered by %v, want both pods over both protocols", answered)
	}

	netnstest.Flow(t, outside, "203.0.113.21:80", "plain", "10.213.0.100") // the other balancers are as ever
	netnstest.Flow(t, first, "203.0.113.20:80", "a5", "203.0.113.20")      // a backend calls itself
	netnstest.NoFlow(t, outside, "203.0.113.20:81")                        // no port of it
	a.change(t, &plan, netplan.Change{Set: netplan.Plan{LoadBalancers: both("kept", "203.0.113.20", 80, keeping,
		"10.244.1.6:8080")}})
	for range 10 {
		netnstest.Flow(t, outside, "203.0.113.20:80", "a6", "10.213.0.100")
	}

	netnstest.Flow(t, first, "203.0.113.20:80", "a6", "10.244.1.5") // it is no backend any more
	// a pod of another host, hidden behind that
	netnstest.Flow(t, b.Pin(dataplanetest.NSA), "203.0.113.20:80", "a6", "10.213.0.12")
	dataplanetest.Expect(t, a, plan)
	a.change(t, &plan, netplan.Change{Removed: netplan.Removed{LoadBalancers: []string{"kept-6", "kept-17"}}})
	netnstest.NoFlow(t, outside, "203.0.113.20:80")
	dataplanetest.Expect(t, a, plan)

	if left := run(t, a.ns, "ip rule; ip route show table all"); strings.Contains(left, "0x4d") ||
		strings.Contains(left, "203.0.113.20") {
		t.Errorf("left over:\n%s", left)
	}
	if left := run(t, second, "ip route show table local"); strings.Contains(left, "203.0.113.20") {
		t.Errorf("left over in the pod:\n%s", left)
	}
}

// Parts of a kept address that somebody removed are reported as differences, and restored.
func TestPreserveDIPRepair(t *testing.T) {
	a, _, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = both("kept", "203.0.113.20", 80, keeping, "10.244.1.5:80")
	plan.Normalize()
	a.apply(t, plan)
	run(t, outside, "ip route add 203.0.113.20 via 10.213.0.11")
	pod := a.Pin(dataplanetest.NSA)
	netnstest.Serve(t, pod, "a5", "203.0.113.20:80")

	for _, harm := range []struct{ ns, command, told string }{
		{a.ns, "ip rule del prio 19967", "missing: routing rule to 10.244.1.5"},
		{pod, "ip route del local 203.0.113.20 table local", "missing: virtual address 203.0.113.20"},
		{a.ns, "ip rule add prio 19967 fwmark 7 table 7", "left over: 1 routing rules"},
	} {
		run(t, harm.ns, harm.command)
		found, err := a.Differences(t.Context(), plan)
		if told := strings.Join(found, "\n"); err != nil || !strings.Contains(told, harm.told) {
			t.Errorf("%s: told %q, %v; want %q", harm.command, told, err, harm.told)
		}
		a.apply(t, plan)
		dataplanetest.Expect(t, a, plan)
		netnstest.Flow(t, outside, "203.0.113.20:80", "a5", "10.213.0.100")
	}
}

// Access rules apply to packets for a kept address, and a pod cannot open connections from one.
func TestPreserveDIPAccess(t *testing.T) {
	a, b, outside := fabric(t)
	plan := dataplanetest.Plan("10.244.1")
	plan.LoadBalancers = both("kept", "203.0.113.20", 80, keeping, "10.244.1.5:80")
	plan.Ports[0].ACL = []netplan.ACL{
		{Priority: 100, In: true, Remote: []netip.Prefix{netip.MustParsePrefix("10.213.0.100/32")}},
		{Priority: 200, In: true, Block: true},
	}

	plan.Normalize()
	a.apply(t, plan)
	run(t, outside, "ip route add 203.0.113.20 via 10.213.0.11")
	run(t, b.ns, "ip route add 203.0.113.20 via 10.213.0.11")
	pod := a.Pin(dataplanetest.NSA)
	netnstest.Serve(t, pod, "a5", "203.0.113.20:80")
	netnstest.Flow(t, outside, "203.0.113.20:80", "a5", "10.213.0.100")
	netnstest.NoFlow(t, b.Pin(dataplanetest.NSA), "203.0.113.20:80")
	if out := run(t, pod, "ping -c1 -W1 -I 203.0.113.20 10.213.0.100 || true"); !strings.Contains(out,
		"100% packet loss") {
		t.Errorf("the pod opens something from the address:\n%s", out)
	}
}

// The same with IPv6, and with a client that stays with its backend.
func TestPreserveDIP6(t *testing.T) {
	a, _, outside := dualFabric(t)
	plan := dataplanetest.Dual("10.244.1", "fd00:244:1:1")
	plan.LoadBalancers = both("kept", "2001:db8::20", 80,
		func(lb *netplan.LoadBalancer) { keeping(lb); lb.ByClient = true }, "[fd00:244:1:1::5]:80",
		"[fd00:244:1:1::6]:80")
	plan.Normalize()
	a.apply(t, plan)
	dataplanetest.Expect(t, a, plan)
	run(t, outside, "ip -6 route add 2001:db8::20 via fd00:213::11")

	// With IPv6, Linux does not bind to an address that is local by its route only, so the server listens at all
	// addresses.
	netnstest.Serve(t, a.Pin(dataplanetest.NSA), "a5", "[::]:80")
	netnstest.Serve(t, a.Pin(dataplanetest.NSB), "a6", "[::]:80")
	first := ""
	for range 10 {
		name, seen, err := netnstest.Ask(outside, "tcp", "[2001:db8::20]:80", 3*time.Second)
		if err != nil || seen.String() != "fd00:213::100" || (first != "" && name != first) {
			t.Errorf("answered by %q, and before by %q, which saw %s: %v", name, first, seen, err)
		}
		first = name
	}
}
