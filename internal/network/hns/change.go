package hns

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"mullion.dev/mullion/internal/network/netplan"
)

// Plan returns the plan of the host's network, with changes that are not committed yet.
func (m *Model) Plan() netplan.Plan {
	var p netplan.Plan
	for r, part := range m.parts {
		if !m.dirty[r] {
			join(&p, part)
		}
	}
	for r := range m.dirty {
		join(&p, m.part(r))
	}
	p.Normalize()
	return p
}

// HasPort reports whether the endpoint had a port in the plan at the last Commit, that is, whether a pod uses it.
func (m *Model) HasPort(endpoint string) bool {
	return len(m.parts[ref{Endpoints, endpoint}].Ports) > 0
}

func join(p *netplan.Plan, part netplan.Plan) {
	p.Bridges = append(p.Bridges, part.Bridges...)
	p.Peers = append(p.Peers, part.Peers...)
	p.Namespaces = append(p.Namespaces, part.Namespaces...)
	p.Ports = append(p.Ports, part.Ports...)
	p.LoadBalancers = append(p.LoadBalancers, part.LoadBalancers...)
}

// Change returns how the calls since the last Commit have changed the plan.
func (m *Model) Change() netplan.Change {
	var c netplan.Change
	for _, r := range slices.SortedFunc(maps.Keys(m.dirty), compareRefs) {
		old, now := m.parts[r], m.part(r)
		s, gone := &c.Set, &c.Removed
		differ(old.Bridges, now.Bridges, &s.Bridges, &gone.Bridges, func(x netplan.Bridge) string { return x.ID })
		differ(old.Peers, now.Peers, &s.Peers, &gone.Peers, func(x netplan.Peer) string { return x.ID })
		differ(old.Namespaces, now.Namespaces, &s.Namespaces, &gone.Namespaces, func(x string) string { return x })
		differ(old.Ports, now.Ports, &s.Ports, &gone.Ports, func(x netplan.Port) string { return x.ID })
		differ(old.LoadBalancers, now.LoadBalancers, &s.LoadBalancers, &gone.LoadBalancers,
			func(x netplan.LoadBalancer) string { return x.ID })
	}

	return c
}

func differ[T any](old, now []T, set *[]T, removed *[]string, id func(T) string) {
	had := make(map[string]T, len(old))
	for _, x := range old {
		had[id(x)] = x
	}

	for _, x := range now {
		before, ok := had[id(x)]
		delete(had, id(x))
		if !ok || !reflect.DeepEqual(before, x) {
			*set = append(*set, x)
		}
	}
	*removed = append(*removed, slices.Sorted(maps.Keys(had))...)
}

// Commit makes the changes since the last Commit final.
func (m *Model) Commit() {
	for r := range m.dirty {
		part := m.part(r)
		if reflect.DeepEqual(part, netplan.Plan{}) {
			delete(m.parts, r)
		} else {
			m.parts[r] = part
		}
	}
	m.settle()
}

// Record is one object as it is stored on disk. Object is empty if the object was removed.
type Record struct {
	Kind   string          `json:"kind"`
	ID     string          `json:"id"`
	Object json.RawMessage `json:"object,omitempty"`
}

// Records returns the objects that the calls since the last Commit changed.
func (m *Model) Records() ([]Record, error) {
	var all []Record
	for _, r := range slices.SortedFunc(maps.Keys(m.touched), compareRefs) {
		rec, err := m.tables[r.kind].record(r.id)
		if err != nil {
			return nil, err
		}
		all = append(all, rec)
	}
	return all, nil
}
