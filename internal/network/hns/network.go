package hns

import (
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

var schema2 = wire.SchemaVersion{Major: 2, Minor: 0} //nolint:gochecknoglobals // a constant of struct type

func (m *Model) createNetwork(id string, r Request) (string, error) {
	var n network
	if err := decode(r.text(0), &n.Network); err != nil {
		return "", err
	}
	id, err := m.networks.pick(id, n.ID)
	if err != nil {
		return "", err
	}

	n.ID = id
	n.SchemaVersion = schema2
	n.Health = nil
	if n.Type, err = networkType(n.Type); err != nil {
		return "", err
	}
	if n.Name != "" && len(m.named[ref{Networks, n.Name}]) > 0 {
		return "", wire.Errorf(wire.NetworkAlreadyExists, "name %.64q", n.Name)
	}

	if namesNoSubnet(n.Ipams) {
		if err := m.leftToHNS(&n); err != nil {
			return "", err
		}
	}
	if n.Type == wire.NetworkOverlay {
		m.giveProvider(&n)
	}

	if err := m.setPolicies(&n, n.Policies); err != nil {
		return "", err
	}
	if err := m.checkSubnets(&n); err != nil {
		return "", err
	}
	if err := checkPool(n.MacPool); err != nil {
		return "", err
	}

	m.networks.put(id, &n)
	return id, nil
}

// networkType returns the type as HNS writes it; the empty type, the schema's zero value, is NAT.
func networkType(t string) (string, error) {
	for _, known := range []string{
		wire.NetworkL2Bridge, wire.NetworkL2Tunnel, wire.NetworkOverlay,
		wire.NetworkTransparent, wire.NetworkNAT,
	} {
		if strings.EqualFold(t, known) {
			return known, nil
		}
	}

	switch {
	case t == "":
		return wire.NetworkNAT, nil
	case strings.EqualFold(t, wire.NetworkICS):
		return "", wire.Errorf(wire.ICSDisabled, "")
	}

	return "", wire.Errorf(wire.InvalidNetworkType, "type %.64q", t)
}

// subnet is a subnet of a network with its policies read.
type subnet struct {
	prefix   netip.Prefix // as given: the address need not be the first
	gateways []netip.Addr
	vsid     uint32
	vlan     uint32
}

func (m *Model) checkSubnets(n *network) error {
	all, err := readSubnets(n)
	if err != nil {
		return err
	}

	var seen []netip.Prefix
	n.Apart = 0
	for _, s := range all {
		if s.prefix.Addr().Is6() {
			if n.Type == wire.NetworkOverlay || !m.has(dualStack) {
				return wire.Errorf(wire.InvalidNetwork, "IPv6 subnet %s on a network of type %s, HNS %d.%d",
					s.prefix, n.Type, m.cfg.Version.Major, m.cfg.Version.Minor)
			}
		}
		if len(s.gateways) == 0 && n.Type == wire.NetworkNAT {
			return wire.Errorf(wire.InvalidNetwork, "subnet %s of a NAT network has no next hop", s.prefix)
		}

		for _, other := range seen {
			if other.Overlaps(s.prefix) {
				return wire.Errorf(wire.InvalidNetwork, "subnet %s overlaps %s", s.prefix, other)
			}
		}

		seen = append(seen, s.prefix)
		if err := checkIsolation(n.Type, s, all[0]); err != nil {
			return err
		}
		if err := m.checkBeside(n, s); err != nil {
			return err
		}
	}

	if len(seen) == 0 && n.Type != wire.NetworkTransparent {
		return wire.Errorf(wire.InvalidNetwork, "a network of type %s needs a subnet", n.Type)
	}

	return nil
}

// checkBeside checks a subnet of a new network against those of the networks that are there, and sets its Apart. Two
// overlays may have the same addresses if their VSIDs differ
// (https://kubernetes.io/docs/concepts/services-networking/windows-networking/#network-modes). A VSID is one network's
// alone, as the hosts of an overlay know it by nothing else. Microsoft documents no error for either; both get the one
// of a network that is not valid.
func (m *Model) checkBeside(n *network, s subnet) error {
	for _, other := range m.networks.objects {
		for _, o := range other.subnets() {
			overlays := n.Type == wire.NetworkOverlay && other.Type == wire.NetworkOverlay
			if overlays && o.vsid == s.vsid {
				return wire.Errorf(wire.InvalidNetwork, "VSID %d is that of network %s", s.vsid, other.ID)
			}

			if !o.prefix.Overlaps(s.prefix) {
				continue
			}
			if !overlays {
				return wire.Errorf(wire.InvalidNetwork, "subnet %s overlaps %s", s.prefix, o.prefix)
			}
			if other.Apart != 0 || n.Apart != 0 {
				continue
			}

			var free bool
			if n.Apart, free = m.freeApart(); !free {
				return wire.Errorf(wire.InvalidNetwork, "subnet %s overlaps %s, as those of %d networks do", s.prefix,
					o.prefix, netplan.MaxApart)
			}
		}
	}

	return nil
}

// freeApart returns the lowest number of a namespace that no network has for itself.
func (m *Model) freeApart() (uint16, bool) {
	used := map[uint16]bool{}
	for _, n := range m.networks.objects {
		used[n.Apart] = true
	}
	for i := uint16(1); i <= netplan.MaxApart; i++ {
		if !used[i] {
			return i, true
		}
	}
	return 0, false
}

// Bounds of a VSID: a number below 4096 would be a VLAN's, and VXLAN has 24 bits (RFC 7348). Windows' lower bound:
// https://github.com/flannel-io/flannel/blob/00014d0926a2b31fc53901d4951c71d69f24f3bf/pkg/backend/vxlan/vxlan_windows.go.
const minVSID, maxVSID = 4096, 1<<24 - 1

// maxVLAN is the highest tag of IEEE 802.1Q.
const maxVLAN = 4094

func checkIsolation(networkType string, s, first subnet) error {
	switch {
	case s.vlan > maxVLAN:
		return wire.Errorf(wire.EInvalidArg, "VLAN %d, at most %d", s.vlan, maxVLAN)
	case networkType != wire.NetworkOverlay:
		return nil
	case s.vsid < minVSID || s.vsid > maxVSID:
		return wire.Errorf(wire.EInvalidArg, "VSID %d of subnet %s; an overlay's is %d to %d", s.vsid, s.prefix,
			minVSID, maxVSID)
	case s.vsid != first.vsid:
		return wire.Errorf(wire.EInvalidArg, "VSIDs %d and %d on one network", first.vsid, s.vsid)
	}

	return nil
}

func readSubnets(n *network) ([]subnet, error) {
	var all []subnet
	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			if s.IpAddressPrefix == "" && len(s.Routes) == 0 {
				continue
			}
			one, err := readSubnet(s)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
	}

	return all, nil
}

