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
	return netplan.Join(func(yield func(netplan.Plan) bool) {
		for r, part := range m.parts {
			if !m.dirty[r] && !yield(part) {
				return
			}
		}
		for r := range m.dirty {
			if !yield(m.part(r)) {
				return
			}
		}
	})
}

// HasPort reports whether the endpoint had a port in the plan at the last Commit, that is, whether a pod uses it.
func (m *Model) HasPort(endpoint string) bool {
	return len(m.parts[ref{Endpoints, endpoint}].Ports) > 0
}

// Change returns how the calls since the last Commit have changed the plan.
func (m *Model) Change() netplan.Change {
	var c netplan.Change
	for _, r := range slices.SortedFunc(maps.Keys(m.dirty), compareRefs) {
		c.Join(netplan.Between(m.parts[r], m.part(r)))
	}
	return c
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
	m.answered.commit()
	m.settle()
}

// Record is one object as it is stored on disk. Object is empty if the object was removed.
type Record struct {
	Kind   string          `json:"kind"`
	ID     string          `json:"id"`
	Object json.RawMessage `json:"object,omitempty"`
	// Answered, in the first record of a call, is what the call was answered.
	Answered *Answered `json:"answered,omitempty"`
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
	if len(all) > 0 {
		all[0].Answered = m.answered.pending
	}
	return all, nil
}
