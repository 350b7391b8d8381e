package hns

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

func (m *Model) v1Endpoints(r v1Request) (any, error) {
	switch {
	case r.method == "GET" && r.id == "":
		return m.allEndpointsV1(), nil
	case r.method == "POST" && r.id == "":
		return m.v1CreateEndpoint(r.body)
	case !m.endpoints.has(r.id):
		return nil, wire.Errorf(wire.ENotFound, "endpoint %s", r.id)
	}

	switch r.method + " " + r.action {
	case "GET ":
		return m.endpointV1(r.id), nil
	case "DELETE ":
		out := m.endpointV1(r.id)
		m.deleteEndpoint(r.id)
		return out, nil

	case "POST ":
		if err := m.v1UpdateEndpoint(r.id, r.body); err != nil {
			return nil, err
		}
		return m.endpointV1(r.id), nil
	case "POST attach", "POST detach":
		return wire.V1Reply{Success: true}, m.v1Attach(r.id, r.action, r.body)
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s %.64s of an endpoint", r.method, r.action)
}

func (m *Model) v1CreateEndpoint(body string) (any, error) {
	var in wire.V1Endpoint
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	netID, err := canonical(in.VirtualNetwork)
	if err != nil {
		return nil, err
	}

	out := wire.Endpoint{
		Name:       in.Name,
		MacAddress: in.MacAddress,
		Dns:        dnsFromV1(in.DNSDomain, in.DNSSuffix, in.DNSServerList),
	}

	for _, a := range []string{in.IPAddress, in.IPv6Address} {
		if a != "" {
			out.IpConfigurations = append(out.IpConfigurations, wire.IpConfig{
				IpAddress:    a,
				PrefixLength: in.PrefixLength,
			})
		}
	}

	for _, r := range []wire.Route{
		{
			NextHop:           in.GatewayAddress,
			DestinationPrefix: "0.0.0.0/0",
		}, {NextHop: in.GatewayAddressV6, DestinationPrefix: "::/0"},
	} {
		if r.NextHop != "" {
			out.Routes = append(out.Routes, r)
		}
	}

	if in.IsRemoteEndpoint {
		out.Flags = wire.EndpointRemote
	}
	if out.Policies, err = policiesFromV1(in.Policies); err != nil {
		return nil, err
	}

	if in.EncapOverhead != 0 {
		s := encode(wire.EncapOverheadSetting{Overhead: in.EncapOverhead})
		out.Policies = append(out.Policies, wire.Policy{Type: wire.PolicyEncapOverhead, Settings: json.RawMessage(s)})
	}

	reply, err := m.create(Endpoints, Request{
		Object: netID,
		New:    in.ID,
		Text:   []string{encode(out)},
	})
	if err != nil {
		return nil, err
	}

	if in.EnableInternalDNS {
		m.useInternalDNS(reply.Object)
	}
	return m.endpointV1(reply.Object), nil
}

// useInternalDNS has an endpoint ask its gateway for names first: dockerd.exe answers there, and asks the servers
// behind it in the list for those that it does not know
// (https://github.com/moby/moby/blob/v28.5.2/libnetwork/network_windows.go, addEpToResolverImpl). They are the
// endpoint's own, or the host's.
func (m *Model) useInternalDNS(id string) {
	e := *m.endpoints.objects[id]
	dns := wire.Dns{}
	if e.Dns != nil {
		dns = *e.Dns
	}

	behind := dns.ServerList
	if len(behind) == 0 && m.cfg.NameServers != nil {
		for _, a := range m.cfg.NameServers() {
			behind = append(behind, a.String())
		}
	}

	dns.ServerList = nil
	for _, r := range e.Routes {
		if r.DestinationPrefix == "0.0.0.0/0" || r.DestinationPrefix == "::/0" {
			dns.ServerList = append(dns.ServerList, r.NextHop)
		}
	}

	dns.ServerList = append(dns.ServerList, behind...)
	e.Dns, e.InternalDNS = &dns, true
	m.endpoints.put(id, &e)
}

// v1UpdateEndpoint takes over the policies: of each type that the request has, and access rules in any case. Policies
// of other types stay. hnslib's ApplyACLPolicy and ApplyProxyPolicy (v0.1.2, internal/hns/hnsendpoint.go) send the
// endpoint that they are called for. Calico's Felix calls the first for one with an ID alone, and OutBoundNAT and ROUTE
// stay on Windows (https://github.com/projectcalico/calico/issues/4682).
func (m *Model) v1UpdateEndpoint(id, body string) error {
	var in wire.V1Endpoint
	if err := decode(body, &in); err != nil {
		return err
	}
	e := *m.endpoints.objects[id]
	if e.remote() {
		return wire.Errorf(wire.InvalidRemoteOperation, "endpoint %s", id)
	}

	policies, err := policiesFromV1(in.Policies)
	if err != nil {
		return err
	}
	replaced := map[string]bool{wire.PolicyACL: true}
	for _, p := range policies {
		replaced[p.Type] = true
	}

	kept := slices.DeleteFunc(slices.Clone(e.Policies), func(p wire.Policy) bool { return replaced[p.Type] })
	e.Policies = append(kept, policies...)
	return m.replaceEndpoint(&e)
}

// systemNotFound is HCS_E_SYSTEM_NOT_FOUND (winerror.h): there is no such container.
const systemNotFound wire.HRESULT = 0xc037010e

func (m *Model) v1Attach(id, action, body string) error {
	var req wire.V1Attach
	if err := decode(body, &req); err != nil {
		return err
	}

	target := m.host
	switch req.SystemType {
	case "Host":
	case "Container":
		spaces := m.holding.sorted(strings.ToLower(req.ContainerId))
		if len(spaces) == 0 {
			return wire.Errorf(systemNotFound, "container %.64q", req.ContainerId)
		}
		target = spaces[0]
	default:
		return wire.Errorf(wire.RequestUnsupported, "%s of an endpoint to a %.64q", action, req.SystemType)
	}

	if action == "detach" {
		m.detach(id)
		return nil
	}

	return m.attach(target, id)
}

// allEndpointsV1 returns all endpoints as JSON; each is encoded only once.
func (m *Model) allEndpointsV1() json.RawMessage {
	var b strings.Builder
	b.WriteByte('[')
	for i, id := range m.endpoints.ids {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(m.endpointV1(id))
	}
	b.WriteByte(']')
	return json.RawMessage(b.String())
}

func (m *Model) endpointV1(id string) json.RawMessage {
	a := m.answers[ref{Endpoints, id}]
	if a.v1 == "" {
		a.v1 = encode(m.makeEndpointV1(id))
		m.answers[ref{Endpoints, id}] = a
	}
	return json.RawMessage(a.v1)
}

// makeEndpointV1 returns the endpoint as HNS version 1 shows it. For network statistics the kubelet reads its ID, name
// and SharedContainers (kubernetes v1.36.3, pkg/kubelet/stats/cri_stats_provider_windows.go).
func (m *Model) makeEndpointV1(id string) wire.V1Endpoint {
	e := m.endpoints.objects[id]
	out := wire.V1Endpoint{
		ID:               e.ID,
		Name:             e.Name,
		VirtualNetwork:   e.HostComputeNetwork,
		MacAddress:       e.MacAddress,
		IsRemoteEndpoint: e.remote(),

		EnableInternalDNS: e.InternalDNS,

		State:            wire.V1StateCreated,
		SharedContainers: m.containersOf(e),
		Policies:         policiesToV1(e.Policies),
	}

	if n, ok := m.networks.objects[e.HostComputeNetwork]; ok {
		out.VirtualNetworkName = n.Name
	}

	for _, c := range e.IpConfigurations {
		if addr, err := netip.ParseAddr(c.IpAddress); err == nil && addr.Is6() {
			out.IPv6Address, out.IPv6PrefixLength = c.IpAddress, c.PrefixLength
		} else {
			out.IPAddress, out.PrefixLength = c.IpAddress, c.PrefixLength
		}
	}

	for _, r := range e.Routes {
		switch r.DestinationPrefix {
		case "0.0.0.0/0":
			out.GatewayAddress = r.NextHop
		case "::/0":
			out.GatewayAddressV6 = r.NextHop
		}
	}

	if e.Dns != nil {
		out.DNSDomain, out.DNSSuffix = e.Dns.Domain, strings.Join(e.Dns.Search, ",")
		out.DNSServerList = strings.Join(e.Dns.ServerList, ",")
	}

	if ns, ok := m.namespaces.objects[e.HostComputeNamespace]; ok {
		out.State = wire.V1StateAttached
		if len(out.SharedContainers) > 1 {
			out.State = wire.V1StateAttachedSharing
		}
		out.Namespace = namespaceV1(ns)
	}

	return out
}
