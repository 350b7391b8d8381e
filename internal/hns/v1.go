package hns

import (
	"encoding/json"
	"strings"

	"mullion.dev/mullion/internal/hns/wire"
)

// v1 carries out HNSCall: a REST-like call whose answer is an envelope. An error of HNS goes into the envelope and the
// call itself succeeds, as on Windows (hnslib v0.1.2, internal/hns/hnsfuncs.go).
func (m *Model) v1(method, path, body string) (Reply, error) {
	out, err := m.v1Route(strings.ToUpper(method), path, body)
	if err != nil {
		m.Rollback()
		return Reply{Text: V1Error(err)}, nil
	}
	return Reply{Text: encode(wire.V1Reply{Success: true, Output: json.RawMessage(encode(out))})}, nil
}

// V1Error is the envelope of an error.
func V1Error(err error) string {
	reply := wire.V1Reply{Error: err.Error(), ErrorCode: uint32(wire.EFail)}
	if e, ok := err.(*wire.Error); ok { //nolint:errorlint // the model returns them bare
		reply.Error, reply.ErrorCode = e.Text(), uint32(e.Code)
	}
	return encode(reply)
}

func (m *Model) v1Route(method, path, body string) (any, error) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var id, action string
	if len(parts) > 1 {
		id = parts[1]
	}
	if len(parts) > 2 {
		action = parts[2]
	}
	if method == "GET" && strings.EqualFold(strings.Join(parts, "/"), "globals/version") {
		return m.cfg.Version, nil
	}
	if id != "" {
		var err error
		if id, err = canonical(id); err != nil {
			return nil, err
		}
	}
	switch strings.ToLower(parts[0]) {
	case "networks":
		return m.v1Networks(method, id, body)
	case "endpoints":
		return m.v1Endpoints(method, id, action, body)
	case "namespaces":
		return m.v1Namespaces(method, id, action, body)
	case "policylists":
		if method == "GET" && id == "" {
			return []any{}, nil
		}
	}
	return nil, wire.Errorf(wire.ENotImpl, "%s %.128s", method, path)
}

func (m *Model) v1Networks(method, id, body string) (any, error) {
	switch {
	case method == "GET" && id == "":
		all := []wire.V1Network{}
		for _, id := range m.ids(networks) {
			all = append(all, m.networks[id].v1())
		}
		return all, nil
	case method == "POST" && id == "":
		var in wire.V1Network
		if err := decode(body, &in); err != nil {
			return nil, err
		}
		reply, err := m.create(networks, Request{New: in.ID, Text: []string{encode(networkFromV1(in))}})
		if err != nil {
			return nil, err
		}
		return m.networks[reply.Object].v1(), nil
	}
	n, ok := m.networks[id]
	switch {
	case !ok:
		return nil, wire.Errorf(wire.ENotFound, "network %s", id)
	case method == "GET":
		return n.v1(), nil
	case method == "DELETE":
		return n.v1(), m.deleteNetwork(id)
	}
	return nil, wire.Errorf(wire.ENotImpl, "%s of a network", method)
}

func (n *network) v1() wire.V1Network {
	out := wire.V1Network{ID: n.ID, Name: n.Name, Type: n.Type, NetworkAdapterName: n.Adapter}
	for _, ipam := range n.Ipams {
		for _, s := range ipam.Subnets {
			sub := wire.V1Subnet{AddressPrefix: s.IpAddressPrefix}
			if len(s.Routes) > 0 {
				sub.GatewayAddress = s.Routes[0].NextHop
			}
			out.Subnets = append(out.Subnets, sub)
		}
	}
	if n.Dns != nil {
		out.DNSSuffix, out.DNSServerList = strings.Join(n.Dns.Search, ","), strings.Join(n.Dns.ServerList, ",")
	}
	for _, p := range n.Policies {
		out.Policies = append(out.Policies, policyToV1(p))
	}
	return out
}

