package hns

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// decode reads one JSON document into v. It ignores unknown fields, as HNS does.
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

// answer holds an object's properties as JSON, so that a list of thousands is encoded only once.
type answer struct{ hcn, v1 string }

// enumerate returns the GUIDs of the objects that the query's filter lets through.
func (m *Model) enumerate(k Kind, query string) (Reply, error) {
	f, err := parseFilter(query)
	if err != nil {
		return Reply{}, err
	}
	t := m.tables[k]
	if len(f) == 0 {
		return Reply{Text: t.list(), Listed: t.all()}, nil
	}
	ids := t.matching(f)
	return Reply{Text: encode(ids), Listed: ids}, nil
}

// Content is an object's GUID, and its properties as JSON.
type Content struct{ ID, Text string }

// Contents returns the properties of the objects that the reply to a request named: the objects that an enumeration
// listed, or the object that was made or opened. Programs ask for these properties next.
func (m *Model) Contents(r Request, reply Reply) []Content {
	c, ids := m.calls[r.Function], reply.Listed
	if c.Operation == Create || c.Operation == Open {
		ids = []string{reply.Object}
	}
	all := make([]Content, 0, len(ids))
	for _, id := range ids {
		if properties, err := m.query(c.Kind, id); err == nil {
			all = append(all, Content{id, properties.Text})
		}
	}
	return all
}

func (m *Model) query(k Kind, id string) (Reply, error) {
	a := m.answers[ref{k, id}]
	if a.hcn == "" {
		a.hcn = encode(m.tables[k].shown(id))
		m.answers[ref{k, id}] = a
	}
	return Reply{Object: id, Text: a.hcn}, nil
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

// value is a property's value. A GUID or a word matches in any case, a name only exactly.
type value struct {
	text  string
	exact bool
}

// match compares with the properties that programs filter by.
func (f filter) match(property func(name string) value) bool {
	for name, want := range f {
		got := property(name)
		if (got.exact && got.text != want) || (!got.exact && !strings.EqualFold(got.text, strings.Trim(want, "{}"))) {
			return false
		}
	}
	return true
}

func networkProperty(n *network, name string) value {
	return value{map[string]string{"id": n.ID, "name": n.Name, "type": n.Type}[name], name == "name"}
}

// networksOf returns the networks of the name in a filter.
func (m *Model) networksOf(f filter) ([]string, bool) {
	if name, ok := f["name"]; ok {
		return m.named.sorted(ref{Networks, name}), true
	}
	return nil, false
}

// endpointProperty knows virtualnetwork too: that is the network's name in HNS version 1, and hcn's
// ListEndpointsOfNetwork still sends it (hnslib v0.1.2, hcn/hcnendpoint.go).
func endpointProperty(e *endpoint, name string) value {
	switch name {
	case "id":
		return value{text: e.ID}
	case "name":
		return value{e.Name, true}
	case "virtualnetwork", "hostcomputenetwork":
		return value{text: e.HostComputeNetwork}
	case "hostcomputenamespace":
		return value{text: e.HostComputeNamespace}
	case "macaddress":
		return value{text: e.MacAddress}
	}

	return value{exact: true}
}

// endpointsOf returns the endpoints of the name or on the network in a filter.
func (m *Model) endpointsOf(f filter) ([]string, bool) {
	if name, ok := f["name"]; ok {
		return m.named.sorted(ref{Endpoints, name}), true
	}
	for _, field := range []string{"virtualnetwork", "hostcomputenetwork"} {
		if id, err := canonical(f[field]); err == nil {
			return m.onNetwork.sorted(id), true
		}
	}
	return nil, false
}

func namespaceProperty(n *namespace, name string) value {
	return value{text: map[string]string{"id": n.ID, "type": n.Type}[name]}
}

func loadBalancerProperty(lb *wire.LoadBalancer, name string) value {
	return value{text: map[string]string{"id": lb.ID, "sourcevip": lb.SourceVIP}[name]}
}

func routeProperty(r *wire.SdnRoute, name string) value {
	return value{text: map[string]string{"id": r.ID}[name]}
}

func guestProperty(g *wire.GuestNetworkService, name string) value {
	return value{text: map[string]string{"id": g.ID, "virtualmachineid": g.VirtualMachineId}[name]}
}
