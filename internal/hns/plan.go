package hns

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/hns/wire"
	"mullion.dev/mullion/internal/netplan"
)

// Plan is what the host's network should look like now. IPv6 is not in it yet.
func (m *Model) Plan() netplan.Plan {
	var p netplan.Plan
	host := m.hostNamespace()
	for id := range m.networks {
		p.Bridges = append(p.Bridges, m.bridge(id, host))
	}
	for id := range m.namespaces {
		if id != host {
			p.Namespaces = append(p.Namespaces, id)
		}
	}
	for _, e := range m.endpoints {
		if e.HostComputeNamespace != "" && e.HostComputeNamespace != host {
			p.Ports = append(p.Ports, m.port(e))
			p.LoadBalancers = append(p.LoadBalancers, e.portMappings()...)
		}
	}
	for _, lb := range m.loadBalancers {
		p.LoadBalancers = append(p.LoadBalancers, m.balancers(lb)...)
	}
	p.Normalize()
	return p
}

// bridge is a network's switch, with the addresses of the endpoints that are attached to the host.
func (m *Model) bridge(id, host string) netplan.Bridge {
	b := netplan.Bridge{ID: id, Mode: netplan.L2Bridge}
	var attached []*endpoint
	for _, e := range m.endpoints {
		if e.HostComputeNetwork == id && e.HostComputeNamespace == host {
			attached = append(attached, e)
		}
	}
	slices.SortFunc(attached, func(a, b *endpoint) int { return strings.Compare(a.ID, b.ID) })
	for i, e := range attached {
		if i == 0 {
			b.MAC = linuxMAC(e.MacAddress)
		}
		b.Addrs = append(b.Addrs, e.prefixes()...)
	}
	return b
}

func linuxMAC(mac string) string { return strings.ToLower(strings.ReplaceAll(mac, "-", ":")) }

// prefixes are the endpoint's IPv4 addresses with their subnets' lengths.
func (e *endpoint) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, c := range e.IpConfigurations {
		if addr, err := netip.ParseAddr(c.IpAddress); err == nil && addr.Is4() {
			all = append(all, netip.PrefixFrom(addr, int(c.PrefixLength)))
		}
	}
	return all
}

func (m *Model) port(e *endpoint) netplan.Port {
	p := netplan.Port{
		ID: e.ID, Bridge: e.HostComputeNetwork, Namespace: e.HostComputeNamespace,
		Name: interfaceName(e.Interface), MAC: linuxMAC(e.MacAddress), Addrs: e.prefixes(),
	}
	for _, r := range e.Routes {
		addRoute(&p, r)
	}
	for _, policy := range e.Policies {
		switch policy.Type {
		case "OutBoundNAT":
			if nat, err := parseNAT(policy); err == nil {
				p.NAT = append(p.NAT, nat)
			}
		case "SDNRoute":
			if s, err := parseSDNRoute(policy); err == nil {
				addRoute(&p, wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop})
			}
		}
	}
	for _, id := range m.ids(sdnRoutes) {
		if r := m.routes[id]; slices.Contains(r.HostComputeEndpoints, e.ID) {
			for _, s := range r.Setting {
				addRoute(&p, wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop})
			}
		}
	}
	return p
}

// portMappings are the ports of the host that lead to the endpoint (hostPort), as load balancers with one backend.
func (e *endpoint) portMappings() []netplan.LoadBalancer {
	var all []netplan.LoadBalancer
	for i, policy := range e.Policies {
		if policy.Type != "PortMapping" {
			continue
		}
		s, err := parsePortMapping(policy)
		addrs := e.addrs4()
		if err != nil || len(addrs) == 0 {
			continue
		}
		all = append(all, netplan.LoadBalancer{
			ID: e.ID + "-map" + strconv.Itoa(i), Protocol: netplan.Protocol(s.Protocol), Port: s.ExternalPort,
			Backends: []netip.AddrPort{netip.AddrPortFrom(addrs[0], s.InternalPort)},
		})
	}
	return all
}

