package hns

import (
	"encoding/json"
	"errors"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// v1 carries out HNSCall, a REST-like call whose answer is an envelope. An error of HNS is in the envelope, and the
// call itself succeeds, as on Windows (hnslib v0.1.2, internal/hns/hnsfuncs.go).
func (m *Model) v1(method, path, body string) (Reply, error) {
	out, err := m.v1Route(strings.ToUpper(method), path, body)
	if err != nil {
		m.Rollback()
		return Reply{Text: V1Error(err)}, nil
	}
	raw, ok := out.(json.RawMessage)
	if !ok {
		raw = json.RawMessage(encode(out))
	}
	return Reply{Text: `{"Success":true,"Output":` + string(raw) + `}`}, nil
}

// V1Error returns the envelope of an error.
func V1Error(err error) string {
	reply := wire.V1Reply{Error: err.Error(), ErrorCode: uint32(wire.EFail)}
	if e, ok := errors.AsType[*wire.Error](err); ok {
		reply.Error, reply.ErrorCode = e.Text(), uint32(e.Code)
	}
	return encode(reply)
}

// v1Request is a call of HNS version 1: the method, and the parts of the path after the kind of object.
type v1Request struct {
	method, id, action, body string
}

func (m *Model) v1Route(method, path, body string) (any, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if method == "GET" && strings.EqualFold(strings.Join(parts, "/"), versionPath) {
		if m.cfg.Version == (wire.Version{}) {
			return nil, wire.Errorf(wire.ENotFound, "%.128s", path)
		}
		return m.cfg.Version, nil
	}

	r := v1Request{method: method, body: body}
	if len(parts) > 1 && parts[1] != "" {
		var err error
		if r.id, err = canonical(parts[1]); err != nil {
			return nil, err
		}
	}

	if len(parts) > 2 {
		r.action = parts[2]
	}
	if p := m.paths[strings.ToLower(parts[0])]; p.do != nil {
		return p.do(m, r)
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s %.128s", method, path)
}

func (m *Model) v1Networks(r v1Request) (any, error) {
	switch {
	case r.method == "GET" && r.id == "":
		all := []wire.V1Network{}
		for _, id := range m.networks.ids {
			all = append(all, m.networkV1(id))
		}
		return all, nil

	case r.method == "POST" && r.id == "":
		var in wire.V1Network
		if err := decode(r.body, &in); err != nil {
			return nil, err
		}
		n, err := networkFromV1(in)
		if err != nil {
			return nil, err
		}

		reply, err := m.create(Networks, Request{New: in.ID, Text: []string{encode(n)}})
		if err != nil {
			return nil, err
		}
		return m.networkV1(reply.Object), nil

	case !m.networks.has(r.id):
		return nil, wire.Errorf(wire.ENotFound, "network %s", r.id)
	case r.method == "GET":
		return m.networkV1(r.id), nil
	case r.method == "DELETE":
		out := m.networkV1(r.id)
		return out, m.deleteNetwork(r.id)

	case r.method == "POST":
		if err := m.v1UpdateNetwork(r.id, r.body); err != nil {
			return nil, err
		}
		return m.networkV1(r.id), nil
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s of a network", r.method)
}

// v1UpdateNetwork adds those policies that the network does not have.
func (m *Model) v1UpdateNetwork(id, body string) error {
	var in wire.V1Network
	if err := decode(body, &in); err != nil {
		return err
	}
	policies, err := policiesFromV1(in.Policies)
	if err != nil {
		return err
	}

	settings := json.RawMessage(encode(wire.Policies{Policies: policies}))
	return m.modifyNetwork(id, encode(wire.Modify{
		ResourceType: "Policy",
		RequestType:  "Add",
		Settings:     settings,
	}))
}

func (m *Model) networkV1(id string) wire.V1Network {
	n := m.networks.objects[id]
	out := wire.V1Network{
		ID:                 n.ID,
		Name:               n.Name,
		Type:               n.Type,
		NetworkAdapterName: n.Adapter,
		Policies:           policiesToV1(n.Policies),
	}

	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			sub := wire.V1Subnet{AddressPrefix: s.IpAddressPrefix, Policies: policiesToV1(s.Policies)}
			if len(s.Routes) > 0 {
				sub.GatewayAddress = s.Routes[0].NextHop
			}
			out.Subnets = append(out.Subnets, sub)
		}
	}

	if n.MacPool != nil {
		for _, r := range n.MacPool.Ranges {
			out.MacPools = append(out.MacPools, wire.V1MacPool(r))
		}
	}
	if n.Dns != nil {
		out.DNSSuffix, out.DNSServerList = strings.Join(n.Dns.Search, ","), strings.Join(n.Dns.ServerList, ",")
	}

	if policies, err := m.readNetworkPolicies(n, n.Policies); err == nil {
		out.SourceMac = policies.mac
	}
	if n.Adapter != "" && len(m.cfg.Addresses) > 0 {
		out.ManagementIP = m.cfg.Addresses[0].String()
	}

	return out
}

func networkFromV1(in wire.V1Network) (wire.Network, error) {
	out := wire.Network{
		ID:   in.ID,
		Name: in.Name,
		Type: in.Type,
		Dns:  dnsFromV1("", in.DNSSuffix, in.DNSServerList),
	}

	var subnets []wire.Subnet
	var err error
	for _, s := range in.Subnets {
		sub := wire.Subnet{IpAddressPrefix: s.AddressPrefix}
		if s.GatewayAddress != "" {
			destination := "0.0.0.0/0"
			if strings.Contains(s.GatewayAddress, ":") {
				destination = "::/0"
			}
			sub.Routes = []wire.Route{{NextHop: s.GatewayAddress, DestinationPrefix: destination}}
		}

		if sub.Policies, err = policiesFromV1(s.Policies); err != nil {
			return out, err
		}
		subnets = append(subnets, sub)
	}

	if len(subnets) > 0 {
		out.Ipams = []wire.Ipam{{Type: "Static", Subnets: subnets}}
	}
	if out.Policies, err = policiesFromV1(in.Policies); err != nil {
		return out, err
	}

	if len(in.MacPools) > 0 {
		out.MacPool = &wire.MacPool{}
		for _, r := range in.MacPools {
			out.MacPool.Ranges = append(out.MacPool.Ranges, wire.MacRange(r))
		}
	}

	add := func(policyType string, v any) {
		out.Policies = append(out.Policies, wire.Policy{Type: policyType, Settings: json.RawMessage(encode(v))})
	}
	if in.NetworkAdapterName != "" {
		add(wire.PolicyNetAdapterName, wire.NetAdapterNameSetting{NetworkAdapterName: in.NetworkAdapterName})
	}
	if in.SourceMac != "" {
		add(wire.PolicySourceMacAddress, wire.SourceMacAddressSetting{SourceMacAddress: in.SourceMac})
	}

	return out, nil
}

func dnsFromV1(domain, suffix, servers string) *wire.Dns {
	if domain == "" && suffix == "" && servers == "" {
		return nil
	}
	return &wire.Dns{
		Domain:     domain,
		Search:     list(suffix),
		ServerList: list(servers),
	}
}

func namespaceV1(n *namespace) *wire.V1Namespace {
	return &wire.V1Namespace{
		ID:            n.ID,
		IsDefault:     n.Type == wire.NamespaceHostDefault,
		ResourceList:  n.Resources,
		CompartmentId: n.NamespaceId,
	}
}

func (m *Model) v1Namespaces(r v1Request) (any, error) {
	if r.id == "" {
		return m.v1AllNamespaces(r)
	}
	n, ok := m.namespaces.objects[r.id]
	if !ok {
		return nil, wire.Errorf(wire.ENotFound, "namespace %s", r.id)
	}

	switch r.method + " " + r.action {
	case "GET ":
		return namespaceV1(n), nil
	case "DELETE ":
		return namespaceV1(n), m.deleteNamespace(r.id)
	case "POST addresource", "POST removeresource":
		var res wire.NamespaceResource
		if err := decode(r.body, &res); err != nil {
			return nil, err
		}
		req := wire.Modify{ResourceType: res.Type, RequestType: "Add"}
		if r.action == "removeresource" {
			req.RequestType = "Remove"
		}

		req.Settings = json.RawMessage(encode(wire.NamespaceModify{EndpointId: res.Data.ID, ContainerId: res.Data.ID}))
		if err := m.modifyNamespace(r.id, encode(req)); err != nil {
			return nil, err
		}

		return namespaceV1(m.namespaces.objects[r.id]), nil
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s %.64s of a namespace", r.method, r.action)
}

func (m *Model) v1AllNamespaces(r v1Request) (any, error) {
	switch r.method {
	case "GET":
		all := []*wire.V1Namespace{}
		for _, id := range m.namespaces.ids {
			all = append(all, namespaceV1(m.namespaces.objects[id]))
		}
		return all, nil

	case "POST":
		var in struct{ IsDefault bool }
		if r.body != "" {
			if err := decode(r.body, &in); err != nil {
				return nil, err
			}
		}

		wanted := wire.Namespace{Type: wire.NamespaceHost}
		if in.IsDefault {
			wanted.Type = wire.NamespaceHostDefault
		}
		reply, err := m.create(Namespaces, Request{Text: []string{encode(wanted)}})
		if err != nil {
			return nil, err
		}

		return namespaceV1(m.namespaces.objects[reply.Object]), nil
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s of namespaces", r.method)
}
