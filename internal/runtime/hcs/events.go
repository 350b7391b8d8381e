package hcs

import "sync"

// EventType is the number of an event
// (https://learn.microsoft.com/virtualization/api/hcs/reference/hcs_event_type).
type EventType uint32

// The events.
const (
	SystemExited  EventType = 1
	ProcessExited EventType = 0x10000
)

// Event is something that whoever has a system or a process open is told.
type Event struct {
	Type EventType
	Text string
}

// broadcast tells events. Nobody who listens holds it up: what there is to tell is few.
type broadcast struct {
	mu   sync.Mutex
	all  map[*subscription]bool
	told []Event // for those who come later
	over bool
}

// mostEvents is more than a system or a process has.
const mostEvents = 4

// subscription is one who listens. Its channel is closed after the last event.
type subscription struct{ events chan Event }

func (b *broadcast) subscribe() *subscription {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := &subscription{events: make(chan Event, mostEvents)}
	for _, e := range b.told {
		s.events <- e
	}

	if b.over {
		close(s.events)
		return s
	}
	if b.all == nil {
		b.all = map[*subscription]bool{}
	}
	b.all[s] = true
	return s
}

// leave ends a subscription, and returns how many are left.
func (b *broadcast) leave(s *subscription) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.all[s] {
		delete(b.all, s)
		close(s.events)
	}
	return len(b.all)
}

// isHeard reports whether somebody listens.
func (b *broadcast) isHeard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.all) > 0
}

func (b *broadcast) send(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || len(b.told) == mostEvents {
		return
	}
	b.told = append(b.told, e)
	for s := range b.all {
		s.events <- e
	}
}

func (b *broadcast) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	for s := range b.all {
		close(s.events)
	}
	b.all = nil
}
