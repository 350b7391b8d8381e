package dataplane

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/network/netplan"
)

func balancer(id string, backends ...string) netplan.LoadBalancer {
	lb := netplan.LoadBalancer{
		ID:       id,
		VIPs:     []netip.Addr{netip.MustParseAddr("10.96.0.1")},
		Protocol: netplan.TCP,
		Port:     80,
	}
	for _, b := range backends {
		lb.Backends = append(lb.Backends, netip.MustParseAddrPort(b))
	}
	return lb
}

// A change touches no more than necessary: the verdict only if the number of backends changes, and no backend that
// keeps its place.
func TestChangeIsSmall(t *testing.T) {
	r := newRuleset()
	r.set("a", balancerItem(balancer("a", "10.0.0.1:80", "10.0.0.2:80")), &delta{add: map[slot]entry{}})
	d := &delta{add: map[slot]entry{}}
	r.set("a", balancerItem(balancer("a", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80")), d)
	got := map[string]int{}
	for s := range d.add {
		got["add "+s.set]++
	}

	for _, s := range d.del {
		got["del "+s.set]++
	}

	if diff := cmp.Diff(map[string]int{"add vip": 1, "del vip": 1, "add vip_to": 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	same := &delta{add: map[slot]entry{}}
	r.set("a", balancerItem(balancer("a", "10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80")), same)
	if !same.empty() {
		t.Errorf("the same again changes %v", same)
	}
}

// If two objects ask for the same slot, the one that gets it does not depend on their order, and the other one gets it
// when the first is removed.
func TestRivals(t *testing.T) {
	apply := func(names ...string) map[slot]entry {
		r := newRuleset()
		kernel := map[slot]entry{}
		for _, name := range names {
			d := &delta{add: map[slot]entry{}}
			if gone := name[0] == '-'; gone {
				r.set(name[1:], nil, d)
			} else {
				r.set(name, balancerItem(balancer(name, "10.0.0.1:80")), d)
			}

			for _, s := range d.del {
				if _, there := kernel[s]; !there {
					t.Errorf("%q: deletes %q, which is not there", name, s)
				}
				delete(kernel, s)
			}

			for s, e := range d.add {
				if _, there := kernel[s]; there {
					t.Errorf("%q: adds %q, which is there", name, s)
				}
				kernel[s] = e
			}
		}

		if diff := cmp.Diff(r.entries, kernel, cmp.AllowUnexported(slot{}, entry{})); diff != "" {
			t.Errorf("%q: the changes do not add up (-want +got):\n%s", names, diff)
		}

		return kernel
	}

	want := apply("a", "b")
	for _, order := range [][]string{{"b", "a"}, {"b", "c", "a", "-c"}, {"a", "b", "a"}} {
		if got := apply(order...); !maps.Equal(got, want) {
			t.Errorf("%q: %v, want %v", order, got, want)
		}
	}

	for _, e := range apply("a", "b", "-a") {
		if e.id == "a" {
			t.Error("a slot is still of the one that left")
		}
	}

	if left := apply("a", "b", "-a", "-b"); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLastAddr(t *testing.T) {
	for prefix, want := range map[string]string{
		"10.0.0.0/8": "10.255.255.255", "10.1.2.3/32": "10.1.2.3", "0.0.0.0/0": "255.255.255.255",
		"10.1.2.3/31": "10.1.2.3",
	} {
		if got := lastAddr(netip.MustParsePrefix(prefix)); got.String() != want {
			t.Errorf("last of %s is %s, want %s", prefix, got, want)
		}
	}
}

func TestAccessTiers(t *testing.T) {
	chains, first := accessTiers(ipv4, []netplan.ACL{
		{Priority: 200, In: true, Block: true},
		{
			Priority:   100,
			In:         true,
			Protocol:   netplan.TCP,
			LocalPorts: []netplan.PortRange{{First: 81, Last: 90}, {First: 80, Last: 80}, {First: 443, Last: 443}},
		},
		{
			Priority: 100,
			In:       true,
			Remote: []netip.Prefix{
				netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("10.1.2.3/32"),
				netip.MustParsePrefix("fd00::/8"),
			},
		},
		{Priority: 50, In: true, Remote: []netip.Prefix{netip.MustParsePrefix("fd00::/8")}, Block: true},
		{Priority: 1, Block: true},
		{Tier: 0, Priority: 10, In: true, Pass: true, Protocol: 1},
		{Tier: 7, Priority: 1, In: true, Block: true, RemotePorts: []netplan.PortRange{{First: 1, Last: 9}}},
	}, true)

	next := chains[first].next
	want := map[string]accessTier{
		first: {
			rules: []string{
				"meta l4proto 1 goto " + next,
				"meta l4proto 6 th dport { 80-90, 443 } return",
				"ip saddr { 10.1.0.0/16 } return",
				"drop",
				"goto " + next,
			},
			next: next,
		},
		next: {rules: []string{"meta l4proto { tcp, udp } th sport { 1-9 } drop"}},
	}

	if diff := cmp.Diff(want, chains, cmp.AllowUnexported(accessTier{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if none, first := accessTiers(ipv4, nil, true); first != "" || len(none) > 0 {
		t.Errorf("no rules make %v", none)
	}
}

// A packet that a rule of the switch lets pass has to pass the host's rules too.
func TestAccessRulesOfHost(t *testing.T) {
	chains, first := accessTiers(ipv4, []netplan.ACL{
		{Host: true, In: true, Block: true, Protocol: 1},
		{Host: true, In: true},
		{Priority: 1000, In: true, Protocol: netplan.TCP},
		{Priority: 1001, In: true, Block: true},
	}, true)

	host := chains[first].next
	want := map[string]accessTier{
		first: {rules: []string{"meta l4proto 6 goto " + host, "drop", "goto " + host}, next: host},
		host:  {rules: []string{"meta l4proto 1 drop", "return"}},
	}
	if diff := cmp.Diff(want, chains, cmp.AllowUnexported(accessTier{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Pods behind a host that is a peer need no way of their own, unless they are on another host.
func TestBehind(t *testing.T) {
	peer := func(id, subnet, vtep string) netplan.Peer {
		return netplan.Peer{
			ID:     id,
			Bridge: "n",
			Subnet: netip.MustParsePrefix(subnet),
			VTEP:   netip.MustParseAddr(vtep),
			MAC:    "00:15:5d:00:00:01",
		}
	}

	s := newState(netplan.Plan{Peers: []netplan.Peer{
		peer("host", "10.244.2.0/24", "10.213.0.12"), peer("pod", "10.244.2.5/32", "10.213.0.12"),
		peer("moved", "10.244.2.6/32", "10.213.0.13"), peer("alone", "10.244.9.9/32", "10.213.0.14"),
	}})

	ways := func() []string {
		w, err := wantedWays(s, "n")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for dst := range w.routes {
			all = append(all, dst.String())
		}

		slices.Sort(all)
		return all
	}

	if diff := cmp.Diff([]string{"10.244.2.0/24", "10.244.2.6/32", "10.244.9.9/32"}, ways()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	touched := map[string]bool{}
	s.peersChanged(netplan.Change{Set: netplan.Plan{Peers: []netplan.Peer{peer("new", "10.244.2.7/32",
		"10.213.0.12")}}}, touched)
	s.peersChanged(netplan.Change{Removed: netplan.Removed{Peers: []string{"pod"}}}, touched)
	if len(touched) > 0 {
		t.Error("a pod behind a peer changes the ways of its network")
	}

	s.change(netplan.Change{Removed: netplan.Removed{Peers: []string{"host"}}})
	if diff := cmp.Diff([]string{"10.244.2.5/32", "10.244.2.6/32", "10.244.9.9/32"}, ways()); diff != "" {
		t.Errorf("without the host -want +got:\n%s", diff)
	}
}
