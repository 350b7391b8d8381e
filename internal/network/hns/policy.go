package hns

import (
	"encoding/json"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// endpointPolicy is a type of policy that endpoints may have.
type endpointPolicy struct {
	needs feature
	// read adds to the port what the setting means, or returns what is wrong with it.
	read func(p *portPolicies, setting json.RawMessage) error
}

// endpointPolicies returns the types by name. A policy without a meaning for the plan is only checked for its shape.
func endpointPolicies() map[string]endpointPolicy {
	return map[string]endpointPolicy{
		wire.PolicyOutBoundNAT:         {read: (*portPolicies).outBoundNAT},
		wire.PolicySDNRoute:            {read: (*portPolicies).sdnRoute},
		wire.PolicyPortMapping:         {read: (*portPolicies).portMapping},
		wire.PolicyACL:                 {read: (*portPolicies).accessRule},
		wire.PolicyNetworkACL:          {needs: networkACLs, read: (*portPolicies).accessRule},
		wire.PolicyTierACL:             {needs: tierACLs, read: (*portPolicies).tier},
		wire.PolicyQOS:                 {read: (*portPolicies).qos},
		wire.PolicyL4Proxy:             {read: (*portPolicies).l4Proxy},
		wire.PolicyL4WFPProxy:          {needs: wfpProxy, read: (*portPolicies).wfpProxy},
		wire.PolicyProviderAddress:     {read: (*portPolicies).providerAddress},
		wire.PolicyEncapOverhead:       {read: (*portPolicies).encapOverhead},
		wire.PolicyPortName:            {read: shape[wire.PortNameSetting]},
		wire.PolicyIov:                 {read: shape[wire.IovSetting]},
		wire.PolicyInterfaceConstraint: {read: shape[wire.InterfaceConstraintSetting]},
		wire.PolicyL2Driver:            {read: shape[map[string]any]},
	}
}

// portPolicies is what the policies of an endpoint and its network mean for the endpoint's port.
type portPolicies struct {
	network  *network
	sets     map[string]wire.SetPolicySetting // those of the network, once a rule names one
	expanded int                              // how many addresses came out of sets
	icmp     bool                             // translations carry ICMP

	nat      []netplan.NAT
	routes   []wire.Route
	maps     []portMap
	acl      []netplan.ACL
	egress   uint64 // bits a second
	overhead uint16
	proxies  []netplan.Proxy
	provider netip.Addr
}

type portMap struct {
	wire.PortMappingSetting
	vip netip.Addr // not valid: every address of the host
}

// readPolicies reads the policies of an endpoint, and those of its network that concern its port.
func (m *Model) readPolicies(n *network, policies []wire.Policy) (*portPolicies, error) {
	p := &portPolicies{network: n, icmp: m.cfg.Profile == Modern}
	mapsPort := func(p wire.Policy) bool { return p.Type == wire.PolicyPortMapping }
	if n.Apart != 0 && slices.ContainsFunc(policies, mapsPort) {
		return nil, wire.Errorf(wire.RequestUnsupported, "PortMapping on a network whose subnet another has too")
	}

	for _, list := range [][]wire.Policy{policies, n.portPolicies()} {
		for _, policy := range list {
			t, ok := m.policies[policy.Type]
			if !ok || !m.has(t.needs) {
				return nil, wire.Errorf(wire.InvalidPolicyType, "policy type %.64q", policy.Type)
			}
			if err := t.read(p, policy.Settings); err != nil {
				return nil, err
			}
		}
	}

	return p, nil
}

// setting decodes a policy's setting; a missing one is an empty one.
func setting[T any](raw json.RawMessage) (T, error) {
	var v T
	if len(raw) == 0 || string(raw) == "null" {
		return v, nil
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, wire.Errorf(wire.InvalidPolicy, "%v", err)
	}
	return v, nil
}

func shape[T any](_ *portPolicies, raw json.RawMessage) error {
	_, err := setting[T](raw)
	return err
}

func (p *portPolicies) outBoundNAT(raw json.RawMessage) error {
	s, err := setting[wire.OutBoundNATSetting](raw)
	if err != nil {
		return err
	}
	var nat netplan.NAT
	if s.VirtualIP != "" && p.network.Apart != 0 {
		return wire.Errorf(wire.RequestUnsupported, "OutBoundNAT behind %.64q on a network whose subnet another has too",
			s.VirtualIP)
	}

	if s.VirtualIP != "" {
		if nat.To, err = parseAddr(s.VirtualIP); err != nil {
			return err
		}
	}

	if nat.Except, err = parseNetworks(s.Exceptions); err != nil {
		return err
	}
	if nat.Only, err = parseNetworks(s.Destinations); err != nil {
		return err
	}
	nat.ICMP = p.icmp
	p.nat = append(p.nat, nat)

	return nil
}

func (p *portPolicies) sdnRoute(raw json.RawMessage) error {
	s, err := setting[wire.SDNRouteSetting](raw)
	if err != nil {
		return err
	}
	r := wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop}
	if _, _, err := parseRoute(r); err != nil {
		return wire.Errorf(wire.InvalidPolicy, "SDNRoute to %q via %q", s.DestinationPrefix, s.NextHop)
	}
	p.routes = append(p.routes, r)
	return nil
}

