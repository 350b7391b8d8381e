package hns

import (
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

func (m *Model) createLoadBalancer(id string, r Request) (string, error) {
	var lb wire.LoadBalancer
	if err := decode(r.text(0), &lb); err != nil {
		return "", err
	}
	id, err := m.loadBalancers.pick(id, lb.ID)
	if err != nil {
		return "", err
	}
	return id, m.setLoadBalancer(id, lb)
}

// modifyLoadBalancer replaces endpoints, addresses and ports. The settings are the load balancer itself, as hnslib
// sends it (v0.1.2, hcn/hcnloadbalancer.go, Update), or a request around it as for other objects.
func (m *Model) modifyLoadBalancer(id, settings string) error {
	if !m.has(modifyBalancer) {
		return wire.Errorf(wire.ENotImpl, "modify of a load balancer, HNS %d.%d", m.cfg.Version.Major,
			m.cfg.Version.Minor)
	}
	var lb wire.LoadBalancer
	if err := decodeModify(settings, &lb); err != nil {
		return err
	}
	return m.setLoadBalancer(id, lb)
}

// decodeModify reads an object that replaces another: bare, or in a request to update it.
func decodeModify(settings string, v any) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}
	switch {
	case req.RequestType == "" && len(req.Settings) == 0:
		return decode(settings, v)
	case req.RequestType == "Update" && len(req.Settings) > 0:
		return decode(string(req.Settings), v)
	}
	return wire.Errorf(wire.RequestUnsupported, "%.64q of %.64q", req.RequestType, req.ResourceType)
}

func (m *Model) setLoadBalancer(id string, lb wire.LoadBalancer) error {
	lb.ID, lb.SchemaVersion = id, schema2
	if len(lb.PortMappings) == 0 {
		return wire.Errorf(wire.InvalidPolicy, "a load balancer needs a port mapping")
	}
	if err := m.checkFlags(&lb); err != nil {
		return err
	}

	if err := m.checkBackends(&lb); err != nil {
		return err
	}
	if err := checkFront(&lb); err != nil {
		return err
	}
	if err := m.free(frontsOf(&lb), id); err != nil {
		return err
	}

	if err := m.checkBlocks(&lb, id); err != nil {
		return err
	}

	m.loadBalancers.put(id, &lb)
	return nil
}

// blocksOf returns the protocols for which a load balancer takes dynamic ports of its own, where ports are not shared.
func blocksOf(lb *wire.LoadBalancer) []uint32 {
	if lb.Flags&wire.LoadBalancerDSR != 0 {
		return nil
	}
	var all []uint32
	for _, p := range lb.PortMappings {
		if !slices.Contains(all, p.Protocol) {
			all = append(all, p.Protocol)
		}
	}
	return all
}

// checkBlocks refuses a load balancer if no dynamic ports are left for it, with Windows' error for that.
func (m *Model) checkBlocks(lb *wire.LoadBalancer, id string) error {
	if m.has(sharedPorts) {
		return nil
	}
	for _, p := range blocksOf(lb) {
		if taken := m.blocks[p]; len(taken) >= maxBlocks && !taken[id] {
			return wire.Errorf(wire.PortAlreadyExists,
				"the dynamic ports of protocol %d are reserved by %d load balancers", p, len(taken))
		}
	}
	return nil
}

// checkFlags refuses what the host's HNS cannot do. An older HNS does not know the field for distribution by client, so
// there it has no effect.
func (m *Model) checkFlags(lb *wire.LoadBalancer) error {
	if (lb.Flags&wire.LoadBalancerDSR != 0 && !m.has(directReturn)) ||
		(lb.Flags&wire.LoadBalancerIPv6 != 0 && !m.has(dualStack)) {
		return wire.Errorf(wire.EInvalidArg, "load balancer's flags %d, HNS %d.%d", lb.Flags, m.cfg.Version.Major,
			m.cfg.Version.Minor)
	}

	for i := range lb.PortMappings {
		p := &lb.PortMappings[i]
		if p.ExternalPort == 0 || p.InternalPort == 0 ||
			(p.Protocol != uint32(netplan.TCP) && p.Protocol != uint32(netplan.UDP)) {
			return wire.Errorf(wire.InvalidPolicy, "protocol %d, ports %d and %d", p.Protocol, p.ExternalPort,
				p.InternalPort)
		}
		if p.DistributionType > wire.DistributionSourceIP {
			return wire.Errorf(wire.InvalidPolicy, "distribution type %d", p.DistributionType)
		}

		if !m.has(sessionAffinity) {
			p.DistributionType = 0
		}
	}

	return nil
}