func networkFromV1(in wire.V1Network) wire.Network {
	out := wire.Network{Name: in.Name, Type: in.Type, Dns: dnsFromV1("", in.DNSSuffix, in.DNSServerList)}
	var subnets []wire.Subnet
	for _, s := range in.Subnets {
		sub := wire.Subnet{IpAddressPrefix: s.AddressPrefix}
		if s.GatewayAddress != "" {
			sub.Routes = []wire.Route{{NextHop: s.GatewayAddress, DestinationPrefix: "0.0.0.0/0"}}
		}
		subnets = append(subnets, sub)
	}
	out.Ipams = []wire.Ipam{{Type: "Static", Subnets: subnets}}
	if in.NetworkAdapterName != "" {
		settings := json.RawMessage(encode(wire.NetAdapterNameSetting{NetworkAdapterName: in.NetworkAdapterName}))
		out.Policies = append(out.Policies, wire.Policy{Type: "NetAdapterName", Settings: settings})
	}
	return out
}

func dnsFromV1(domain, suffix, servers string) *wire.Dns {
	if domain == "" && suffix == "" && servers == "" {
		return nil
	}
	return &wire.Dns{Domain: domain, Search: list(suffix), ServerList: list(servers)}
}

func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}

func (m *Model) v1Endpoints(method, id, action, body string) (any, error) {
	switch {
	case method == "GET" && id == "":
		all := []wire.V1Endpoint{}
		for _, id := range m.ids(endpoints) {
			all = append(all, m.endpointV1(id))
		}
		return all, nil
	case method == "POST" && id == "":
		return m.v1CreateEndpoint(body)
	}
	if _, ok := m.endpoints[id]; !ok {
		return nil, wire.Errorf(wire.ENotFound, "endpoint %s", id)
	}
	switch method + " " + action {
	case "GET ":
		return m.endpointV1(id), nil
	case "DELETE ":
		out := m.endpointV1(id)
		m.deleteEndpoint(id)
		return out, nil
	case "POST attach", "POST detach":
		return wire.V1Reply{Success: true}, m.v1Attach(id, action, body)
	}
	return nil, wire.Errorf(wire.ENotImpl, "%s %s of an endpoint", method, action)
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
	out := wire.Endpoint{Name: in.Name, MacAddress: in.MacAddress, Dns: dnsFromV1(in.DNSDomain, in.DNSSuffix, in.DNSServerList)}
	if in.IPAddress != "" {
		out.IpConfigurations = []wire.IpConfig{{IpAddress: in.IPAddress}}
	}
	if in.GatewayAddress != "" {
		out.Routes = []wire.Route{{NextHop: in.GatewayAddress, DestinationPrefix: "0.0.0.0/0"}}
	}
	if in.IsRemoteEndpoint {
		out.Flags = wire.EndpointRemote
	}
	for _, raw := range in.Policies {
		p, err := policyFromV1(raw)
		if err != nil {
			return nil, err
		}
		out.Policies = append(out.Policies, p)
	}
	reply, err := m.create(endpoints, Request{Object: netID, New: in.ID, Text: []string{encode(out)}})
	if err != nil {
		return nil, err
	}
	return m.endpointV1(reply.Object), nil
}

func (m *Model) v1Attach(id, action, body string) error {
	var req wire.V1Attach
	if err := decode(body, &req); err != nil {
		return err
	}
	if req.SystemType != "Host" {
		return wire.Errorf(wire.RequestUnsupported, "%s of an endpoint to a %q; pods use namespaces", action, req.SystemType)
	}
	if action == "detach" {
		m.detach(id)
		return nil
	}
	return m.attach(m.hostNamespace(), id)
}

