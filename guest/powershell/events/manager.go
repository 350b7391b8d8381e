package events

import (
	"slices"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// mostQueued bounds the events that wait to be taken, and the actions that wait to be run: the oldest go first.
const mostQueued = 10_000

// Subscriber waits for the events of an object, or for those with a name.
type Subscriber struct {
	ID         int64
	Identifier string
	Source     object.Value // the object, nil for events with a name
	EventName  string
	Action     *object.ScriptBlock // nil: its events wait in the queue
	Data       object.Value        // of -MessageData
	Support    bool                // it is not shown
	// Most is after how many events it ends, 0: never.
	Most int64

	stop  func()
	count int64
	job   *Job
}

// Event is one that happened.
type Event struct {
	ID         int64
	Identifier string
	Sender     object.Value
	Args       object.Value   // $EventArgs, or nil
	SourceArgs []object.Value // $Args: the sender and its arguments, or those of New-Event
	Data       object.Value
	At         time.Time
}

// Due is an action that is to run for an event.
type Due struct {
	Subscriber *Subscriber
	Event      Event
}

// Manager has the subscribers and events of a session.
type Manager struct {
	mu          sync.Mutex
	subscribers []*Subscriber
	queue       []Event
	due         []Due
	lastID      int64
	lastEvent   int64
	alarm       *session.Alarm
}

// Of returns the manager of a session. It ends what it has with the session.
func Of(s *session.State) *Manager {
	m := session.Keep[Manager](s)
	if m.alarm == nil {
		m.alarm = s.Alarm()
		s.Closers = append(s.Closers, func() {
			for _, one := range m.Subscribers() {
				m.Unsubscribe(one)
			}
		})
	}
	return m
}

// Subscribe adds a subscriber. begin starts its object's events and returns how they end; nil: it has a name only.
func (m *Manager) Subscribe(one *Subscriber, begin func(raise func(sender, args object.Value)) func()) {
	m.mu.Lock()
	m.lastID++
	one.ID = m.lastID
	m.subscribers = append(m.subscribers, one)
	m.mu.Unlock()
	if begin == nil {
		return
	}

	one.stop = begin(func(sender, args object.Value) {
		m.raise(one, Event{
			Identifier: one.Identifier, Sender: sender, Args: args, SourceArgs: []object.Value{sender, args},
		})
	})
}

// Unsubscribe ends a subscriber.
func (m *Manager) Unsubscribe(one *Subscriber) {
	m.mu.Lock()
	m.subscribers = slices.DeleteFunc(m.subscribers, func(other *Subscriber) bool { return other == one })
	stop := one.stop
	one.stop = nil
	m.mu.Unlock()
	if stop != nil {
		stop()
	}
	if one.job != nil {
		one.job.end()
	}
}

// raise hands an event to a subscriber.
func (m *Manager) raise(one *Subscriber, e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !slices.Contains(m.subscribers, one) || (one.Most > 0 && one.count >= one.Most) {
		return
	}
	one.count++
	m.lastEvent++
	e.ID, e.At, e.Data = m.lastEvent, time.Now(), firstOf(e.Data, one.Data)
	if one.Action != nil {
		m.due = latest(append(m.due, Due{Subscriber: one, Event: e}))
	} else {
		m.put(e)
	}
	m.alarm.Ring()
}

func firstOf(values ...object.Value) object.Value {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// put puts an event into the queue.
func (m *Manager) put(e Event) { m.queue = latest(append(m.queue, e)) }

// latest returns the last ones of a list, as many as it may have.
func latest[T any](all []T) []T {
	if over := len(all) - mostQueued; over > 0 {
		all = slices.Delete(all, 0, over)
	}
	return all
}

// Announce makes an event with a name: its subscribers get it, or the queue if nobody has subscribed. It returns the
// event.
func (m *Manager) Announce(e Event) Event {
	m.mu.Lock()
	var to []*Subscriber
	for _, one := range m.subscribers {
		if one.Source == nil && strings.EqualFold(one.Identifier, e.Identifier) {
			to = append(to, one)
		}
	}
	if len(to) == 0 {
		m.lastEvent++
		e.ID, e.At = m.lastEvent, time.Now()
		m.put(e)
		m.alarm.Ring()
	}
	m.mu.Unlock()

	for _, one := range to {
		m.raise(one, e)
	}
	if e.At.IsZero() {
		e.At = time.Now()
	}
	return e
}

// Subscribers returns those that there are, the oldest first.
func (m *Manager) Subscribers() []*Subscriber {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.subscribers)
}

// Queue returns the events that nobody has taken, the oldest first.
func (m *Manager) Queue() []Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.queue)
}

// Drop takes events out of the queue.
func (m *Manager) Drop(which func(e Event) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.queue = slices.DeleteFunc(m.queue, which)
}

// Due returns the actions that are to run now, which are then no longer due.
func (m *Manager) Due() []Due {
	m.mu.Lock()
	defer m.mu.Unlock()
	due := m.due
	m.due = nil
	return due
}

// Spent reports whether a subscriber has had all events that it wanted.
func (m *Manager) Spent(one *Subscriber) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return one.Most > 0 && one.count >= one.Most
}
