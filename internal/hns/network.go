package hns

import (
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/hns/wire"
)

var schema2 = wire.SchemaVersion{Major: 2, Minor: 0} //nolint:gochecknoglobals // a constant of struct type

func (m *Model) createNetwork(id, settings string) (string, error) {
	var n network
	if err := decode(settings, &n.Network); err != nil {
		return "", err
	}
	id, err := m.pick(networks, id, n.ID)
	if err != nil {
		return "", err
	}
	if n.Type == "" {
		n.Type = wire.NetworkNAT // the schema's zero value
	}
	if !strings.EqualFold(n.Type, wire.NetworkL2Bridge) {
		return "", wire.Errorf(wire.InvalidNetworkType, "type %q is not supported yet; L2Bridge is", n.Type)
	}
	n.Type = wire.NetworkL2Bridge
	for _, other := range m.networks {
		if n.Name != "" && other.Name == n.Name {
			return "", wire.Errorf(wire.NetworkAlreadyExists, "name %q", n.Name)
		}
	}
	if n.Adapter, err = m.adapter(n.Policies); err != nil {
		return "", err
	}
	if err := m.checkSubnets(&n); err != nil {
		return "", err
	}
	n.ID, n.SchemaVersion = id, schema2
	put(m, m.networks, id, &n)
	return id, nil
}

// adapter is the host's adapter that the policies name.
func (m *Model) adapter(policies []wire.Policy) (string, error) {
	for _, p := range policies {
		if p.Type != "NetAdapterName" {
			continue
		}
		var s wire.NetAdapterNameSetting
		if err := decode(string(p.Settings), &s); err != nil {
			return "", err
		}
		i := slices.IndexFunc(m.cfg.Adapters, func(a string) bool { return strings.EqualFold(a, s.NetworkAdapterName) })
		if i < 0 {
			return "", wire.Errorf(wire.AdapterNotFound, "adapter %q; the host has %q", s.NetworkAdapterName, m.cfg.Adapters)
		}
		return m.cfg.Adapters[i], nil
	}
	if len(m.cfg.Adapters) == 0 {
		return "", wire.Errorf(wire.AdapterNotFound, "the host has no adapter")
	}
	return m.cfg.Adapters[0], nil
}

func (m *Model) checkSubnets(n *network) error {
	var seen []netip.Prefix
	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			p, err := netip.ParsePrefix(s.IpAddressPrefix)
			if err != nil {
				return wire.Errorf(wire.InvalidNetwork, "subnet %q", s.IpAddressPrefix)
			}
			for _, r := range s.Routes {
				if via, err := netip.ParseAddr(r.NextHop); err != nil || !p.Contains(via) {
					return wire.Errorf(wire.InvalidNetwork, "next hop %q is not in subnet %s", r.NextHop, p)
				}
			}
			for _, other := range append(seen, m.allSubnets()...) {
				if other.Overlaps(p) {
					return wire.Errorf(wire.InvalidNetwork, "subnet %s overlaps %s", p, other)
				}
			}
			seen = append(seen, p)
		}
	}
	if len(seen) == 0 {
		return wire.Errorf(wire.InvalidNetwork, "an L2Bridge network needs a subnet")
	}
	return nil
}

func (m *Model) allSubnets() []netip.Prefix {
	var all []netip.Prefix
	for _, n := range m.networks {
		all = append(all, n.prefixes()...)
	}
	return all
}

func (n *network) prefixes() []netip.Prefix {
	var all []netip.Prefix
	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			if p, err := netip.ParsePrefix(s.IpAddressPrefix); err == nil {
				all = append(all, p.Masked())
			}
		}
	}
	return all
}

// gateways are the next hops of the subnets' default routes; endpoints get none of these addresses.
func (n *network) gateways() []netip.Addr {
	var all []netip.Addr
	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			for _, r := range s.Routes {
				if via, err := netip.ParseAddr(r.NextHop); err == nil {
					all = append(all, via)
				}
			}
		}
	}
	return all
}

func (m *Model) modifyNetwork(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}
	n := *m.networks[id]
	if req.ResourceType != "Policy" {
		return wire.Errorf(wire.RequestUnsupported, "modify of a network's %q", req.ResourceType)
	}
	policies, err := modifyPolicies(n.Policies, req)
	if err != nil {
		return err
	}
	n.Policies = policies
	put(m, m.networks, id, &n)
	return nil
}

// modifyPolicies carries out Add, Remove and Update of policies. A policy is removed by type and settings.
func modifyPolicies(have []wire.Policy, req wire.Modify) ([]wire.Policy, error) {
	var change wire.Policies
	if len(req.Settings) > 0 {
		if err := decode(string(req.Settings), &change); err != nil {
			return nil, err
		}
	}
	switch req.RequestType {
	case "Add":
		return append(slices.Clone(have), change.Policies...), nil
	case "Remove":
		return slices.DeleteFunc(slices.Clone(have), func(p wire.Policy) bool {
			return slices.ContainsFunc(change.Policies, func(c wire.Policy) bool { return encode(c) == encode(p) })
		}), nil
	case "Update":
		kept := slices.DeleteFunc(slices.Clone(have), func(p wire.Policy) bool {
			return slices.ContainsFunc(change.Policies, func(c wire.Policy) bool { return c.Type == p.Type })
		})
		return append(kept, change.Policies...), nil
	case "Refresh":
		return have, nil
	}
	return nil, wire.Errorf(wire.EInvalidArg, "request type %q", req.RequestType)
}

// deleteNetwork removes the network with its endpoints, as HNS does, unless a pod still uses one.
func (m *Model) deleteNetwork(id string) error {
	var all []string
	for eid, e := range m.endpoints {
		if e.HostComputeNetwork != id {
			continue
		}
		if ns, ok := m.namespaces[e.HostComputeNamespace]; ok && ns.Type != wire.NamespaceHostDefault {
			return wire.Errorf(wire.EntityHasReferences, "endpoint %s is attached to namespace %s", eid, ns.ID)
		}
		all = append(all, eid)
	}
	for _, eid := range all {
		m.deleteEndpoint(eid)
	}
	put(m, m.networks, id, nil)
	return nil
}
