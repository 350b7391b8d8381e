package podnet

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/spec"
)

// ensureNetwork makes the HNS network and, where the mode has one, the endpoint that puts the host on it.
func (n *ranged) ensureNetwork(ctx context.Context, r ranges) error {
	want, err := n.wanted(r)
	if err != nil {
		return err
	}

	id, err := hcn.Find(ctx, n.cfg.HNS, hcn.Network, want.Name)
	if err != nil {
		return err
	}

	if id != "" {
		var have wire.Network
		if err := hcn.Query(ctx, n.cfg.HNS, hcn.Network, id, &have); err != nil {
			return err
		}

		if have.Type != want.Type || !slices.Equal(subnetsOf(have), subnetsOf(want)) {
			if err := hcn.Delete(ctx, n.cfg.HNS, hcn.Network, id); err != nil {
				return fmt.Errorf("remove the network of the former range: %w", err)
			}
			id = ""
		}
	}
	if id == "" {
		if id, err = hcn.Create(ctx, n.cfg.HNS, hcn.Network, "", want); err != nil {
			return fmt.Errorf("make HNS network %q: %w", want.Name, err)
		}
	}

	if !hasHostEndpoint(n.cfg.Mode) {
		return nil
	}
	host := []wire.IpConfig{{IpAddress: hostAddress(r.four).String()}}
	if r.six.IsValid() {
		host = append(host, wire.IpConfig{IpAddress: hostAddress(r.six).String()})
	}

	return n.ensureHostEndpoint(ctx, id, host)
}

// hostAddress returns the host's own address on its pods' network: the third of the range (.2), which win-bridge.exe
// makes the pods' gateway.
func hostAddress(cidr netip.Prefix) netip.Addr { return cidr.Addr().Next().Next() }

// subnetsOf returns a network's subnets.
func subnetsOf(w wire.Network) []string {
	var all []string
	for _, ipam := range w.Ipams {
		for _, s := range ipam.Subnets {
			all = append(all, s.IpAddressPrefix)
		}
	}
	return all
}

// ensureHostEndpoint makes the host's endpoint on the network, or attaches it again.
func (n *ranged) ensureHostEndpoint(ctx context.Context, network string, host []wire.IpConfig) error {
	name := NetworkName(n.cfg.Mode) + "_ep"
	id, err := hcn.Find(ctx, n.cfg.HNS, hcn.Endpoint, name)
	if err != nil {
		return err
	}

	if id == "" {
		id, err = hcn.Create(ctx, n.cfg.HNS, hcn.Endpoint, network, wire.Endpoint{
			Name:             name,
			IpConfigurations: host,
			Routes:           []wire.Route{{NextHop: "0.0.0.0", DestinationPrefix: "0.0.0.0/0"}},
		})
		if err != nil {
			return err
		}
	}

	attach := wire.V1Attach{SystemType: "Host", CompartmentId: 1}
	return hcn.V1(ctx, n.cfg.HNS, "POST", "/endpoints/"+id+"/attach", attach, nil)
}

// wanted returns the HNS network for the ranges.
func (n *ranged) wanted(r ranges) (wire.Network, error) {
	subnet, gateway := r.four, r.four.Addr().Next()
	w := wire.Network{
		Name:          NetworkName(n.cfg.Mode),
		Type:          wire.NetworkL2Bridge,
		SchemaVersion: wire.SchemaVersion{Major: 2},
	}

	var policies []wire.Policy
	switch n.cfg.Mode {
	case spec.ModeL2Tunnel:
		w.Type = wire.NetworkL2Tunnel
	case spec.ModeNAT:
		w.Type = wire.NetworkNAT
	case spec.ModeTransparent:
		w.Type = wire.NetworkTransparent
		subnet, gateway = n.cfg.Shared.Subnet, n.cfg.Shared.Gateway
		if !subnet.IsValid() {
			return w, fmt.Errorf("make HNS network %q: the host has no part of the underlay", w.Name)
		}

	case spec.ModeOverlay:
		w.Type = wire.NetworkOverlay
		vsid, err := hcn.Policy(wire.PolicyVSID, wire.IsolationSetting{IsolationId: VSID})
		if err != nil {
			return w, err
		}
		policies = append(policies, vsid)
	}

	subnets := []wire.Subnet{{
		IpAddressPrefix: subnet.String(),
		Policies:        policies,
		Routes:          []wire.Route{defaultRoute(gateway)},
	}}

	if r.six.IsValid() {
		subnets = append(subnets, wire.Subnet{
			IpAddressPrefix: r.six.String(),
			Routes:          []wire.Route{defaultRoute(r.six.Addr().Next())},
		})
	}
	w.Ipams = []wire.Ipam{{Type: "Static", Subnets: subnets}}
	return w, nil
}

// defaultRoute returns the default route of the gateway's family.
func defaultRoute(gateway netip.Addr) wire.Route {
	if gateway.Is6() {
		return wire.Route{NextHop: gateway.String(), DestinationPrefix: "::/0"}
	}
	return wire.Route{NextHop: gateway.String(), DestinationPrefix: "0.0.0.0/0"}
}
