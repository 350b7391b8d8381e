//go:build kernel

package dataplane_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// Two NAT networks of a host do not reach each other, but by the ports that are mapped at the host's address. Each
// reaches the outside, and itself.
func TestNATBetween(t *testing.T) {
	u := newUnderlay(t)
	plan := network(netplan.WinNAT, "172.20.1")
	other := plan.Bridges[0]
	other.ID = "0A6F5A2E-2B61-4D0C-8F1E-6C2D90B7E001"
	other.Gateways = []netip.Prefix{netip.MustParsePrefix("172.20.2.1/24")}
	plan.Bridges = append(plan.Bridges, other)
	for i := range plan.Ports {
		if p := &plan.Ports[i]; p.ID == dataplanetest.EpB {
			p.Bridge = other.ID
			p.Addrs = []netip.Prefix{netip.MustParsePrefix("172.20.2.6/24")}
			p.Routes = []netplan.Route{{
				Dst: netip.MustParsePrefix("0.0.0.0/0"),
				Via: netip.MustParseAddr("172.20.2.1"),
			}}
		}
	}
	for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
		plan.LoadBalancers = append(plan.LoadBalancers, netplan.LoadBalancer{
			ID:       fmt.Sprint("map", proto),
			Protocol: proto,
			Port:     8080,
			FromHost: true,
			Backends: []netip.AddrPort{netip.MustParseAddrPort("172.20.1.5:80")},
		})
	}

	u.a.apply(t, plan)
	one, two := u.a.Pin(dataplanetest.NSA), u.a.Pin(dataplanetest.NSB)
	netnstest.Serve(t, one, "one", "172.20.1.5:80")
	netnstest.Serve(t, two, "two", "172.20.2.6:80")
	netnstest.Serve(t, u.router, "outside", "198.51.100.1:80")
	netnstest.NoFlow(t, two, "172.20.1.5:80")
	netnstest.NoFlow(t, one, "172.20.2.6:80")
	netnstest.Flow(t, two, "10.213.0.11:8080", "one", "172.20.2.6")
	netnstest.Flow(t, one, "198.51.100.1:80", "outside", "10.213.0.11")
	netnstest.Flow(t, two, "198.51.100.1:80", "outside", "10.213.0.11")
	if out := run(t, two, "ping -c1 -W1 172.20.1.5 || echo lost"); !strings.Contains(out, "lost") {
		t.Errorf("a pod of another NAT network answers a ping: %s", out)
	}

	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
}