// endpointV1 is the endpoint as HNS version 1 shows it; the kubelet reads its ID, name and SharedContainers for network
// statistics (kubernetes v1.36.3, pkg/kubelet/stats/cri_stats_provider_windows.go).
func (m *Model) endpointV1(id string) wire.V1Endpoint {
	e := m.endpoints[id]
	out := wire.V1Endpoint{
		ID: e.ID, Name: e.Name, VirtualNetwork: e.HostComputeNetwork, MacAddress: e.MacAddress,
		IsRemoteEndpoint: e.remote(), State: wire.V1StateCreated, SharedContainers: m.containersOf(e),
	}
	if n, ok := m.networks[e.HostComputeNetwork]; ok {
		out.VirtualNetworkName = n.Name
	}
	if len(e.IpConfigurations) > 0 {
		out.IPAddress, out.PrefixLength = e.IpConfigurations[0].IpAddress, e.IpConfigurations[0].PrefixLength
	}
	if len(e.Routes) > 0 {
		out.GatewayAddress = e.Routes[0].NextHop
	}
	if e.Dns != nil {
		out.DNSDomain, out.DNSSuffix = e.Dns.Domain, strings.Join(e.Dns.Search, ",")
		out.DNSServerList = strings.Join(e.Dns.ServerList, ",")
	}
	for _, p := range e.Policies {
		out.Policies = append(out.Policies, policyToV1(p))
	}
	if ns, ok := m.namespaces[e.HostComputeNamespace]; ok {
		out.State = wire.V1StateAttached
		out.Namespace = ns.v1()
	}
	return out
}

func (n *namespace) v1() *wire.V1Namespace {
	return &wire.V1Namespace{
		ID: n.ID, IsDefault: n.Type == wire.NamespaceHostDefault, ResourceList: n.Resources, CompartmentId: n.NamespaceId,
	}
}

func (m *Model) v1Namespaces(method, id, action, body string) (any, error) {
	if method == "POST" && id == "" {
		reply, err := m.create(namespaces, Request{Text: []string{`{"Type":"Host"}`}})
		if err != nil {
			return nil, err
		}
		return m.namespaces[reply.Object].v1(), nil
	}
	n, ok := m.namespaces[id]
	if !ok {
		return nil, wire.Errorf(wire.ENotFound, "namespace %s", id)
	}
	switch method + " " + action {
	case "GET ":
		return n.v1(), nil
	case "DELETE ":
		return n.v1(), m.deleteNamespace(id)
	case "POST addresource", "POST removeresource":
		var r wire.NamespaceResource
		if err := decode(body, &r); err != nil {
			return nil, err
		}
		req := wire.Modify{ResourceType: r.Type, RequestType: "Add"}
		if action == "removeresource" {
			req.RequestType = "Remove"
		}
		req.Settings = json.RawMessage(encode(wire.NamespaceModify{EndpointId: r.Data.ID, ContainerId: r.Data.ID}))
		if err := m.modifyNamespace(id, encode(req)); err != nil {
			return nil, err
		}
		return m.namespaces[id].v1(), nil
	}
	return nil, wire.Errorf(wire.ENotImpl, "%s %s of a namespace", method, action)
}

// v1Names are the types and fields whose names differ: version 1 to schema 2.
func v1Names() (types, fields map[string]string) {
	return map[string]string{"ROUTE": "SDNRoute", "PA": "ProviderAddress", "NAT": "PortMapping"},
		map[string]string{"ExceptionList": "Exceptions", "VIP": "VirtualIP", "PA": "ProviderAddress"}
}

// policyFromV1 lifts the fields that stand beside Type into Settings.
func policyFromV1(raw json.RawMessage) (wire.Policy, error) {
	fields := map[string]json.RawMessage{}
	if err := decode(string(raw), &fields); err != nil {
		return wire.Policy{}, err
	}
	var p wire.Policy
	if err := json.Unmarshal(fields["Type"], &p.Type); err != nil {
		return p, wire.Errorf(wire.InvalidPolicy, "a policy without a type")
	}
	delete(fields, "Type")
	types, names := v1Names()
	if t, ok := types[p.Type]; ok {
		p.Type = t
	}
	for old, name := range names {
		if v, ok := fields[old]; ok {
			delete(fields, old)
			fields[name] = v
		}
	}
	p.Settings = json.RawMessage(encode(fields))
	return p, nil
}

func policyToV1(p wire.Policy) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if len(p.Settings) > 0 && json.Unmarshal(p.Settings, &fields) != nil {
		fields = map[string]json.RawMessage{}
	}
	types, names := v1Names()
	for old, name := range names {
		if v, ok := fields[name]; ok {
			delete(fields, name)
			fields[old] = v
		}
	}
	name := p.Type
	for old, t := range types {
		if t == name {
			name = old
		}
	}
	fields["Type"] = json.RawMessage(encode(name))
	return json.RawMessage(encode(fields))
}
