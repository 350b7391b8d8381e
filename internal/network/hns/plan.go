package hns

import (
	"net/netip"
	"slices"
	"strconv"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// part returns an object's part of the plan.
func (m *Model) part(r ref) netplan.Plan {
	return m.tables[r.kind].part(r.id)
}

// planNamespace adds a namespace to the plan, unless it is the host's own.
func (m *Model) planNamespace(n *namespace, p *netplan.Plan) {
	if !m.hosts[n.ID] {
		p.Namespaces = []string{n.ID}
	}
}

// planNetwork adds a network's switch, with the addresses of the endpoints that are attached to the host.
func (m *Model) planNetwork(n *network, p *netplan.Plan) {
	policies, err := m.readNetworkPolicies(n, n.Policies)
	if err != nil { // it was right when it was set
		return
	}

	b := netplan.Bridge{
		ID:     n.ID,
		Mode:   netplan.Mode(n.Type),
		Uplink: n.Adapter,
		MAC:    linuxMAC(policies.mac),
		Apart:  n.Apart,
		// On Windows both are WinNAT's.
		DNSProxy: n.Type == wire.NetworkNAT && n.Flags&wire.NetworkEnableDNSProxy != 0,
		DHCP:     n.Type == wire.NetworkNAT && n.Flags&wire.NetworkEnableDHCPServer != 0,
	}

	switch n.Type {
	case wire.NetworkL2Bridge, wire.NetworkL2Tunnel, wire.NetworkOverlay:
		b.HostVIPs = m.has(hostVIPs)
	}

	for _, s := range n.subnets() {
		if s.vlan != 0 {
			b.VLAN = uint16(s.vlan)
		}
		if n.Type == wire.NetworkNAT || n.Type == wire.NetworkOverlay {
			for _, via := range s.gateways {
				b.Gateways = append(b.Gateways, netip.PrefixFrom(via, s.prefix.Bits()))
			}
		}

		if n.Type == wire.NetworkOverlay {
			b.Overlay = &netplan.VXLAN{
				VNI:  s.vsid,
				Port: policies.port,
				VTEP: policies.provider,
				MAC:  linuxMAC(policies.router),
			}
		}
	}

	for _, e := range m.onHost(n.ID) {
		if b.MAC == "" {
			b.MAC = linuxMAC(e.MacAddress)
		}
		b.Addrs = append(b.Addrs, e.prefixes()...)
	}

	p.Bridges, p.Peers = []netplan.Bridge{b}, policies.peers
}

// onHost returns the network's endpoints that are attached to the host, in order of their IDs.
func (m *Model) onHost(network string) []*endpoint {
	var ids []string
	for ns := range m.hosts {
		for eid := range m.inSpace[ns] {
			if m.endpoints.objects[eid].HostComputeNetwork == network {
				ids = append(ids, eid)
			}
		}
	}

	slices.Sort(ids)
	all := make([]*endpoint, len(ids))
	for i, eid := range ids {
		all[i] = m.endpoints.objects[eid]
	}

	return all
}

// prefixes returns the endpoint's addresses, each with its subnet's length.
func (e *endpoint) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, c := range e.IpConfigurations {
		if addr, err := netip.ParseAddr(c.IpAddress); err == nil {
			all = append(all, netip.PrefixFrom(addr, int(c.PrefixLength)))
		}
	}
	return all
}

func (e *endpoint) addrs() []netip.Addr {
	var all []netip.Addr
	for _, p := range e.prefixes() {
		all = append(all, p.Addr())
	}
	return all
}

// planEndpoint adds an endpoint to the plan: an endpoint in a pod as a port, with the ports of the host that lead to
// it; a remote endpoint of an overlay as a peer.
func (m *Model) planEndpoint(e *endpoint, p *netplan.Plan) {
	n := m.networks.objects[e.HostComputeNetwork]
	inPod := e.HostComputeNamespace != "" && !m.hosts[e.HostComputeNamespace]
	isPeer := e.remote() && n != nil && n.Type == wire.NetworkOverlay
	if n == nil || (!inPod && !isPeer) {
		return
	}

	policies, err := m.readPolicies(n, e.Policies)
	if err != nil { // they were right when they were set
		return
	}

	if isPeer {
		// For an endpoint beyond the overlay kube-proxy names the host itself as the provider: the host's own routes
		// lead there.
		if !slices.Contains(m.cfg.Addresses, policies.provider) {
			p.Peers = e.peers(policies.provider)
		}
		return
	}
	m.planPort(n, e, policies, p)
}

func (m *Model) planPort(n *network, e *endpoint, policies *portPolicies, p *netplan.Plan) {
	port := netplan.Port{
		ID:            e.ID,
		Bridge:        e.HostComputeNetwork,
		Namespace:     e.HostComputeNamespace,
		Name:          interfaceName(e.Interface),
		MAC:           linuxMAC(e.MacAddress),
		Addrs:         e.prefixes(),
		NAT:           policies.nat,
		ACL:           policies.acl,
		EgressBPS:     policies.egress,
		EncapOverhead: policies.overhead,
		Proxies:       policies.proxies,
	}

	for _, r := range append(slices.Clone(e.Routes), policies.routes...) {
		addRoute(&port, r)
	}

	for _, id := range m.routing.sorted(e.ID) {
		for _, s := range m.routes.objects[id].Setting {
			addRoute(&port, wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop})
		}
	}

	p.Ports, p.LoadBalancers = []netplan.Port{port}, m.sparing(e.portMappings(policies.maps))
	for i := range p.LoadBalancers { // from Windows Server 2019 on, the host reaches the ports that a NAT network maps
		lb := &p.LoadBalancers[i]
		lb.FromHost = n.Type == wire.NetworkNAT && m.has(hostMappings) && len(lb.VIPs) == 0
	}
}

