package hns

import (
	"fmt"
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/network/netplan"
)

// sparing leaves the host's own ports out of load balancers: a virtual address that is the host's own, and with it a
// load balancer that has no other, or that is for all addresses of the host. Windows takes such a load balancer, and
// then nobody reaches the program behind it any more: of a kubelet neither logs nor exec work.
func (m *Model) sparing(all []netplan.LoadBalancer) []netplan.LoadBalancer {
	if !slices.ContainsFunc(all, m.takesOwnPort) {
		return all
	}

	var left []netplan.LoadBalancer
	for _, lb := range all {
		if !m.takesOwnPort(lb) {
			left = append(left, lb)
			continue
		}
		lb.VIPs = slices.DeleteFunc(slices.Clone(lb.VIPs), m.isOwn)
		if len(lb.VIPs) > 0 {
			left = append(left, lb)
		}
	}

	return left
}

func (m *Model) isOwn(a netip.Addr) bool { return slices.Contains(m.cfg.Addresses, a) }

// takesOwnPort reports whether a load balancer is for an own port at an address of the host.
func (m *Model) takesOwnPort(lb netplan.LoadBalancer) bool {
	return lb.Protocol == netplan.TCP && slices.Contains(m.cfg.OwnPorts, lb.Port) &&
		(len(lb.VIPs) == 0 || slices.ContainsFunc(lb.VIPs, m.isOwn))
}

// Withheld says which load balancers and port mappings are not carried out, or not for all of their addresses, since
// they would take the host's own ports.
func (m *Model) Withheld() []string {
	if len(m.cfg.OwnPorts) == 0 {
		return nil
	}

	var found []string
	look := func(what, id string, all []netplan.LoadBalancer) {
		for _, lb := range all {
			if m.takesOwnPort(lb) {
				found = append(found, fmt.Sprintf("%s %s does not get TCP port %d of the host, which is its kubelet's", what, id,
					lb.Port))
			}
		}
	}

	for id, lb := range m.loadBalancers.objects {
		look("load balancer", id, m.balancers(lb))
	}

	for id, e := range m.endpoints.objects {
		if n := m.networks.objects[e.HostComputeNetwork]; n != nil {
			if policies, err := m.readPolicies(n, e.Policies); err == nil {
				look("endpoint", id, e.portMappings(policies.maps))
			}
		}
	}

	slices.Sort(found)
	return slices.Compact(found)
}
