//go:build kernel

package dataplane_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestAdapterName looks at the alias of the host's interface, by which Windows programs know it, while networks come
// and go.
func TestAdapterName(t *testing.T) {
	h := newHost(t)
	run(t, h.ns, "ip link add eth0 type veth peer name eth1; ip addr add 10.213.0.11/24 dev eth0; ip link set eth0 up")
	open := func() {
		t.Helper()
		var err error
		h.Plane, err = dataplane.New(dataplane.Config{
			Netns:   h.ns,
			PinDir:  h.pins,
			Adapter: "Ethernet",
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	want := func(what, name string) {
		t.Helper()
		if out := run(t, h.ns, "ip link show eth0"); !strings.HasSuffix(strings.TrimSpace(out), "alias "+name) {
			t.Errorf("%s: the adapter is not %q:\n%s", what, name, out)
		}
	}

	change := func(c netplan.Change) {
		t.Helper()
		if err := h.ApplyChange(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	open()
	h.apply(t, netplan.Plan{})
	want("no network", "Ethernet")

	l2, nat := network(netplan.L2Bridge, "10.244.1"), network(netplan.WinNAT, "10.244.2")
	l2.Bridges[0].Uplink = "Ethernet"
	l2.Ports, l2.Namespaces = nil, nil
	nat.Bridges[0].ID = "nat"
	nat.Ports, nat.Namespaces = nil, nil
	change(netplan.Change{Set: nat})
	want("a NAT network", "Ethernet")
	change(netplan.Change{Set: l2})
	want("a network through it", "vEthernet (Ethernet)")

	open() // it remembers nothing
	l2.Bridges = append(l2.Bridges, nat.Bridges...)
	h.apply(t, l2)
	want("both after a restart", "vEthernet (Ethernet)")
	change(netplan.Change{Removed: netplan.Removed{Bridges: []string{dataplanetest.Net}}})
	want("the NAT network alone", "Ethernet")
}
