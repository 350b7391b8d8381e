//go:build kernel

package dataplane_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// A pod with endpoints of two networks has the default route of each, and uses the first one's.
func TestTwoDefaultRoutes(t *testing.T) {
	u := newUnderlay(t)
	plan := network(netplan.WinNAT, "172.20.1")
	second := network(netplan.WinNAT, "172.20.2")
	second.Bridges[0].ID = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A0002"
	second.Bridges[0].MAC = "00:15:5d:00:02:02"
	p := second.Ports[0]
	p.ID, p.Bridge = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A00A2", second.Bridges[0].ID
	p.Name, p.MAC = "eth1", "00:15:5d:00:02:05"
	plan.Bridges, plan.Ports = append(plan.Bridges, second.Bridges[0]), append(plan.Ports, p)
	plan.Normalize()

	for range 2 { // the second time all is there
		u.a.apply(t, plan)
		dataplanetest.Expect(t, u.a, plan)
	}

	routes := run(t, u.a.Pin(dataplanetest.NSA), "ip route show default; ip route get 198.51.100.1")
	for _, want := range []string{
		"default via 172.20.1.1 dev eth0", "default via 172.20.2.1 dev eth1", "198.51.100.1 via 172.20.1.1",
	} {
		if !strings.Contains(routes, want) {
			t.Errorf("no %q in\n%s", want, routes)
		}
	}
}