func (m *Model) checkBackends(lb *wire.LoadBalancer) error {
	destinations := map[string]bool{}
	var first *network
	for i, e := range lb.HostComputeEndpoints {
		eid, err := canonical(strings.TrimPrefix(e, "/endpoints/"))
		if err != nil {
			return err
		}
		backend, ok := m.endpoints.objects[eid]
		if !ok {
			return wire.Errorf(wire.ENotFound, "endpoint %s", eid)
		}

		lb.HostComputeEndpoints[i] = eid
		n := m.networks.objects[backend.HostComputeNetwork]
		if first == nil {
			first = n
		}
		if n.Apart != first.Apart {
			return wire.Errorf(wire.EInvalidArg, "endpoints of networks %s and %s, which do not reach each other",
				first.ID, n.ID)
		}

		for _, c := range backend.IpConfigurations {
			destinations[c.IpAddress] = true
		}
	}

	limited := lb.Flags&wire.LoadBalancerDSR == 0 && m.cfg.Profile != Modern
	if len(destinations) == 0 || (limited && len(destinations) > maxDestinations) {
		// The words are those of Windows: https://github.com/microsoft/Windows-Containers/issues/93.
		return wire.Errorf(wire.EInvalidArg, "Unable to initialize VFP LB rule: invalid number of destinations.")
	}

	return nil
}

// checkFront checks the virtual addresses: all must be of one family, the one that the flag names.
func checkFront(lb *wire.LoadBalancer) error {
	ipv6 := lb.Flags&wire.LoadBalancerIPv6 != 0
	for i, vip := range lb.FrontendVIPs {
		addr, err := netip.ParseAddr(vip)
		if err != nil || addr.Zone() != "" || (ipv6 && addr.Is4()) {
			return wire.Errorf(wire.InvalidIP, "virtual address %.64q", vip)
		}
		lb.FrontendVIPs[i] = addr.Unmap().String()
	}

	if lb.SourceVIP != "" {
		addr, err := netip.ParseAddr(lb.SourceVIP)
		if err != nil || addr.Zone() != "" || addr.IsUnspecified() ||
			slices.Contains(lb.FrontendVIPs, addr.Unmap().String()) {
			return wire.Errorf(wire.AddrInvalidOrReserved, "source address %.64q", lb.SourceVIP)
		}
		lb.SourceVIP = addr.Unmap().String()
	}

	return nil
}

// frontsOf returns what the load balancer listens on.
func frontsOf(lb *wire.LoadBalancer) []front {
	var all []front
	for _, p := range lb.PortMappings {
		f := front{
			protocol: p.Protocol,
			port:     p.ExternalPort,
			ipv6:     lb.Flags&wire.LoadBalancerIPv6 != 0,
		}

		for _, vip := range lb.FrontendVIPs {
			if addr, err := netip.ParseAddr(vip); err == nil {
				f.addr, f.ipv6 = addr, addr.Is6()
				all = append(all, f)
			}
		}

		if len(lb.FrontendVIPs) == 0 {
			all = append(all, f)
		}
	}

	return all
}

func (m *Model) createRoute(id string, r Request) (string, error) {
	var route wire.SdnRoute
	if err := decode(r.text(0), &route); err != nil {
		return "", err
	}
	id, err := m.routes.pick(id, route.ID)
	if err != nil {
		return "", err
	}
	return id, m.setRoute(id, route)
}

func (m *Model) modifyRoute(id, settings string) error {
	var r wire.SdnRoute
	if err := decodeModify(settings, &r); err != nil {
		return err
	}
	return m.setRoute(id, r)
}

func (m *Model) setRoute(id string, r wire.SdnRoute) error {
	r.ID, r.SchemaVersion = id, schema2
	if len(r.Setting) == 0 || len(r.HostComputeEndpoints) == 0 {
		return wire.Errorf(wire.InvalidPolicy, "a route needs endpoints and a setting")
	}

	for i, e := range r.HostComputeEndpoints {
		eid, err := canonical(strings.TrimPrefix(e, "/endpoints/"))
		if err != nil {
			return err
		}
		if !m.endpoints.has(eid) {
			return wire.Errorf(wire.ENotFound, "endpoint %s", eid)
		}
		r.HostComputeEndpoints[i] = eid
	}

	for _, s := range r.Setting {
		if _, _, err := parseRoute(wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop}); err != nil {
			return err
		}
	}

	m.routes.put(id, &r)
	return nil
}
