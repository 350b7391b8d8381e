package hns

import (
	"fmt"
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/network/hns/wire"
)

func (m *Model) createEndpoint(id string, r Request) (string, error) {
	netID, err := canonical(r.Object)
	if err != nil {
		return "", err
	}
	n, ok := m.networks.objects[netID]
	if !ok {
		return "", wire.Errorf(wire.NetworkNotFound, "network %s", netID)
	}

	var e endpoint
	if err := decode(r.text(0), &e.Endpoint); err != nil {
		return "", err
	}
	id, err = m.endpoints.pick(id, e.ID)
	if err != nil {
		return "", err
	}

	if e.HostComputeNetwork != "" {
		if given, err := canonical(e.HostComputeNetwork); err != nil || given != netID {
			return "", wire.Errorf(wire.InvalidEndpoint, "network %.64q is not the one it is made on",
				e.HostComputeNetwork)
		}
	}

	e.ID = id
	e.HostComputeNetwork = netID
	e.HostComputeNamespace = ""
	e.SchemaVersion = schema2
	e.Health = nil
	if err := m.placeEndpoint(n, &e); err != nil {
		return "", err
	}

	if err := m.pickPorts(n, &e); err != nil {
		return "", err
	}
	if err := m.checkPolicies(n, &e); err != nil {
		return "", err
	}
	m.endpoints.put(id, &e)
	return id, nil
}

// checkPolicies checks the endpoint's policies as they are now.
func (m *Model) checkPolicies(n *network, e *endpoint) error {
	if _, err := m.readPolicies(n, e.Policies); err != nil {
		return err
	}
	if err := m.free(e.fronts(), e.ID); err != nil {
		return err
	}
	if n.Type != wire.NetworkNAT {
		return nil
	}

	return m.nobodyListens(e)
}

// nobodyListens refuses port mappings at which a program of the host listens, unless the endpoint has them already. A
// nat network maps a port at every address of the host, the loopback too: from then on a container answered in the
// program's place. Windows' words are those of moby/moby#21558.
func (m *Model) nobodyListens(e *endpoint) error {
	fresh := slices.DeleteFunc(e.fronts(), func(f front) bool { return m.fronts[f] == e.ID })
	if len(fresh) == 0 {
		return nil
	}

	all, err := m.listeners()
	if err != nil {
		return err
	}
	for _, f := range fresh {
		if all.on(f) {
			return wire.Errorf(wire.ESharingViolation, "protocol %d port %d: a program of the host has it", f.protocol, f.port)
		}
	}

	return nil
}

// listeners are the addresses at which programs of the host listen, by what they listen on. A host may have as many of
// them as there are ports, and a request as many mappings.
type listeners map[listened]map[netip.Addr]bool

type listened struct {
	protocol uint32
	port     uint16
}

func (m *Model) listeners() (listeners, error) {
	if m.cfg.Listening == nil {
		return nil, nil
	}
	all, err := m.cfg.Listening()
	if err != nil {
		return nil, wire.Errorf(wire.EFail, "%v", err)
	}

	by := listeners{}
	for _, one := range all {
		at := listened{uint32(one.Protocol), one.Port}
		if by[at] == nil {
			by[at] = map[netip.Addr]bool{}
		}
		by[at][one.Addr] = true
	}
	return by, nil
}

// on reports whether one has what comes to a front.
func (l listeners) on(f front) bool {
	at := l[listened{f.protocol, f.port}]
	if !f.addr.IsValid() {
		return len(at) > 0
	}
	return at[f.addr] || at[netip.IPv4Unspecified()] || at[netip.IPv6Unspecified()]
}

// placeEndpoint gives the endpoint its addresses, hardware address and routes. A remote endpoint keeps whatever address
// it names: it stands for something elsewhere, on any network.
func (m *Model) placeEndpoint(n *network, e *endpoint) error {
	e.dropEmpty()
	if len(e.IpConfigurations) == 0 {
		if e.remote() {
			return wire.Errorf(wire.InvalidIP, "a remote endpoint needs an address")
		}
		configs, err := m.freeAddrs(n)
		if err != nil {
			return err
		}
		e.IpConfigurations = configs
	}

	if err := m.checkAddrs(n, e); err != nil {
		return err
	}
	mac, err := m.hardwareAddr(n, e)
	if err != nil {
		return err
	}

	e.MacAddress = mac
	for _, r := range e.Routes {
		if _, _, err := parseRoute(r); err != nil {
			return err
		}
	}

	if len(e.Routes) == 0 && !e.remote() {
		for _, via := range n.gateways() {
			e.Routes = append(e.Routes, wire.Route{NextHop: via.String(), DestinationPrefix: defaultRoute(via)})
		}
	}

	return nil
}