func readSubnet(s wire.Subnet) (subnet, error) {
	var out subnet
	p, err := netip.ParsePrefix(s.IpAddressPrefix)
	if err != nil || p.Addr().Is4In6() || !hosts(p.Masked().Addr()) {
		return out, wire.Errorf(wire.InvalidNetwork, "subnet %.64q", s.IpAddressPrefix)
	}

	out.prefix = p
	for _, r := range s.Routes {
		via, err := netip.ParseAddr(r.NextHop)
		if err != nil || !p.Contains(via) {
			return out, wire.Errorf(wire.InvalidNetwork, "next hop %.64q is not in subnet %s", r.NextHop, p)
		}
		out.gateways = append(out.gateways, via)
	}

	for _, policy := range s.Policies {
		id, err := setting[wire.IsolationSetting](policy.Settings)
		if err != nil {
			return out, err
		}

		switch policy.Type {
		case wire.PolicyVSID:
			out.vsid = id.IsolationId
		case wire.PolicyVLAN:
			out.vlan = id.IsolationId
		default:
			return out, wire.Errorf(wire.InvalidPolicyType, "policy type %.64q of a subnet", policy.Type)
		}
	}

	return out, nil
}

// hosts reports whether a subnet that begins with the address can be one of hosts: not of loopback, multicast or
// addresses of a link alone, which no router forwards.
func hosts(a netip.Addr) bool {
	return !a.IsLoopback() && !a.IsMulticast() && !a.IsLinkLocalUnicast() &&
		a.As16() != netip.IPv6Unspecified().As16() &&
		!netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8).Contains(a)
}

// subnets returns the subnets of a stored network, which have been checked.
func (n *network) subnets() []subnet {
	all, _ := readSubnets(n)
	return all
}

func (m *Model) allSubnets() []netip.Prefix {
	var all []netip.Prefix
	for _, n := range m.networks.objects {
		all = append(all, n.prefixes()...)
	}
	return all
}

func (n *network) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, s := range n.subnets() {
		all = append(all, s.prefix.Masked())
	}
	return all
}

// gateways returns the next hops of the subnets' routes; no endpoint gets one of these addresses.
func (n *network) gateways() []netip.Addr {
	var all []netip.Addr
	for _, s := range n.subnets() {
		all = append(all, s.gateways...)
	}
	return all
}

// anySubnet is how Docker names the subnet that HNS is to choose
// (https://github.com/moby/moby/blob/v28.5.2/libnetwork/ipams/windowsipam/windowsipam.go).
const anySubnet = "0.0.0.0/0"

// namesNoSubnet reports whether a network leaves its subnet to HNS.
func namesNoSubnet(ipams []wire.Ipam) bool {
	for _, ipam := range ipams {
		for _, s := range ipam.Subnets {
			if s.IpAddressPrefix != "" && (s.IpAddressPrefix != anySubnet || len(s.Routes) > 0) {
				return false
			}
		}
	}
	return true
}

