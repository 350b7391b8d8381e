package hns

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// decode reads one JSON document into v. Unknown fields are left aside, as HNS does.
func decode(text string, v any) error {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(v); err != nil {
		return wire.Errorf(wire.InvalidJSON, "%v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return wire.Errorf(wire.InvalidJSON, "more than one document")
	}
	return nil
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // only a RawMessage can fail, and those were read by decode
		return "null"
	}
	return string(bytes.TrimSpace(b))
}

// answer are an object's properties as JSON, so that a list of thousands is made once.
type answer struct{ hcn, v1 string }

// enumerate answers the GUIDs of the objects that the query's filter lets through.
func (m *Model) enumerate(k kind, query string) (Reply, error) {
	f, err := parseFilter(query)
	if err != nil {
		return Reply{}, err
	}
	if len(f) == 0 {
		return Reply{Text: m.list(k), Listed: m.ids(k)}, nil
	}
	ids := []string{}
	for _, id := range m.candidates(k, f) {
		if m.exists(k, id) && f.match(m.object(k, id)) {
			ids = append(ids, id)
		}
	}
	return Reply{Text: encode(ids), Listed: ids}, nil
}

// Content is an object's GUID, and its properties as JSON.
type Content struct{ ID, Text string }

// Contents are the properties of the objects that the reply to a request named: those that an enumeration listed, or
// the one that was made or opened. Programs ask for them next.
func (m *Model) Contents(r Request, reply Reply) []Content {
	verb, kind, err := m.split(r.Function)
	if err != nil {
		return nil
	}
	ids := reply.Listed
	if verb == "Create" || verb == "Open" {
		ids = []string{reply.Object}
	}
	all := make([]Content, 0, len(ids))
	for _, id := range ids {
		if properties, err := m.query(kind, id); err == nil {
			all = append(all, Content{id, properties.Text})
		}
	}
	return all
}

// candidates are the objects among which those that the filter lets through are.
func (m *Model) candidates(k kind, f filter) []string {
	if id, err := canonical(f["id"]); err == nil {
		return []string{id}
	}
	if name, ok := f["name"]; ok && (k == networks || k == endpoints) {
		return m.named.of(ref{k, name})
	}
	for _, field := range []string{"virtualnetwork", "hostcomputenetwork"} {
		if id, err := canonical(f[field]); err == nil && k == endpoints {
			return m.onNetwork.of(id)
		}
	}
	return m.ids(k)
}

func (m *Model) query(k kind, id string) (Reply, error) {
	a := m.answers[ref{k, id}]
	if a.hcn == "" {
		a.hcn = encode(m.object(k, id))
		m.answers[ref{k, id}] = a
	}
	return Reply{Object: id, Text: a.hcn}, nil
}

func (m *Model) ids(k kind) []string {
	switch k {
	case networks:
		return m.networks.ids
	case endpoints:
		return m.endpoints.ids
	case namespaces:
		return m.namespaces.ids
	case loadBalancers:
		return m.loadBalancers.ids
	case guestServices:
		return m.guests.ids
	default:
		return m.routes.ids
	}
}

// list are all IDs as JSON.
func (m *Model) list(k kind) string {
	var list *string
	switch k {
	case networks:
		list = &m.networks.list
	case endpoints:
		list = &m.endpoints.list
	case namespaces:
		list = &m.namespaces.list
	case loadBalancers:
		list = &m.loadBalancers.list
	case guestServices:
		list = &m.guests.list
	default:
		list = &m.routes.list
	}
	if *list == "" {
		*list = encode(append([]string{}, m.ids(k)...))
	}
	return *list
}

// filter is the wanted value of each property.
type filter map[string]string

func parseFilter(query string) (filter, error) {
	if strings.TrimSpace(query) == "" {
		return nil, nil
	}
	var q wire.Query
	if err := decode(query, &q); err != nil || q.Filter == "" {
		return nil, err
	}
	values := map[string]any{}
	if err := decode(q.Filter, &values); err != nil {
		return nil, err
	}
	f := filter{}
	for name, v := range values {
		s, ok := v.(string)
		if !ok {
			return nil, wire.Errorf(wire.EInvalidArg, "filter of %q is not a string", name)
		}
		f[strings.ToLower(name)] = s
	}
	return f, nil
}

// match compares with the properties that programs filter by. A GUID matches in any case, a name only exactly.
func (f filter) match(o any) bool {
	for name, want := range f {
		got, exact := property(o, name)
		if exact && got != want || !exact && !strings.EqualFold(got, strings.Trim(want, "{}")) {
			return false
		}
	}
	return true
}

// property is an object's property by its lower-case name; virtualnetwork is its name in HNS version 1, which hcn's
// ListEndpointsOfNetwork still sends (hnslib v0.1.2, hcn/hcnendpoint.go).
func property(o any, name string) (value string, exact bool) {
	switch o := o.(type) {
	case *wire.Network:
		return map[string]string{"id": o.ID, "name": o.Name, "type": o.Type}[name], name == "name"
	case *wire.Endpoint: // of these there are thousands
		switch name {
		case "id":
			return o.ID, false
		case "name":
			return o.Name, true
		case "virtualnetwork", "hostcomputenetwork":
			return o.HostComputeNetwork, false
		case "hostcomputenamespace":
			return o.HostComputeNamespace, false
		case "macaddress":
			return o.MacAddress, false
		}
	case *wire.Namespace:
		return map[string]string{"id": o.ID, "type": o.Type}[name], false
	case *wire.LoadBalancer:
		return map[string]string{"id": o.ID, "sourcevip": o.SourceVIP}[name], false
	case *wire.GuestNetworkService:
		return map[string]string{"id": o.ID, "virtualmachineid": o.VirtualMachineId}[name], false
	case *wire.SdnRoute:
		return map[string]string{"id": o.ID}[name], false
	}
	return "", true
}
