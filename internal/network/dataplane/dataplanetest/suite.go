// Package dataplanetest owns the suite that every data plane passes, the real one and the fake. Only tests import it.
package dataplanetest

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/network/netplan"
)

// Plane is a data plane under test.
type Plane interface {
	Apply(ctx context.Context, plan netplan.Plan) error
	ApplyChange(ctx context.Context, c netplan.Change) error
	Observe(ctx context.Context) (netplan.Plan, error)
	Differences(ctx context.Context, plan netplan.Plan) ([]string, error)
	Stats(ctx context.Context, port string) (netplan.Stats, error)
}

// IDs as HNS makes them.
const (
	Net  = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A0001"
	NSA  = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A00A0"
	NSB  = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A00B0"
	EpA  = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A00A1"
	EpB  = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A00B1"
	LB   = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A0099"
	Node = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A0098"
)

// Plan returns a network with two pods and two load balancers; subnet is a /24 as "10.244.1".
func Plan(subnet string) netplan.Plan {
	p := netplan.Plan{
		Bridges: []netplan.Bridge{{
			ID:    Net,
			Mode:  netplan.L2Bridge,
			MAC:   "00:15:5d:00:00:02",
			Addrs: []netip.Prefix{netip.MustParsePrefix(subnet + ".2/24")},
		}},
		Namespaces: []string{NSA, NSB},
		LoadBalancers: []netplan.LoadBalancer{
			{
				ID:       LB,
				VIPs:     []netip.Addr{netip.MustParseAddr("10.96.0.10")},
				Protocol: netplan.TCP,
				Port:     80,
				Backends: []netip.AddrPort{
					netip.MustParseAddrPort(subnet + ".5:8080"),
					netip.MustParseAddrPort(subnet + ".6:8080"),
				},
			},
			{
				ID:       Node,
				Protocol: netplan.UDP,
				Port:     30053,
				ByClient: true,
				Backends: []netip.AddrPort{netip.MustParseAddrPort(subnet + ".5:8080")},
			},
		},
	}

	for _, pod := range []struct{ ns, ep, last string }{{NSA, EpA, "5"}, {NSB, EpB, "6"}} {
		p.Ports = append(p.Ports, netplan.Port{
			ID:        pod.ep,
			Bridge:    Net,
			Namespace: pod.ns,
			Name:      "eth0",
			MAC:       "00:15:5d:00:00:0" + pod.last,
			Addrs:     []netip.Prefix{netip.MustParsePrefix(subnet + "." + pod.last + "/24")},
			Routes: []netplan.Route{{
				Dst: netip.MustParsePrefix("0.0.0.0/0"),
				Via: netip.MustParseAddr(subnet + ".2"),
			}},
			NAT: []netplan.NAT{{Except: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}},
		})
	}

	p.Normalize()
	return p
}

// Dual is Plan with a second family: subnet6 is a /64 as "fd00:244:1:1".
func Dual(subnet, subnet6 string) netplan.Plan {
	p := Plan(subnet)
	addDual(&p, subnet6)
	return p
}

func addDual(p *netplan.Plan, subnet6 string) {
	p.Bridges[0].Addrs = append(slices.Clone(p.Bridges[0].Addrs), netip.MustParsePrefix(subnet6+"::2/64"))
	for i := range p.Ports {
		port := &p.Ports[i]
		last := port.MAC[len(port.MAC)-1:]
		port.Addrs = append(slices.Clone(port.Addrs), netip.MustParsePrefix(subnet6+"::"+last+"/64"))
		port.Routes = append(slices.Clone(port.Routes), netplan.Route{
			Dst: netip.MustParsePrefix("::/0"),
			Via: netip.MustParseAddr(subnet6 + "::2"),
		})
		port.NAT[0].Except = append(port.NAT[0].Except, netip.MustParsePrefix("fd00:244::/32"))
	}

	p.LoadBalancers = append(p.LoadBalancers, netplan.LoadBalancer{
		ID:        LB + "-1",
		VIPs:      []netip.Addr{netip.MustParseAddr("fd00:96::10")},
		Protocol:  netplan.TCP,
		Port:      80,
		External:  true,
		SourceVIP: netip.MustParseAddr(subnet6 + "::9"),
		Backends:  []netip.AddrPort{netip.MustParseAddrPort("[" + subnet6 + "::5]:8080")},
	}, netplan.LoadBalancer{
		ID:       Node + "-1",
		Protocol: netplan.UDP,
		Port:     30053,
		ByClient: true,
		Backends: []netip.AddrPort{
			netip.MustParseAddrPort("[" + subnet6 + "::5]:8080"),
			netip.MustParseAddrPort("[" + subnet6 + "::6]:8080"),
		},
	})

	p.Normalize()
}

// Clone returns a copy of p that shares with p only what tests do not change.
func Clone(p netplan.Plan) netplan.Plan {
	p.Bridges = append([]netplan.Bridge(nil), p.Bridges...)
	p.Namespaces = append([]string(nil), p.Namespaces...)
	p.Ports = append([]netplan.Port(nil), p.Ports...)
	for i := range p.Ports {
		p.Ports[i].NAT = slices.Clone(p.Ports[i].NAT)
		for j := range p.Ports[i].NAT {
			p.Ports[i].NAT[j].Except = slices.Clone(p.Ports[i].NAT[j].Except)
		}
	}
	p.LoadBalancers = append([]netplan.LoadBalancer(nil), p.LoadBalancers...)
	return p
}

