package hns

import (
	"maps"
	"slices"

	"mullion.dev/mullion/internal/network/hns/wire"
)

// EventType is the number of an event in the functions that watch HNS:
// https://learn.microsoft.com/virtualization/api/hcn/Reference/HCN_NOTIFICATIONS.
type EventType uint32

// The events.
const (
	NetworkPreCreate  EventType = 0x01
	NetworkCreate     EventType = 0x02
	NetworkPreDelete  EventType = 0x03
	NetworkDelete     EventType = 0x04
	NamespaceCreate   EventType = 0x05
	NamespaceDelete   EventType = 0x06
	GuestCreate       EventType = 0x07
	GuestDelete       EventType = 0x08
	EndpointAttached  EventType = 0x09
	EndpointDetached  EventType = 0x10
	GuestStateChanged EventType = 0x11
)

// Event is something that programs can ask to be told of.
type Event struct {
	Type EventType
	// Of is the GUID of the network or guest network service whose watchers are told; empty: those of the service are.
	Of string
	// Object is the GUID of what the event is about.
	Object string
	// Text is what a program is told with it: JSON.
	Text string
}

func event(t EventType, of, object string) Event {
	return Event{Type: t, Of: of, Object: object, Text: encode(wire.Notification{ID: object})}
}

// Events are what the calls since the last Commit mean to watchers: what they are told before it is done, and after.
func (m *Model) Events() (before, after []Event) {
	for _, r := range slices.SortedFunc(maps.Keys(m.touched), compareRefs) {
		had, has := m.touched[r] != nil, m.exists(r.kind, r.id)
		switch r.kind {
		case networks:
			before = lifeEvents(before, r.id, had, has, [2]EventType{NetworkPreCreate, NetworkPreDelete})
			after = lifeEvents(after, r.id, had, has, [2]EventType{NetworkCreate, NetworkDelete})
		case namespaces:
			after = lifeEvents(after, r.id, had, has, [2]EventType{NamespaceCreate, NamespaceDelete})
		case endpoints:
			old, _ := m.touched[r].(*endpoint)
			after = attachEvents(after, r.id, old, m.endpoints.objects[r.id])
		case guestServices:
			old, _ := m.touched[r].(*wire.GuestNetworkService)
			after = lifeEvents(after, r.id, had, has, [2]EventType{GuestCreate, GuestDelete})
			if now := m.guests.objects[r.id]; had && has && old.State != now.State {
				after = append(after, event(GuestStateChanged, r.id, r.id))
			}
		}
	}
	return before, after
}

// lifeEvents adds the first type of an object that is new, the second of one that is gone.
func lifeEvents(all []Event, id string, had, has bool, types [2]EventType) []Event {
	switch {
	case has && !had:
		return append(all, event(types[0], "", id))
	case had && !has:
		return append(all, event(types[1], "", id))
	}
	return all
}

func attachEvents(all []Event, id string, old, now *endpoint) []Event {
	var from, to string
	if old != nil {
		from = old.HostComputeNamespace
	}
	if now != nil {
		to = now.HostComputeNamespace
	}
	if from == to {
		return all
	}
	if from != "" {
		all = append(all, event(EndpointDetached, old.HostComputeNetwork, id))
	}
	if to != "" {
		all = append(all, event(EndpointAttached, now.HostComputeNetwork, id))
	}
	return all
}
