package dataplane

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/network/netplan"
)

// A change is divided by the networks that are apart, whatever moves from one to another.
func TestSplit(t *testing.T) {
	o, aparts := homes{}, map[string]bool{}
	split := func(c netplan.Change) (map[string]netplan.Change, []string) {
		parts, gone := o.split(c, func(id string) bool { return aparts[id] })
		got := map[string]netplan.Change{}
		for id, part := range parts {
			if !part.Empty() {
				got[id] = *part
			}
		}
		return got, gone
	}

	lb := func(bridge string) []netplan.LoadBalancer { return []netplan.LoadBalancer{{ID: "lb", Bridge: bridge}} }
	bridges := []netplan.Bridge{{ID: "a"}, {ID: "b", Apart: 1}}
	port := []netplan.Port{{ID: "p", Bridge: "b"}}
	peer := []netplan.Peer{{ID: "p", Bridge: "a"}}
	got, _ := split(netplan.Change{Set: netplan.Plan{
		Bridges: bridges, Namespaces: []string{"n"}, Ports: port, Peers: peer, LoadBalancers: lb(""),
	}})

	want := map[string]netplan.Change{
		homeless: {Set: netplan.Plan{
			Bridges: bridges[:1], Namespaces: []string{"n"}, Peers: peer, LoadBalancers: lb(""),
		}},
		"b": {Set: netplan.Plan{Bridges: bridges[1:], Ports: port}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("first change (-want +got):\n%s", diff)
	}

	aparts["b"] = true
	got, _ = split(netplan.Change{Set: netplan.Plan{LoadBalancers: lb("b")}})
	want = map[string]netplan.Change{
		homeless: {Removed: netplan.Removed{LoadBalancers: []string{"lb"}}},
		"b":      {Set: netplan.Plan{LoadBalancers: lb("b")}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("a load balancer that moves (-want +got):\n%s", diff)
	}

	got, gone := split(netplan.Change{Removed: netplan.Removed{
		Bridges: []string{"b"}, Namespaces: []string{"n"}, Ports: []string{"p"}, LoadBalancers: []string{"lb"},
		Peers: []string{"p"},
	}})

	want = map[string]netplan.Change{
		homeless: {Removed: netplan.Removed{Namespaces: []string{"n"}, Peers: []string{"p"}}},
		"b":      {Removed: netplan.Removed{Ports: []string{"p"}, LoadBalancers: []string{"lb"}}},
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
		t.Errorf("a network that is removed (-want +got):\n%s", diff)
	}

	if !slices.Equal(gone, []string{"b"}) {
		t.Errorf("gone is %q", gone)
	}
	if len(o) != 0 {
		t.Errorf("%d objects are remembered", len(o))
	}
}

func TestWayOutAddrs(t *testing.T) {
	seen := map[netip.Prefix]bool{}
	for i := uint16(1); i <= netplan.MaxApart; i++ {
		near, far := wayOutAddrs(i)
		if n, ok := wayOutNumber(far); !ok || n != i || near.Masked() != far.Masked() || seen[far.Masked()] ||
			!near.Addr().IsLinkLocalUnicast() {
			t.Errorf("network %d has %s and %s, read back as %d", i, near, far, n)
		}
		seen[far.Masked()] = true
	}

	for _, other := range []string{"10.244.1.2/24", "fe80::1/64", "169.254.128.2/16", "169.254.128.1/30"} {
		if n, ok := wayOutNumber(netip.MustParsePrefix(other)); ok {
			t.Errorf("%s is the way out of %d", other, n)
		}
	}
}
