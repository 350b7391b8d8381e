//go:build kernel

package underlay_test

import (
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/underlay"
)

// Hosts and the machine reach the place outside at its far addresses of both families, the place reaches the targets of
// its routes, and its removal leaves nothing.
func TestOutside(t *testing.T) {
	e := newEnv(t)
	e.subnet6 = netip.MustParsePrefix("fd00:213::/64")
	e.u = e.open(t)
	e.up(t)
	a := e.u.HostNetns("win-a")
	routes := func() string {
		return run(t, a, "sh", "-c", "ip route; ip -6 route show proto static") + run(t, e.machine, "sh", "-c",
			"ip route; ip -6 route show proto static")
	}

	before := routes()
	o := underlay.Outside{
		Name:     "net.test",
		Address:  netip.MustParseAddr("10.213.0.250"),
		Address6: netip.MustParseAddr("fd00:213::fa"),
		Far:      []netip.Addr{netip.MustParseAddr("192.0.2.10"), netip.MustParseAddr("2001:db8:100::10")},
		Routes: []underlay.Route{
			{CIDR: netip.MustParsePrefix("203.0.113.10/32"), Via: netip.MustParseAddr("10.213.0.11")},
			{CIDR: netip.MustParsePrefix("2001:db8:113::10/128"), Via: netip.MustParseAddr("fd00:213::b")},
		},
	}

	for range 2 { // the second time there is nothing to do
		if err := e.u.AddOutside(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	outside := e.u.HostNetns(o.Name)
	for _, addr := range []string{"10.213.0.250:80", "192.0.2.10:80", "[fd00:213::fa]:80", "[2001:db8:100::10]:80"} {
		netnstest.Serve(t, outside, "outside", addr)
		netnstest.Flow(t, a, addr, "outside", "")
		netnstest.Flow(t, e.machine, addr, "outside", "")
	}

	run(
		t, a, "sh", "-c", "ip addr add 203.0.113.10/32 dev lo; ip addr add 2001:db8:113::10/128 dev lo; ip link set lo up")
	netnstest.Serve(t, a, "four", "203.0.113.10:80")
	netnstest.Serve(t, a, "six", "[2001:db8:113::10]:80")
	netnstest.Flow(t, outside, "203.0.113.10:80", "four", "10.213.0.250")
	netnstest.Flow(t, outside, "[2001:db8:113::10]:80", "six", "2001:db8:100::10") // the nearer of its addresses
	run(t, a, "sh", "-c", "ip addr del 203.0.113.10/32 dev lo; ip addr del 2001:db8:113::10/128 dev lo")

	for range 2 {
		if err := e.u.RemoveOutside(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}

	if after := routes(); strings.TrimSpace(after) != strings.TrimSpace(before) {
		t.Errorf("routes before:\n%s\nand after:\n%s", before, after)
	}
}
