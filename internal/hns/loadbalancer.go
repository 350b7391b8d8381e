package hns

import (
	"net/netip"
	"slices"

	"mullion.dev/mullion/internal/hns/wire"
)

func (m *Model) createLoadBalancer(id, settings string) error {
	lb, err := m.readLoadBalancer(id, settings)
	if err != nil {
		return err
	}
	put(m, m.loadBalancers, id, lb)
	return nil
}

// modifyLoadBalancer replaces endpoints, addresses and ports (from HNS 15.5 on kube-proxy updates that way).
func (m *Model) modifyLoadBalancer(id, settings string) error {
	var req wire.Modify
	if err := decode(settings, &req); err != nil {
		return err
	}
	if req.RequestType != "Update" || len(req.Settings) == 0 {
		return wire.Errorf(wire.RequestUnsupported, "%q of a load balancer's %q", req.RequestType, req.ResourceType)
	}
	lb, err := m.readLoadBalancer(id, string(req.Settings))
	if err != nil {
		return err
	}
	put(m, m.loadBalancers, id, lb)
	return nil
}

func (m *Model) readLoadBalancer(id, settings string) (*wire.LoadBalancer, error) {
	var lb wire.LoadBalancer
	if err := decode(settings, &lb); err != nil {
		return nil, err
	}
	lb.ID, lb.SchemaVersion = id, schema2
	if len(lb.PortMappings) == 0 {
		return nil, wire.Errorf(wire.InvalidPolicy, "a load balancer needs a port mapping")
	}
	if len(lb.HostComputeEndpoints) == 0 {
		return nil, wire.Errorf(wire.InvalidPolicy, "a load balancer needs an endpoint")
	}
	for i, e := range lb.HostComputeEndpoints {
		eid, err := canonical(e)
		if err != nil {
			return nil, err
		}
		if _, ok := m.endpoints[eid]; !ok {
			return nil, wire.Errorf(wire.ENotFound, "endpoint %s", eid)
		}
		lb.HostComputeEndpoints[i] = eid
	}
	for i, vip := range lb.FrontendVIPs {
		addr, err := netip.ParseAddr(vip)
		if err != nil || addr.Zone() != "" {
			return nil, wire.Errorf(wire.InvalidIP, "virtual address %q", vip)
		}
		lb.FrontendVIPs[i] = addr.String()
	}
	return &lb, m.checkPorts(&lb)
}

// checkPorts refuses a virtual address and port that another load balancer has.
func (m *Model) checkPorts(lb *wire.LoadBalancer) error {
	for _, p := range lb.PortMappings {
		if p.ExternalPort == 0 || p.InternalPort == 0 || p.Protocol != 6 && p.Protocol != 17 {
			return wire.Errorf(wire.InvalidPolicy, "protocol %d, ports %d and %d", p.Protocol, p.ExternalPort, p.InternalPort)
		}
		for _, other := range m.loadBalancers {
			if other.ID == lb.ID || !sameFront(other, lb) {
				continue
			}
			if slices.ContainsFunc(other.PortMappings, func(o wire.PortMapping) bool {
				return o.Protocol == p.Protocol && o.ExternalPort == p.ExternalPort
			}) {
				return wire.Errorf(wire.PortAlreadyExists, "%v protocol %d port %d: load balancer %s", lb.FrontendVIPs, p.Protocol, p.ExternalPort, other.ID)
			}
		}
	}
	return nil
}

// sameFront says that two load balancers listen on a common address of the same family; none is all of the host's.
func sameFront(a, b *wire.LoadBalancer) bool {
	if len(a.FrontendVIPs) == 0 && len(b.FrontendVIPs) == 0 {
		return a.Flags&wire.LoadBalancerIPv6 == b.Flags&wire.LoadBalancerIPv6
	}
	return slices.ContainsFunc(a.FrontendVIPs, func(v string) bool { return slices.Contains(b.FrontendVIPs, v) })
}

func (m *Model) createRoute(id, settings string) error {
	var r wire.SdnRoute
	if err := decode(settings, &r); err != nil {
		return err
	}
	r.ID, r.SchemaVersion = id, schema2
	if len(r.Setting) == 0 || len(r.HostComputeEndpoints) == 0 {
		return wire.Errorf(wire.InvalidPolicy, "a route needs endpoints and a setting")
	}
	for i, e := range r.HostComputeEndpoints {
		eid, err := canonical(e)
		if err != nil {
			return err
		}
		if _, ok := m.endpoints[eid]; !ok {
			return wire.Errorf(wire.ENotFound, "endpoint %s", eid)
		}
		r.HostComputeEndpoints[i] = eid
	}
	for _, s := range r.Setting {
		if _, _, err := parseRoute(wire.Route{DestinationPrefix: s.DestinationPrefix, NextHop: s.NextHop}); err != nil {
			return err
		}
	}
	put(m, m.routes, id, &r)
	return nil
}