// peers returns a remote endpoint's addresses as peers, if it names the host that has them. Else a RemoteSubnetRoute
// does.
func (e *endpoint) peers(provider netip.Addr) []netplan.Peer {
	if !provider.IsValid() {
		return nil
	}

	var all []netplan.Peer
	for i, a := range e.addrs() {
		all = append(all, netplan.Peer{
			ID:     numbered(e.ID, i),
			Bridge: e.HostComputeNetwork,
			Subnet: netip.PrefixFrom(a, a.BitLen()),
			VTEP:   provider,
			MAC:    linuxMAC(e.MacAddress),
		})
	}

	return all
}

func numbered(id string, i int) string {
	if i == 0 {
		return id
	}
	return id + "-" + strconv.Itoa(i)
}

// portMappings returns the ports of the host that lead to the endpoint (hostPort), as load balancers with one backend.
func (e *endpoint) portMappings(maps []portMap) []netplan.LoadBalancer {
	var all []netplan.LoadBalancer
	for i, s := range maps {
		ipv6 := s.Flags&wire.NATIPv6 != 0 || s.vip.Is6()
		addrs := slices.DeleteFunc(e.addrs(), func(a netip.Addr) bool { return a.Is6() != ipv6 })
		if len(addrs) == 0 {
			continue
		}

		lb := netplan.LoadBalancer{
			ID:       e.ID + "-map" + strconv.Itoa(i),
			Protocol: netplan.Protocol(s.Protocol),
			Port:     s.ExternalPort,
			External: true,
			Backends: []netip.AddrPort{netip.AddrPortFrom(addrs[0], s.InternalPort)},
		}

		if s.vip.IsValid() {
			lb.VIPs = []netip.Addr{s.vip}
		}
		all = append(all, lb)
	}

	return all
}

// addRoute gives the pod a route, if the next hop is on its own subnet. Any other destination goes to the host over the
// default route, and the host routes or encapsulates it: that is what an SDN route without such a next hop asks for.
func addRoute(p *netplan.Port, r wire.Route) {
	dst, via, err := parseRoute(r)
	if err != nil {
		return
	}
	onLink := slices.ContainsFunc(p.Addrs, func(a netip.Prefix) bool { return a.Masked().Contains(via) })
	known := slices.ContainsFunc(p.Routes, func(o netplan.Route) bool { return o.Dst == dst })
	if onLink && !known {
		p.Routes = append(p.Routes, netplan.Route{Dst: dst, Via: via})
	}
}

// balancers returns one load balancer for each port mapping and each family of the virtual addresses.
func (m *Model) balancers(lb *wire.LoadBalancer) []netplan.LoadBalancer {
	var families [2][]netip.Addr // IPv4, IPv6
	for _, v := range lb.FrontendVIPs {
		if addr, err := netip.ParseAddr(v); err == nil {
			families[family(addr)] = append(families[family(addr)], addr)
		}
	}

	var all []netplan.LoadBalancer
	for _, mapping := range lb.PortMappings {
		for f, vips := range families {
			everywhere := len(lb.FrontendVIPs) == 0 && (f == 1) == (lb.Flags&wire.LoadBalancerIPv6 != 0)
			if len(vips) > 0 || everywhere {
				b := m.balancer(lb, mapping, f, vips)
				b.ID = numbered(lb.ID, len(all))
				all = append(all, b)
			}
		}
	}

	return all
}

func family(a netip.Addr) int {
	if a.Is6() {
		return 1
	}
	return 0
}

func (m *Model) balancer(lb *wire.LoadBalancer, mapping wire.PortMapping, f int,
	vips []netip.Addr,
) netplan.LoadBalancer {
	b := netplan.LoadBalancer{
		VIPs:        vips,
		Protocol:    netplan.Protocol(mapping.Protocol),
		Port:        mapping.ExternalPort,
		External:    mapping.Flags&wire.PortILB == 0,
		ByClient:    mapping.DistributionType != 0,
		DSR:         lb.Flags&wire.LoadBalancerDSR != 0,
		PreserveDIP: mapping.Flags&wire.PortPreserveDIP != 0,
	}

	if source, err := netip.ParseAddr(lb.SourceVIP); err == nil && family(source) == f {
		b.SourceVIP = source
	}

	for _, id := range lb.HostComputeEndpoints {
		if n := m.networks.objects[m.endpoints.objects[id].HostComputeNetwork]; n.Apart != 0 {
			b.Bridge = n.ID
		}
		for _, addr := range m.endpoints.objects[id].addrs() {
			if family(addr) == f {
				b.Backends = append(b.Backends, netip.AddrPortFrom(addr, mapping.InternalPort))
			}
		}
	}

	return b
}