// Expect compares what the plane observes with the plan. Policies cannot be read back; other tests check them by
// traffic.
func Expect(t *testing.T, plane Plane, want netplan.Plan) {
	t.Helper()
	got, err := plane.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	opts := cmp.Options{
		cmpopts.IgnoreFields(netplan.LoadBalancer{}, "DSR"),
		cmpopts.IgnoreFields(netplan.Port{}, "ACL", "Proxies", "EncapOverhead"),
		cmpopts.IgnoreFields(netplan.Bridge{}, "Uplink", "VLAN", "Overlay"),
		cmpopts.IgnoreFields(netplan.Plan{}, "Peers"),
		cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{}, netip.AddrPort{}), cmpopts.EquateEmpty(),
	}

	if diff := cmp.Diff(want, got, opts); diff != "" {
		t.Errorf("plane shows something else (-want +got):\n%s", diff)
	}
	if found, err := plane.Differences(t.Context(), want); err != nil || len(found) > 0 {
		t.Errorf("differences from the plan: %q, %v", found, err)
	}
}

// changes lead from Plan to another one.
func changes() map[string]func(p *netplan.Plan) {
	return map[string]func(p *netplan.Plan){
		"same-again":  func(*netplan.Plan) {},
		"pod-leaves":  func(p *netplan.Plan) { p.Ports, p.Namespaces = p.Ports[:1], p.Namespaces[:1] },
		"port-leaves": func(p *netplan.Plan) { p.Ports = p.Ports[1:] },
		"address-changes": func(
			p *netplan.Plan,
		) {
			p.Ports[0].Addrs = []netip.Prefix{netip.MustParsePrefix("10.244.1.77/24")}
		},
		"route-added": func(p *netplan.Plan) {
			p.Ports[0].Routes = append(p.Ports[0].Routes[:1:1],
				netplan.Route{Dst: netip.MustParsePrefix("192.0.2.0/24"), Via: netip.MustParseAddr("10.244.1.2")})
		},
		"nat-changes": func(p *netplan.Plan) {
			p.Ports[0].NAT = []netplan.NAT{{Only: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}}}
		},
		"nat-leaves":      func(p *netplan.Plan) { p.Ports[0].NAT = nil },
		"balancer-leaves": func(p *netplan.Plan) { p.LoadBalancers = p.LoadBalancers[1:] },
		"vip-changes": func(p *netplan.Plan) {
			p.LoadBalancers[1].VIPs = []netip.Addr{netip.MustParseAddr("10.96.0.11")}
		},
		"host-leaves": func(p *netplan.Plan) {
			p.Bridges[0].Addrs, p.Bridges[0].MAC = nil,
				"00:15:5d:00:00:02"
			p.Ports = nil
		},
		"nat-to": func(p *netplan.Plan) {
			p.Ports[0].NAT[0].To, p.Ports[0].NAT[0].ICMP = netip.MustParseAddr("10.244.1.2"), true
		},
		"limit": func(p *netplan.Plan) { p.Ports[0].EgressBPS = 8_000_000 },
		"other-mode": func(p *netplan.Plan) {
			p.Bridges[0].Mode, p.Bridges[0].Gateways = netplan.WinNAT,
				[]netip.Prefix{netip.MustParsePrefix("10.244.1.1/24")}
		},
		"backends-change": func(p *netplan.Plan) {
			p.LoadBalancers[1].Backends = append(p.LoadBalancers[1].Backends[1:2:2],
				netip.MustParseAddrPort("10.244.1.9:1"), netip.MustParseAddrPort("10.244.1.8:1"))
		},
		"backends-leave": func(p *netplan.Plan) {
			p.LoadBalancers[1].ByClient, p.LoadBalancers[1].Backends = true, p.LoadBalancers[1].Backends[:1]
		},
		"from-outside": func(p *netplan.Plan) {
			p.LoadBalancers[1].External, p.LoadBalancers[1].SourceVIP = true, netip.MustParseAddr("10.244.1.3")
		},
		"keeps-destination": func(p *netplan.Plan) {
			p.LoadBalancers[1].PreserveDIP, p.LoadBalancers[1].External = true,
				true
		},
		"vip-of-another": func(p *netplan.Plan) {
			first := p.LoadBalancers[1]
			first.ID, first.Backends = "0", first.Backends[:1]
			p.LoadBalancers = append(p.LoadBalancers[:1:1], first)
			p.Normalize()
		},
		"becomes-dual":      func(p *netplan.Plan) { addDual(p, "fd00:244:1:1") },
		"everything-leaves": func(p *netplan.Plan) { *p = netplan.Plan{} },
	}
}

// Suite runs every check on planes that open makes, each on a host of its own.
func Suite(t *testing.T, open func(t *testing.T) Plane) {
	t.Helper()
	for name, change := range changes() {
		for how, step := range map[string]func(t *testing.T, plane Plane, from, to netplan.Plan){
			"whole": func(t *testing.T, plane Plane, _, to netplan.Plan) { t.Helper(); apply(t, plane, to) },
			"change": func(t *testing.T, plane Plane, from, to netplan.Plan) {
				t.Helper()
				if err := plane.ApplyChange(t.Context(), netplan.Between(from, to)); err != nil {
					t.Fatal(err)
				}
			},
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				plane := open(t)
				plan := Plan("10.244.1")
				apply(t, plane, plan)
				Expect(t, plane, plan)
				if _, err := plane.Stats(t.Context(), EpA); err != nil {
					t.Error(err)
				}

				next := Clone(plan)
				change(&next)
				step(t, plane, plan, next)
				Expect(t, plane, next)
				step(t, plane, next, plan)
				Expect(t, plane, plan)
			})
		}
	}

	t.Run("no-such-port", func(t *testing.T) {
		if _, err := open(t).Stats(t.Context(), EpA); err == nil {
			t.Error("statistics of a port that is not there")
		}
	})
}

func apply(t *testing.T, plane Plane, plan netplan.Plan) {
	t.Helper()
	if err := plane.Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
}
