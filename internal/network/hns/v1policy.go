package hns

import (
	"encoding/json"
	"strconv"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// v1Policy is a type of policy in HNS version 1, whose fields stand beside Type (hnslib v0.1.2,
// internal/hns/hnspolicy.go). Fields are the names that differ, version 1 to schema 2.
type v1Policy struct {
	v1, v2 string
	fields map[string]string
}

func v1Policies() []v1Policy {
	return []v1Policy{
		{"ROUTE", wire.PolicySDNRoute, nil},
		{"PA", wire.PolicyProviderAddress, map[string]string{"PA": "ProviderAddress"}},
		{"NAT", wire.PolicyPortMapping, nil},
		{"PROXY", wire.PolicyL4Proxy, map[string]string{"ExceptionList": "Exceptions", "OutboundNat": "OutboundNAT"}},
		{"VLAN", wire.PolicyVLAN, map[string]string{"VLAN": "IsolationId"}},
		{"VSID", wire.PolicyVSID, map[string]string{"VSID": "IsolationId"}},
		{"OutBoundNAT", wire.PolicyOutBoundNAT, map[string]string{"ExceptionList": "Exceptions", "VIP": "VirtualIP"}},
	}
}

func policiesFromV1(all []json.RawMessage) ([]wire.Policy, error) {
	var out []wire.Policy
	for _, raw := range all {
		p, err := policyFromV1(raw)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// policyFromV1 moves the fields that stand beside Type into Settings.
func policyFromV1(raw json.RawMessage) (wire.Policy, error) {
	fields := map[string]json.RawMessage{}
	if err := decode(string(raw), &fields); err != nil {
		return wire.Policy{}, err
	}
	var p wire.Policy
	if json.Unmarshal(fields["Type"], &p.Type) != nil || p.Type == "" {
		return p, wire.Errorf(wire.InvalidPolicy, "a policy without a type")
	}

	delete(fields, "Type")
	for _, t := range v1Policies() {
		if t.v1 == p.Type {
			p.Type = t.v2
			for old, name := range t.fields {
				rename(fields, old, name)
			}
			break
		}
	}

	switch p.Type {
	case wire.PolicyPortMapping:
		if err := protocolFromV1(fields); err != nil {
			return p, err
		}
	case wire.PolicyACL:
		numberToList(fields, "Protocol", "Protocols")
		numberToList(fields, "LocalPort", "LocalPorts")
		numberToList(fields, "InternalPort", "LocalPorts")
		numberToList(fields, "RemotePort", "RemotePorts")
	}

	p.Settings = json.RawMessage(encode(fields))
	return p, nil
}

func rename(fields map[string]json.RawMessage, from, to string) {
	if v, ok := fields[from]; ok {
		delete(fields, from)
		fields[to] = v
	}
}

// protocolFromV1 turns "TCP" or "UDP" into a number.
func protocolFromV1(fields map[string]json.RawMessage) error {
	raw := string(fields["Protocol"])
	if !strings.HasPrefix(raw, `"`) { // a number already, or nothing
		return nil
	}

	name := strings.Trim(raw, `"`)
	numbers := map[string]string{"TCP": "6", "UDP": "17"}
	number, ok := numbers[strings.ToUpper(name)]
	if _, err := strconv.ParseUint(name, 10, 8); err == nil {
		number, ok = name, true
	}

	if !ok {
		return wire.Errorf(wire.InvalidPolicy, "NAT of protocol %.64q", name)
	}
	fields["Protocol"] = json.RawMessage(number)
	return nil
}

// numberToList turns a number into a list with that number, unless there is a list.
func numberToList(fields map[string]json.RawMessage, from, to string) {
	var n uint16
	err := json.Unmarshal(fields[from], &n)
	delete(fields, from)
	if _, ok := fields[to]; err == nil && n != 0 && !ok {
		fields[to] = json.RawMessage(strconv.Quote(strconv.Itoa(int(n))))
	}
}

func policiesToV1(policies []wire.Policy) []json.RawMessage {
	var all []json.RawMessage
	for _, p := range policies {
		all = append(all, policyToV1(p))
	}
	return all
}

func policyToV1(p wire.Policy) json.RawMessage {
	fields := map[string]json.RawMessage{}
	if (len(p.Settings) > 0 && json.Unmarshal(p.Settings, &fields) != nil) || fields == nil {
		fields = map[string]json.RawMessage{}
	}

	name := p.Type
	for _, t := range v1Policies() {
		if t.v2 == p.Type {
			name = t.v1
			for old, v2 := range t.fields {
				rename(fields, v2, old)
			}
			break
		}
	}

	if p.Type == wire.PolicyPortMapping {
		for number, protocol := range map[string]string{"6": `"TCP"`, "17": `"UDP"`} {
			if string(fields["Protocol"]) == number {
				fields["Protocol"] = json.RawMessage(protocol)
			}
		}
	}
	fields["Type"] = json.RawMessage(encode(name))
	return json.RawMessage(encode(fields))
}

// v1PolicyLists carries out calls of policy lists, which are load balancers and routes.
func (m *Model) v1PolicyLists(r v1Request) (any, error) {
	switch {
	case r.method == "GET" && r.id == "":
		all := []wire.V1PolicyList{}
		for _, id := range m.loadBalancers.ids {
			all = append(all, balancerV1(m.loadBalancers.objects[id]))
		}
		for _, id := range m.routes.ids {
			all = append(all, routeV1(m.routes.objects[id]))
		}
		return all, nil

	case r.method == "POST" && r.id == "":
		return m.v1CreatePolicyList(r.body)
	}

	var out wire.V1PolicyList
	var of collection = m.loadBalancers
	switch {
	case m.loadBalancers.has(r.id):
		out = balancerV1(m.loadBalancers.objects[r.id])
	case m.routes.has(r.id):
		of, out = m.routes, routeV1(m.routes.objects[r.id])
	default:
		return nil, wire.Errorf(wire.ENotFound, "policy list %s", r.id)
	}

	switch r.method {
	case "GET":
		return out, nil
	case "DELETE":
		return out, of.remove(r.id)
	}

	return nil, wire.Errorf(wire.ENotImpl, "%.16s of a policy list", r.method)
}

// v1CreatePolicyList makes a load balancer from one ELB policy, or a route from ROUTE policies.
func (m *Model) v1CreatePolicyList(body string) (any, error) {
	var in wire.V1PolicyList
	if err := decode(body, &in); err != nil {
		return nil, err
	}

	route := wire.SdnRoute{ID: in.ID, HostComputeEndpoints: in.References}
	var lb *wire.LoadBalancer
	for _, raw := range in.Policies {
		var p struct {
			wire.V1ELB
			DestinationPrefix, NextHop string
			NeedEncap                  bool
		}
		if err := decode(string(raw), &p); err != nil {
			return nil, err
		}

		switch {
		case p.Type == wire.V1PolicyELB && lb == nil:
			lb = balancerFromV1(in, p.V1ELB)
		case p.Type == wire.V1PolicyRoute:
			route.Setting = append(route.Setting, wire.SDNRouteSetting{
				DestinationPrefix: p.DestinationPrefix,
				NextHop:           p.NextHop,
				NeedEncap:         p.NeedEncap,
			})

		default:
			return nil, wire.Errorf(wire.InvalidPolicyType, "policy type %.64q of a policy list", p.Type)
		}
	}

	if (lb != nil && len(route.Setting) > 0) || (lb == nil && len(route.Setting) == 0) {
		return nil, wire.Errorf(wire.InvalidPolicy, "a policy list has one policy ELB, or policies ROUTE")
	}

	if lb != nil {
		reply, err := m.create(LoadBalancers, Request{Text: []string{encode(lb)}})
		if err != nil {
			return nil, err
		}
		return balancerV1(m.loadBalancers.objects[reply.Object]), nil
	}

	reply, err := m.create(SdnRoutes, Request{Text: []string{encode(route)}})
	if err != nil {
		return nil, err
	}

	return routeV1(m.routes.objects[reply.Object]), nil
}

func balancerFromV1(in wire.V1PolicyList, p wire.V1ELB) *wire.LoadBalancer {
	lb := &wire.LoadBalancer{
		ID:                   in.ID,
		HostComputeEndpoints: in.References,
		SourceVIP:            p.SourceVIP,
		FrontendVIPs:         p.VIPs,
		PortMappings: []wire.PortMapping{{
			Protocol:     p.Protocol,
			InternalPort: p.InternalPort,
			ExternalPort: p.ExternalPort,
		}},
	}

	if p.ILB {
		lb.PortMappings[0].Flags = wire.PortILB
	}
	if p.IsDSR {
		lb.Flags = wire.LoadBalancerDSR
	}

	return lb
}

func balancerV1(lb *wire.LoadBalancer) wire.V1PolicyList {
	out := wire.V1PolicyList{ID: lb.ID, References: references(lb.HostComputeEndpoints)}
	for _, p := range lb.PortMappings {
		out.Policies = append(out.Policies, json.RawMessage(encode(wire.V1ELB{
			Type:         wire.V1PolicyELB,
			SourceVIP:    lb.SourceVIP,
			VIPs:         lb.FrontendVIPs,
			ILB:          p.Flags&wire.PortILB != 0,
			IsDSR:        lb.Flags&wire.LoadBalancerDSR != 0,
			Protocol:     p.Protocol,
			InternalPort: p.InternalPort,
			ExternalPort: p.ExternalPort,
		})))
	}

	return out
}

func routeV1(r *wire.SdnRoute) wire.V1PolicyList {
	out := wire.V1PolicyList{ID: r.ID, References: references(r.HostComputeEndpoints)}
	for _, s := range r.Setting {
		out.Policies = append(out.Policies, json.RawMessage(encode(wire.V1Route{
			Type:              wire.V1PolicyRoute,
			DestinationPrefix: s.DestinationPrefix,
			NextHop:           s.NextHop,
			NeedEncap:         s.NeedEncap,
		})))
	}
	return out
}

func references(ids []string) []string {
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = "/endpoints/" + id
	}
	return all
}