func (p *portPolicies) portMapping(raw json.RawMessage) error {
	s, err := setting[wire.PortMappingSetting](raw)
	if err != nil {
		return err
	}
	if (s.Protocol != uint32(netplan.TCP) && s.Protocol != uint32(netplan.UDP)) || s.InternalPort == 0 ||
		s.ExternalPort == 0 {
		return wire.Errorf(wire.InvalidPolicy, "PortMapping of protocol %d, port %d to %d", s.Protocol, s.ExternalPort,
			s.InternalPort)
	}

	mapped := portMap{PortMappingSetting: s}
	if s.VIP != "" {
		vip, err := parseAddr(s.VIP)
		if err != nil {
			return err
		}
		if !vip.IsUnspecified() {
			mapped.vip = vip
		}
	}

	p.maps = append(p.maps, mapped)
	return nil
}

// firstPort is the first of the ports that are picked, and leastPort the lowest: all are of Windows' dynamic range
// (https://learn.microsoft.com/en-us/troubleshoot/windows-server/networking/default-dynamic-port-range-tcpip-chang).
// Those from firstPort on are beyond Linux' range for clients, so that they are likely to be free on the machine, too.
const (
	firstPort = 61000
	leastPort = 49152
)

// pickPorts gives the port mappings of an endpoint on a nat network that name no port of the host one that is free, as
// dockerd.exe expects it for `-p 80` (https://github.com/moby/moby/blob/v28.5.2/libnetwork/drivers/windows/windows.go,
// CreateEndpoint: it allocates ports itself on networks of other types alone).
func (m *Model) pickPorts(n *network, e *endpoint) error {
	if n.Type != wire.NetworkNAT {
		return nil
	}

	e.Policies = slices.Clone(e.Policies)
	var taken listeners // asked for once: all sockets of the host are looked at for it
	for i, policy := range e.Policies {
		if policy.Type != wire.PolicyPortMapping {
			continue
		}
		s, err := setting[wire.PortMappingSetting](policy.Settings)
		if err != nil {
			return err
		}

		if s.ExternalPort != 0 || s.InternalPort == 0 {
			continue
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(policy.Settings, &fields); err != nil {
			return wire.Errorf(wire.InvalidPolicy, "%v", err)
		}

		if taken == nil {
			if taken, err = m.listeners(); err != nil {
				return err
			}
		}
		port, err := m.pickPort(e, s, taken)
		if err != nil {
			return err
		}
		maps.DeleteFunc(fields, func(name string, _ json.RawMessage) bool {
			return strings.EqualFold(name, "ExternalPort")
		})
		fields["ExternalPort"] = json.RawMessage(strconv.Itoa(int(port)))
		e.Policies[i].Settings = json.RawMessage(encode(fields))
	}

	return nil
}

// pickPort returns a port of the host that nobody listens on, those that are taken and the endpoint's other mappings
// included.
func (m *Model) pickPort(e *endpoint, s wire.PortMappingSetting, taken listeners) (uint16, error) {
	s.ExternalPort = firstPort
	mapping := wire.Policy{Type: wire.PolicyPortMapping, Settings: json.RawMessage(encode(s))}
	one := endpoint{Endpoint: wire.Endpoint{Policies: []wire.Policy{mapping}}}
	at, own := one.fronts(), e.fronts()
	if len(at) == 0 {
		return 0, wire.Errorf(wire.InvalidPolicy, "PortMapping of protocol %d, to port %d", s.Protocol, s.InternalPort)
	}

	const all = math.MaxUint16 + 1 - leastPort
	for i := range all {
		at[0].port = uint16(leastPort + (firstPort-leastPort+i)%all)
		if !slices.Contains(own, at[0]) && m.free(at, e.ID) == nil && !taken.on(at[0]) {
			return at[0].port, nil
		}
	}

	return 0, wire.Errorf(wire.PortAlreadyExists, "no port of protocol %d is free", s.Protocol)
}

// fronts returns what the endpoint's port mappings listen on.
func (e *endpoint) fronts() []front {
	var all []front
	for _, policy := range e.Policies {
		if policy.Type != wire.PolicyPortMapping {
			continue
		}

		var p portPolicies
		if p.portMapping(policy.Settings) == nil {
			s := p.maps[0]
			ipv6 := s.Flags&wire.NATIPv6 != 0 || s.vip.Is6()
			all = append(all, front{
				addr:     s.vip,
				ipv6:     ipv6,
				protocol: s.Protocol,
				port:     s.ExternalPort,
			})
		}
	}

	return all
}

func (p *portPolicies) qos(raw json.RawMessage) error {
	s, err := setting[wire.QOSSetting](raw)
	if err != nil {
		return err
	}
	if s.MaximumOutgoingBandwidthInBytes > math.MaxUint64/8 {
		return wire.Errorf(wire.InvalidPolicy, "%d bytes a second", s.MaximumOutgoingBandwidthInBytes)
	}
	p.egress = 8 * s.MaximumOutgoingBandwidthInBytes
	return nil
}

func (p *portPolicies) providerAddress(raw json.RawMessage) error {
	s, err := setting[wire.ProviderAddressSetting](raw)
	if err != nil {
		return err
	}
	p.provider, err = parseAddr(s.ProviderAddress)
	return err
}

// maxOverhead leaves 576 of an Ethernet packet's 1500 bytes, which every IPv4 host must accept (RFC 791).
const maxOverhead = 924

func (p *portPolicies) encapOverhead(raw json.RawMessage) error {
	s, err := setting[wire.EncapOverheadSetting](raw)
	if err == nil && s.Overhead > maxOverhead {
		err = wire.Errorf(wire.InvalidPolicy, "overhead of %d bytes, at most %d", s.Overhead, maxOverhead)
	}
	p.overhead = s.Overhead
	return err
}

func (p *portPolicies) l4Proxy(raw json.RawMessage) error {
	s, err := setting[wire.L4ProxySetting](raw)
	if err != nil {
		return err
	}
	out := netplan.Proxy{Protocol: netplan.TCP}
	if s.Protocol != 0 {
		out.Protocol = netplan.Protocol(s.Protocol)
	}

	if s.Protocol != 0 && s.Protocol != uint32(netplan.TCP) && s.Protocol != uint32(netplan.UDP) {
		return wire.Errorf(wire.InvalidPolicy, "L4Proxy of protocol %d", s.Protocol)
	}
	if out.Port, err = parsePort(s.Port); err != nil {
		return err
	}

	if s.IP != "" {
		if out.Addr, err = parseAddr(s.IP); err != nil {
			return err
		}
	}

	if s.Destination != "" {
		if out.Remote, err = parseNetworks(strings.Split(s.Destination, ",")); err != nil {
			return err
		}
	}

	if out.Except, err = parseNetworks(s.Exceptions); err != nil {
		return err
	}
	p.proxies = append(p.proxies, out)
	return nil
}

func (p *portPolicies) wfpProxy(raw json.RawMessage) error {
	s, err := setting[wire.L4WFPProxySetting](raw)
	if err != nil {
		return err
	}
	if s.InboundProxyPort == "" && s.OutboundProxyPort == "" {
		return wire.Errorf(wire.InvalidPolicy, "L4WFPPROXY without a proxy's port")
	}

	if s.FilterTuple.Protocols != "" && s.FilterTuple.Protocols != "6" {
		return wire.Errorf(wire.InvalidPolicy, "L4WFPPROXY of protocol %.64q; 6 is possible", s.FilterTuple.Protocols)
	}

	for _, side := range []struct {
		in     bool
		port   string
		ports  string
		except wire.ProxyExceptions
	}{
		{true, s.InboundProxyPort, s.FilterTuple.LocalPorts, s.InboundExceptions},
		{false, s.OutboundProxyPort, s.FilterTuple.RemotePorts, s.OutboundExceptions},
	} {
		if side.port == "" {
			continue
		}

		out := netplan.Proxy{
			In:         side.in,
			Protocol:   netplan.TCP,
			ExceptUser: s.UserSID,
		}
		if out.Port, err = parsePort(side.port); err != nil {
			return err
		}

		if out.Remote, err = parseNetworks(list(s.FilterTuple.RemoteAddresses)); err != nil {
			return err
		}
		if out.Ports, err = parsePorts(side.ports); err != nil {
			return err
		}
		if out.Except, err = parseNetworks(side.except.IpAddressExceptions); err != nil {
			return err
		}

		if out.ExceptPorts, err = parsePorts(strings.Join(side.except.PortExceptions, ",")); err != nil {
			return err
		}
		p.proxies = append(p.proxies, out)
	}

	return nil
}

func parsePort(s string) (uint16, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 16)
	if err != nil || n == 0 {
		return 0, wire.Errorf(wire.InvalidPolicy, "port %.64q", s)
	}
	return uint16(n), nil
}

// parsePorts reads a list such as 80,8000-8080.
func parsePorts(s string) ([]netplan.PortRange, error) {
	var all []netplan.PortRange
	for _, item := range list(s) {
		first, last, isRange := strings.Cut(item, "-")
		if !isRange {
			last = first
		}
		a, err := parsePort(first)
		if err != nil {
			return nil, err
		}

		b, err := parsePort(last)
		if err != nil || b < a {
			return nil, wire.Errorf(wire.InvalidPolicy, "ports %.64q", item)
		}
		all = append(all, netplan.PortRange{First: a, Last: b})
	}

	return all, nil
}

func parseAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(strings.TrimSpace(s))
	if err != nil || a.Zone() != "" {
		return a, wire.Errorf(wire.InvalidPolicy, "address %.64q", s)
	}
	return a.Unmap(), nil
}

// parseNetwork reads an address or a network.
func parseNetwork(s string) (netip.Prefix, bool) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(s)
	return p.Masked(), err == nil
}

func parseNetworks(list []string) ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, s := range list {
		p, ok := parseNetwork(s)
		if !ok {
			return nil, wire.Errorf(wire.InvalidPolicy, "%.64q is neither address nor network", s)
		}
		all = append(all, p)
	}
	return all, nil
}