// leftToHNS chooses the subnet of a network that names none. Only those of the type nat get one: a transparent network
// has none, and others need one.
func (m *Model) leftToHNS(n *network) error {
	if n.Type == wire.NetworkNAT {
		return m.giveSubnet(n)
	}

	n.Ipams = slices.Clone(n.Ipams)
	for i := range n.Ipams {
		n.Ipams[i].Subnets = slices.DeleteFunc(slices.Clone(n.Ipams[i].Subnets), func(s wire.Subnet) bool {
			return s.IpAddressPrefix == anySubnet
		})
	}
	return nil
}

// giveSubnet chooses the subnet of a NAT network that names none: the first /20 of 172.16.0.0/12 that is free.
func (m *Model) giveSubnet(n *network) error {
	used := m.allSubnets()
	for _, a := range m.cfg.Addresses {
		used = append(used, netip.PrefixFrom(a, a.BitLen()))
	}

	for third := 16; third < 32; third++ {
		for fourth := 0; fourth < 256; fourth += 16 {
			p := netip.PrefixFrom(netip.AddrFrom4([4]byte{172, byte(third), byte(fourth), 0}), 20)
			if slices.ContainsFunc(used, p.Overlaps) {
				continue
			}
			via := wire.Route{NextHop: p.Addr().Next().String(), DestinationPrefix: "0.0.0.0/0"}
			n.Ipams = []wire.Ipam{{
				Type:    "Static",
				Subnets: []wire.Subnet{{IpAddressPrefix: p.String(), Routes: []wire.Route{via}}},
			}}

			return nil
		}
	}

	return wire.Errorf(wire.InvalidNetwork, "no subnet of 172.16.0.0/12 is free")
}

func (m *Model) modifyNetwork(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}

	n := *m.networks.objects[id]
	switch req.ResourceType {
	case "Policy":
		policies, err := modifyPolicies(n.Policies, req)
		if err != nil {
			return err
		}
		if err := m.setPolicies(&n, policies); err != nil {
			return err
		}

	case "DNS":
		var dns *wire.Dns
		if err := decode(string(req.Settings), &dns); err != nil {
			return err
		}
		if req.RequestType == "Remove" {
			dns = nil
		}
		n.Dns = dns

	default:
		return wire.Errorf(wire.RequestUnsupported, "modify of a network's %.64q", req.ResourceType)
	}

	m.networks.put(id, &n)
	return m.checkReach(m.networks.objects[id])
}

// checkReach checks that the network's changed policies are valid for the endpoints on it, whose rules name sets.
func (m *Model) checkReach(n *network) error {
	for eid := range m.onNetwork[n.ID] {
		e := m.endpoints.objects[eid]
		if !m.dirty[ref{Endpoints, eid}] || e.remote() {
			continue
		}
		if _, err := m.readPolicies(n, e.Policies); err != nil {
			return err
		}
	}
	return nil
}

// modifyPolicies carries out Add, Remove and Update of policies. Remove finds a policy by type and settings; Add
// replaces an equal one.
func modifyPolicies(have []wire.Policy, req wire.Modify) ([]wire.Policy, error) {
	var change wire.Policies
	if len(req.Settings) > 0 {
		if err := decode(string(req.Settings), &change); err != nil {
			return nil, err
		}
	}

	named := make(map[string]bool, len(change.Policies))
	for _, p := range change.Policies {
		if req.RequestType == "Update" {
			named[p.Type] = true
		} else {
			named[normal(p)] = true
		}
	}

	kept := slices.DeleteFunc(slices.Clone(have), func(p wire.Policy) bool { return named[normal(p)] || named[p.Type] })
	switch req.RequestType {
	case "Add", "Update":
		return append(kept, change.Policies...), nil
	case "Remove":
		return kept, nil
	case "Refresh":
		return have, nil
	}

	return nil, wire.Errorf(wire.EInvalidArg, "request type %.64q", req.RequestType)
}

// normal returns a policy's JSON with its fields in order, so that two policies that mean the same are equal.
func normal(p wire.Policy) string {
	v, err := setting[any](p.Settings)
	if err != nil {
		return encode(p)
	}
	return encode(p.Type) + encode(v)
}

// deleteNetwork removes the network with its endpoints, as HNS does, unless a pod still uses one.
func (m *Model) deleteNetwork(id string) error {
	all := m.onNetwork.sorted(id)
	for _, eid := range all {
		if ns := m.endpoints.objects[eid].HostComputeNamespace; ns != "" && !m.hosts[ns] {
			return wire.Errorf(wire.EntityHasReferences, "endpoint %s is attached to namespace %s", eid, ns)
		}
	}
	for _, eid := range all {
		m.deleteEndpoint(eid)
	}
	m.networks.put(id, nil)
	return nil
}
