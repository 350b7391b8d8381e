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

// Event is something that HNS notifies programs of.
type Event struct {
	Type EventType
	// Of is the GUID of the network or guest network service whose watchers get the event; empty: those of the service
	// do.
	Of string
	// Object is the GUID of the object that the event is about.
	Object string
	// Text is the JSON that a program gets with the event.
	Text string
}

func event(t EventType, of, object string) Event {
	return Event{
		Type:   t,
		Of:     of,
		Object: object,
		Text:   encode(wire.Notification{ID: object}),
	}
}

// Events returns the events for the calls since the last Commit: those sent before the change is made, and those after.
func (m *Model) Events() (before, after []Event) {
	for _, r := range slices.SortedFunc(maps.Keys(m.touched), compareRefs) {
		b, a := m.tables[r.kind].events(r.id, m.touched[r])
		before, after = append(before, b...), append(after, a...)
	}
	return before, after
}

func networkEvents(id string, old, now *network) (before, after []Event) {
	return lifeEvent(id, old, now, NetworkPreCreate, NetworkPreDelete), lifeEvent(id, old, now, NetworkCreate,
		NetworkDelete)
}

func namespaceEvents(id string, old, now *namespace) (before, after []Event) {
	return nil, lifeEvent(id, old, now, NamespaceCreate, NamespaceDelete)
}

func guestEvents(id string, old, now *wire.GuestNetworkService) (before, after []Event) {
	if old != nil && now != nil && old.State != now.State {
		return nil, []Event{event(GuestStateChanged, id, id)}
	}
	return nil, lifeEvent(id, old, now, GuestCreate, GuestDelete)
}

// lifeEvent returns an event of type made if the object is new, of type gone if it was removed, and else none.
func lifeEvent[T any](id string, old, now *T, made, gone EventType) []Event {
	switch {
	case old == nil && now != nil:
		return []Event{event(made, "", id)}
	case old != nil && now == nil:
		return []Event{event(gone, "", id)}
	}
	return nil
}

// endpointEvents returns the events of an endpoint that was attached to a namespace, or detached from one.
func endpointEvents(id string, old, now *endpoint) (before, after []Event) {
	var from, to string
	if old != nil {
		from = old.HostComputeNamespace
	}
	if now != nil {
		to = now.HostComputeNamespace
	}

	if from == to {
		return nil, nil
	}
	if from != "" {
		after = append(after, event(EndpointDetached, old.HostComputeNetwork, id))
	}
	if to != "" {
		after = append(after, event(EndpointAttached, now.HostComputeNetwork, id))
	}

	return nil, after
}