// dropEmpty takes an endpoint whose only addresses are empty for one that names none, and its default routes without a
// next hop for none. win-bridge.exe makes such endpoints where its configuration has no IPAM plugin, as HNS can give
// the addresses (containernetworking/plugins v1.9.1, pkg/hns/endpoint_windows.go, GenerateHcnEndpoint).
func (e *endpoint) dropEmpty() {
	for _, c := range e.IpConfigurations {
		if c.IpAddress != "" {
			return
		}
	}
	e.IpConfigurations = nil
	e.Routes = slices.DeleteFunc(slices.Clone(e.Routes), func(r wire.Route) bool {
		return r.NextHop == "" && (r.DestinationPrefix == "0.0.0.0/0" || r.DestinationPrefix == "::/0")
	})
}

// checkAddrs checks the addresses that an endpoint wants, and completes them.
func (m *Model) checkAddrs(n *network, e *endpoint) error {
	seen := map[netip.Addr]bool{}
	e.IpConfigurations = slices.Clone(e.IpConfigurations)
	for i := range e.IpConfigurations {
		c := &e.IpConfigurations[i]
		addr, err := netip.ParseAddr(c.IpAddress)
		if err != nil || addr.Zone() != "" || addr.IsUnspecified() || addr.IsMulticast() || seen[addr.Unmap()] {
			return wire.Errorf(wire.InvalidIP, "address %.64q", c.IpAddress)
		}

		addr = addr.Unmap()
		seen[addr] = true
		c.IpAddress = addr.String()
		if err := m.checkAddr(n, e, addr, c); err != nil {
			return err
		}
	}

	return nil
}

func (e *endpoint) remote() bool { return e.Flags&wire.EndpointRemote != 0 }

func defaultRoute(via netip.Addr) string {
	if via.Is4() {
		return "0.0.0.0/0"
	}
	return "::/0"
}

// parseRoute reads a route. A next hop that is empty or 0.0.0.0, as in HNS' own host endpoints, means that there is
// none.
func parseRoute(r wire.Route) (dst netip.Prefix, via netip.Addr, err error) {
	if dst, err = netip.ParsePrefix(r.DestinationPrefix); err != nil {
		return dst, via, wire.Errorf(wire.InvalidEndpoint, "route to %.64q", r.DestinationPrefix)
	}
	if r.NextHop == "" {
		return dst.Masked(), via, nil
	}
	if via, err = netip.ParseAddr(r.NextHop); err != nil || via.Is4() != dst.Addr().Is4() {
		return dst, via, wire.Errorf(wire.InvalidEndpoint, "route to %s via %.64q", dst, r.NextHop)
	}

	if via.IsUnspecified() {
		via = netip.Addr{}
	}

	return dst.Masked(), via, nil
}

// checkAddr finds the subnet of an address that an endpoint wants, and checks that no other endpoint has the address. A
// local endpoint may have a remote one's: a pod that moved here is also known at its old place for a while.
func (m *Model) checkAddr(n *network, e *endpoint, addr netip.Addr, c *wire.IpConfig) error {
	if id, taken := m.addrs[addrKey{n.ID, e.remote(), addr}]; taken {
		return wire.Errorf(wire.AddrInvalidOrReserved, "address %s is that of endpoint %s", addr, id)
	}
	if e.remote() {
		if id, taken := m.addrs[addrKey{n.ID, false, addr}]; taken {
			return wire.Errorf(wire.AddrInvalidOrReserved, "address %s is that of local endpoint %s", addr, id)
		}
		return nil
	}

	prefixes := n.prefixes()
	if len(prefixes) == 0 { // a transparent network, whose subnet is known to the underlay alone
		if c.PrefixLength == 0 || int(c.PrefixLength) > addr.BitLen() {
			return wire.Errorf(wire.InvalidIP, "address %s with prefix length %d; the network has no subnets", addr,
				c.PrefixLength)
		}
		return nil
	}

	i := slices.IndexFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
	if i < 0 {
		return wire.Errorf(wire.InvalidIP, "address %s, subnets %v", addr, prefixes)
	}
	if reserved(prefixes[i], addr) || slices.Contains(n.gateways(), addr) {
		return wire.Errorf(wire.AddrInvalidOrReserved, "address %s", addr)
	}
	c.PrefixLength = uint8(prefixes[i].Bits())
	return nil
}

