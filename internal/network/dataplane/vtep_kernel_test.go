//go:build kernel

package dataplane_test

import (
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// A Linux node on the overlay of a Windows host: the pods of both reach each other with their own addresses. The node
// itself reaches Windows pods with the first address of its pod range.
func TestLinuxNodeOnOverlay(t *testing.T) {
	u := newUnderlay(t)
	plan := overlay("10.244.1", "11")
	plan.Peers = []netplan.Peer{peer("linux", "10.244.3.0/24", "13")}
	u.a.apply(t, plan)
	run(t, u.linux, "echo 1 > /proc/sys/net/ipv4/ip_forward; ip addr add 10.244.3.5/32 dev lo")
	a5 := u.a.Pin(dataplanetest.NSA)
	netnstest.Serve(t, a5, "a5", "10.244.1.5:80")
	netnstest.Serve(t, u.linux, "linux", "10.244.3.5:80")

	vtep := dataplane.VTEP{
		Netns:  u.linux,
		Link:   "vxlan0",
		Uplink: "eth0",
		Subnet: netip.MustParsePrefix("10.244.3.0/24"),
		Overlay: netplan.VXLAN{
			VNI:  4096,
			Port: 4789,
			VTEP: netip.MustParseAddr("10.213.0.13"),
			MAC:  "00:15:5d:aa:00:13",
		},
	}

	windows := peer("a", "10.244.1.0/24", "11")
	apply := func(keep []netip.Prefix, peers ...netplan.Peer) {
		t.Helper()
		if err := vtep.Apply(t.Context(), peers, keep); err != nil {
			t.Fatal(err)
		}
	}

	link := func() string {
		t.Helper()
		return run(
			t, u.linux, "ip -d -o link show vxlan0; ip -4 addr show vxlan0; ip route; bridge fdb; ip neigh show nud permanent")
	}

	apply(nil, windows)
	before := link()
	for _, want := range []string{
		"vxlan id 4096 local 10.213.0.13 dev eth0", "dstport 4789 nolearning", "mtu 1450",
		"inet 10.244.3.0/32", "10.244.1.0/24 via 10.244.1.0 dev vxlan0",
	} {
		if !strings.Contains(before, want) {
			t.Errorf("want %q in\n%s", want, before)
		}
	}

	netnstest.Flow(t, a5, "10.244.3.5:80", "linux", "10.244.1.5")
	netnstest.Flow(t, u.linux, "10.244.1.5:80", "a5", "10.244.3.0")
	apply(nil, windows)
	if after := link(); after != before {
		t.Errorf("a second time changed\n%s\nto\n%s", before, after)
	}

	// The way to a host that is unknown at the moment stays, also when another peer is added.
	apply([]netip.Prefix{windows.Subnet}, peer("b", "10.244.2.0/24", "12"))
	netnstest.Flow(t, u.linux, "10.244.1.5:80", "a5", "10.244.3.0")

	// A peer that leaves leaves nothing, and changes by others are undone.
	run(
		t, u.linux, "ip addr add 10.244.9.9/32 dev vxlan0; ip neigh replace 10.244.2.0 lladdr 00:15:5d:aa:00:99 dev vxlan0 nud permanent")
	apply(nil, peer("b", "10.244.2.0/24", "12"))
	if got := link(); strings.Contains(got, "10.244.1.") || strings.Contains(got, "10.213.0.11") ||
		strings.Contains(got, "10.244.9.9") || strings.Contains(got, "00:15:5d:aa:00:99") {
		t.Errorf("after the peer left there is\n%s", got)
	}

	netnstest.NoFlow(t, u.linux, "10.244.1.5:80")
	// An interface with other settings is replaced.
	run(t, u.linux, "ip link del vxlan0; ip link add vxlan0 type vxlan id 7 dstport 8472")
	apply(nil, windows)
	netnstest.Flow(t, u.linux, "10.244.1.5:80", "a5", "10.244.3.0")

	vtep.Uplink = "missing"
	if err := vtep.Apply(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), `"missing"`) {
		t.Errorf("without an uplink: %v", err)
	}
}
