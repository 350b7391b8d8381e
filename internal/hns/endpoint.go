package hns

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/hns/wire"
)

func (m *Model) createEndpoint(id, netID, settings string) (string, error) {
	n, ok := m.networks[netID]
	if !ok {
		return "", wire.Errorf(wire.NetworkNotFound, "network %s", netID)
	}
	var e endpoint
	if err := decode(settings, &e.Endpoint); err != nil {
		return "", err
	}
	id, err := m.pick(endpoints, id, e.ID)
	if err != nil {
		return "", err
	}
	if e.HostComputeNetwork != "" {
		if given, err := canonical(e.HostComputeNetwork); err != nil || given != netID {
			return "", wire.Errorf(wire.InvalidEndpoint, "network %q is not the one it is made on", e.HostComputeNetwork)
		}
	}
	e.ID, e.HostComputeNetwork, e.HostComputeNamespace, e.SchemaVersion, e.Health = id, netID, "", schema2, nil
	if err := m.placeEndpoint(n, &e); err != nil {
		return "", err
	}
	if err := checkPolicies(e.Policies); err != nil {
		return "", err
	}
	put(m, m.endpoints, id, &e)
	return id, nil
}

// placeEndpoint gives the endpoint its addresses, hardware address and routes. A remote endpoint has whatever address it
// is given: it stands for something elsewhere, on any network.
func (m *Model) placeEndpoint(n *network, e *endpoint) error {
	remote := e.remote()
	if len(e.IpConfigurations) == 0 {
		if remote {
			return wire.Errorf(wire.InvalidIP, "a remote endpoint needs an address")
		}
		addr, err := m.freeAddr(n)
		if err != nil {
			return err
		}
		e.IpConfigurations = []wire.IpConfig{{IpAddress: addr.String()}}
	}
	e.IpConfigurations = slices.Clone(e.IpConfigurations)
	for i := range e.IpConfigurations {
		c := &e.IpConfigurations[i]
		addr, err := netip.ParseAddr(c.IpAddress)
		if err != nil || addr.Zone() != "" {
			return wire.Errorf(wire.InvalidIP, "address %q", c.IpAddress)
		}
		c.IpAddress = addr.String()
		if remote {
			continue
		}
		subnet, err := m.checkAddr(n, addr)
		if err != nil {
			return err
		}
		c.PrefixLength = uint8(subnet.Bits())
	}
	mac, err := m.hardwareAddr(e)
	if err != nil {
		return err
	}
	e.MacAddress = mac
	for _, r := range e.Routes {
		if _, _, err := parseRoute(r); err != nil {
			return err
		}
	}
	if len(e.Routes) == 0 && !remote {
		for _, via := range n.gateways() {
			e.Routes = append(e.Routes, wire.Route{NextHop: via.String(), DestinationPrefix: defaultRoute(via)})
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

// parseRoute reads a route; a next hop of nothing or 0.0.0.0 is none, as HNS' own host endpoints carry it.
func parseRoute(r wire.Route) (dst netip.Prefix, via netip.Addr, err error) {
	if dst, err = netip.ParsePrefix(r.DestinationPrefix); err != nil {
		return dst, via, wire.Errorf(wire.InvalidEndpoint, "route to %q", r.DestinationPrefix)
	}
	if r.NextHop == "" {
		return dst, via, nil
	}
	if via, err = netip.ParseAddr(r.NextHop); err != nil {
		return dst, via, wire.Errorf(wire.InvalidEndpoint, "next hop %q", r.NextHop)
	}
	if via.IsUnspecified() {
		via = netip.Addr{}
	}
	return dst.Masked(), via, nil
}

// checkAddr finds the subnet of an address that a local endpoint wants, and that nobody has it.
func (m *Model) checkAddr(n *network, addr netip.Addr) (netip.Prefix, error) {
	i := slices.IndexFunc(n.prefixes(), func(p netip.Prefix) bool { return p.Contains(addr) })
	if i < 0 {
		return netip.Prefix{}, wire.Errorf(wire.InvalidIP, "address %s, subnets %v", addr, n.prefixes())
	}
	subnet := n.prefixes()[i]
	if reserved(subnet, addr) || slices.Contains(n.gateways(), addr) {
		return subnet, wire.Errorf(wire.AddrInvalidOrReserved, "address %s", addr)
	}
	for _, other := range m.endpoints {
		if !other.remote() && other.HostComputeNetwork == n.ID && other.has(addr) {
			return subnet, wire.Errorf(wire.AddrInvalidOrReserved, "address %s is that of endpoint %s", addr, other.ID)
		}
	}
	return subnet, nil
}

func (e *endpoint) has(addr netip.Addr) bool {
	text := addr.String()
	return slices.ContainsFunc(e.IpConfigurations, func(c wire.IpConfig) bool { return c.IpAddress == text })
}

// reserved says that the address is the subnet's first or, of IPv4, its last.
func reserved(p netip.Prefix, addr netip.Addr) bool {
	return addr == p.Masked().Addr() || addr.Is4() && !p.Contains(addr.Next())
}

// freeAddr is the first address of the network's IPv4 subnets that is nobody's.
func (m *Model) freeAddr(n *network) (netip.Addr, error) {
	for _, p := range n.prefixes() {
		for addr := p.Addr().Next(); p.Contains(addr) && addr.Is4(); addr = addr.Next() {
			if _, err := m.checkAddr(n, addr); err == nil {
				return addr, nil
			}
		}
	}
	return netip.Addr{}, wire.Errorf(wire.AddrInvalidOrReserved, "no address is free in %v", n.prefixes())
}

// hardwareAddr is the endpoint's hardware address as HNS writes it: the one asked for, or one below Hyper-V's 00-15-5D.
func (m *Model) hardwareAddr(e *endpoint) (string, error) {
	if e.MacAddress != "" {
		mac, err := net.ParseMAC(strings.ReplaceAll(e.MacAddress, "-", ":"))
		if err != nil || len(mac) != 6 || mac[0]&1 != 0 {
			return "", wire.Errorf(wire.InvalidEndpoint, "hardware address %q", e.MacAddress)
		}
		text := formatMAC(mac)
		if !e.remote() && m.hasMAC(text) {
			return "", wire.Errorf(wire.InvalidEndpoint, "hardware address %s is in use", text)
		}
		return text, nil
	}
	for sum := sha256.Sum256([]byte(e.ID)); ; sum = sha256.Sum256(sum[:]) {
		text := formatMAC(net.HardwareAddr{0x00, 0x15, 0x5d, sum[0], sum[1], sum[2]})
		if e.remote() || !m.hasMAC(text) {
			return text, nil
		}
	}
}

func formatMAC(mac net.HardwareAddr) string {
	return strings.ToUpper(strings.ReplaceAll(mac.String(), ":", "-"))
}

func (m *Model) hasMAC(text string) bool {
	for _, e := range m.endpoints {
		if !e.remote() && e.MacAddress == text {
			return true
		}
	}
	return false
}

// policyTypes are the endpoint policies that HNS has, and whether the plan carries them out yet.
func policyTypes() map[string]bool {
	return map[string]bool{
		"OutBoundNAT": true, "SDNRoute": true, "PortMapping": true,
		"ACL": false, "QOS": false, "L2Driver": false, "L4Proxy": false, "L4WFPPROXY": false,
		"PortName": false, "EncapOverhead": false, "Iov": false, "ProviderAddress": false, "InterfaceConstraint": false, "TierAcl": false,
	}
}

// checkPolicies refuses what HNS refuses: types that there are not, and settings that make no sense. A policy that is
// known and not carried out yet is kept with the endpoint.
func checkPolicies(policies []wire.Policy) error {
	known := policyTypes()
	for _, p := range policies {
		if _, ok := known[p.Type]; !ok {
			return wire.Errorf(wire.InvalidPolicyType, "policy type %q", p.Type)
		}
		var err error
		switch p.Type {
		case "OutBoundNAT":
			_, err = parseNAT(p)
		case "SDNRoute":
			_, err = parseSDNRoute(p)
		case "PortMapping":
			_, err = parsePortMapping(p)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *Model) modifyEndpoint(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}
	e := *m.endpoints[id]
	switch {
	case req.ResourceType != "Policy":
		return wire.Errorf(wire.RequestUnsupported, "modify of an endpoint's %q", req.ResourceType)
	case e.remote():
		return wire.Errorf(wire.InvalidRemoteOperation, "endpoint %s", id)
	}
	policies, err := modifyPolicies(e.Policies, req)
	if err != nil {
		return err
	}
	if err := checkPolicies(policies); err != nil {
		return err
	}
	e.Policies = policies
	put(m, m.endpoints, id, &e)
	return nil
}

// deleteEndpoint removes the endpoint, from its namespace and from load balancers too.
func (m *Model) deleteEndpoint(id string) {
	m.detach(id)
	for lbID, lb := range m.loadBalancers {
		if slices.Contains(lb.HostComputeEndpoints, id) {
			changed := *lb
			changed.HostComputeEndpoints = slices.DeleteFunc(slices.Clone(lb.HostComputeEndpoints), func(e string) bool { return e == id })
			put(m, m.loadBalancers, lbID, &changed)
		}
	}
	put(m, m.endpoints, id, nil)
}

// shown is the endpoint as a query sees it: with the containers that share it.
func (m *Model) shown(e *endpoint) *wire.Endpoint {
	out := e.Endpoint
	if shared := m.containersOf(e); len(shared) > 0 {
		out.Health = &wire.Health{Extra: &wire.Extra{SharedContainers: shared}}
	}
	return &out
}

func (m *Model) containersOf(e *endpoint) []string {
	ns, ok := m.namespaces[e.HostComputeNamespace]
	if !ok {
		return nil
	}
	var ids []string
	for _, r := range ns.Resources {
		if r.Type == wire.ResourceContainer {
			ids = append(ids, r.Data.ID)
		}
	}
	return ids
}

func interfaceName(i int) string { return fmt.Sprintf("eth%d", i) }