// reserved reports whether the address is its subnet's first or, with IPv4, its last. Subnets of one or two addresses
// reserve none.
func reserved(p netip.Prefix, addr netip.Addr) bool {
	if p.Bits() >= addr.BitLen()-1 {
		return false
	}
	return addr == p.Masked().Addr() || (addr.Is4() && !p.Contains(addr.Next()))
}

// freeAddrs returns the first free address of each family that the network's subnets have.
func (m *Model) freeAddrs(n *network) ([]wire.IpConfig, error) {
	var found []wire.IpConfig
	families := map[bool]bool{}
	for _, p := range n.prefixes() {
		if families[p.Addr().Is4()] {
			continue
		}

		for addr := p.Addr(); p.Contains(addr); addr = addr.Next() {
			c := wire.IpConfig{IpAddress: addr.String()}
			if m.checkAddr(n, &endpoint{}, addr, &c) == nil {
				found = append(found, c)
				families[addr.Is4()] = true
				break
			}
		}
	}

	if len(found) == 0 {
		return nil, wire.Errorf(wire.AddrInvalidOrReserved, "no address is free in %v", n.prefixes())
	}

	return found, nil
}

func (m *Model) modifyEndpoint(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}

	e := *m.endpoints.objects[id]
	switch {
	case req.ResourceType != "Policy":
		return wire.Errorf(wire.RequestUnsupported, "modify of an endpoint's %.64q", req.ResourceType)
	case e.remote():
		return wire.Errorf(wire.InvalidRemoteOperation, "endpoint %s", id)
	}

	policies, err := modifyPolicies(e.Policies, req)
	if err != nil {
		return err
	}
	e.Policies = policies
	return m.replaceEndpoint(&e)
}

// replaceEndpoint stores an endpoint whose policies have changed.
func (m *Model) replaceEndpoint(e *endpoint) error {
	if err := m.checkPolicies(m.networks.objects[e.HostComputeNetwork], e); err != nil {
		return err
	}
	m.endpoints.put(e.ID, e)
	return nil
}

// deleteEndpoint removes the endpoint, also from its namespace, its load balancers and its routes.
func (m *Model) deleteEndpoint(id string) {
	m.detach(id)
	for _, lbID := range m.balancing.sorted(id) {
		changed := *m.loadBalancers.objects[lbID]
		changed.HostComputeEndpoints = except(changed.HostComputeEndpoints, id)
		m.loadBalancers.put(lbID, &changed)
	}

	for _, rid := range m.routing.sorted(id) {
		changed := *m.routes.objects[rid]
		changed.HostComputeEndpoints = except(changed.HostComputeEndpoints, id)
		m.routes.put(rid, &changed)
	}
	m.endpoints.put(id, nil)
}

func except(ids []string, id string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(other string) bool { return other == id })
}

// shown returns the endpoint as a query sees it: with the containers that share it.
func (m *Model) shown(e *endpoint) *wire.Endpoint {
	out := e.Endpoint
	if shared := m.containersOf(e); len(shared) > 0 {
		out.Health = &wire.Health{Extra: &wire.Extra{SharedContainers: shared}}
	}
	return &out
}

func (m *Model) containersOf(e *endpoint) []string {
	if ns, ok := m.namespaces.objects[e.HostComputeNamespace]; ok {
		return containers(ns)
	}
	return nil
}

// containers returns the IDs of the containers that share a namespace.
func containers(ns *namespace) []string {
	var ids []string
	for _, r := range ns.Resources {
		if r.Type == wire.ResourceContainer {
			ids = append(ids, r.Data.ID)
		}
	}
	return ids
}

func interfaceName(i int) string { return fmt.Sprintf("eth%d", i) }