func parsePortMapping(p wire.Policy) (wire.PortMappingSetting, error) {
	var s wire.PortMappingSetting
	if err := decode(string(p.Settings), &s); err != nil {
		return s, err
	}
	if s.Protocol != 6 && s.Protocol != 17 || s.InternalPort == 0 || s.ExternalPort == 0 {
		return s, wire.Errorf(wire.InvalidPolicy, "PortMapping of protocol %d, port %d to %d", s.Protocol, s.ExternalPort, s.InternalPort)
	}
	return s, nil
}

// addRoute gives the pod a route, if the next hop is on its own subnet. Any other destination goes to the host over the
// default route, and the host routes or encapsulates it: that is what an SDN route without such a next hop asks for.
func addRoute(p *netplan.Port, r wire.Route) {
	dst, via, err := parseRoute(r)
	if err != nil || !dst.Addr().Is4() {
		return
	}
	onLink := slices.ContainsFunc(p.Addrs, func(a netip.Prefix) bool { return a.Masked().Contains(via) })
	known := slices.ContainsFunc(p.Routes, func(o netplan.Route) bool { return o.Dst == dst })
	if onLink && !known {
		p.Routes = append(p.Routes, netplan.Route{Dst: dst, Via: via})
	}
}

// balancers are one load balancer a port mapping.
func (m *Model) balancers(lb *wire.LoadBalancer) []netplan.LoadBalancer {
	if lb.Flags&wire.LoadBalancerIPv6 != 0 {
		return nil
	}
	var vips []netip.Addr
	for _, v := range lb.FrontendVIPs {
		if addr, err := netip.ParseAddr(v); err == nil && addr.Is4() {
			vips = append(vips, addr)
		}
	}
	if len(vips) == 0 && len(lb.FrontendVIPs) > 0 {
		return nil
	}
	var all []netplan.LoadBalancer
	for i, p := range lb.PortMappings {
		b := netplan.LoadBalancer{
			ID: lb.ID, VIPs: vips, Protocol: netplan.Protocol(p.Protocol), Port: p.ExternalPort,
			ByClient: p.DistributionType != 0,
		}
		if i > 0 {
			b.ID += "-" + strconv.Itoa(i)
		}
		for _, id := range lb.HostComputeEndpoints {
			for _, addr := range m.endpoints[id].addrs4() {
				b.Backends = append(b.Backends, netip.AddrPortFrom(addr, p.InternalPort))
			}
		}
		all = append(all, b)
	}
	return all
}

func (e *endpoint) addrs4() []netip.Addr {
	var all []netip.Addr
	for _, p := range e.prefixes() {
		all = append(all, p.Addr())
	}
	return all
}

// parseNAT reads the policy OutBoundNAT. Each entry is an address or a network.
func parseNAT(p wire.Policy) (netplan.NAT, error) {
	var s wire.OutBoundNATSetting
	if len(p.Settings) > 0 {
		if err := decode(string(p.Settings), &s); err != nil {
			return netplan.NAT{}, err
		}
	}
	if s.VirtualIP != "" {
		return netplan.NAT{}, wire.Errorf(wire.InvalidPolicy, "OutBoundNAT to a virtual address is not supported yet")
	}
	var nat netplan.NAT
	var err error
	if nat.Except, err = parseNetworks(s.Exceptions); err != nil {
		return nat, err
	}
	nat.Only, err = parseNetworks(s.Destinations)
	return nat, err
}

func parseNetworks(list []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, s := range list {
		p, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); addrErr == nil {
			p, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil {
			return nil, wire.Errorf(wire.InvalidPolicy, "%q is neither address nor network", s)
		}
		if p.Addr().Is4() {
			all = append(all, p.Masked())
		}
	}
	return all, nil
}

func parseSDNRoute(p wire.Policy) (wire.SDNRouteSetting, error) {
	var s wire.SDNRouteSetting
	if err := decode(string(p.Settings), &s); err != nil {
		return s, err
	}
	if _, _, err := parseRoute(wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop}); err != nil {
		return s, wire.Errorf(wire.InvalidPolicy, "SDNRoute to %q via %q", s.DestinationPrefix, s.NextHop)
	}
	return s, nil
}
