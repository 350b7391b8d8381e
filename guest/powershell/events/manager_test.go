package events

import (
	"testing"

	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// TestMostQueued: events come faster than a script takes them, or than it runs their actions. The last ones are kept.
func TestMostQueued(t *testing.T) {
	s := &session.State{}
	m := Of(s)
	m.Subscribe(&Subscriber{Identifier: "queued"}, nil)
	m.Subscribe(&Subscriber{Identifier: "run", Action: &object.ScriptBlock{}}, nil)
	for range mostQueued + 10 {
		m.Announce(Event{Identifier: "queued"})
		m.Announce(Event{Identifier: "run"})
	}

	queue, due := m.Queue(), m.Due()
	if len(queue) != mostQueued || len(due) != mostQueued {
		t.Errorf("%d events and %d actions wait, want %d", len(queue), len(due), mostQueued)
	}
	if last := due[len(due)-1].Event.ID; last != 2*(mostQueued+10) {
		t.Errorf("the last action is for event %d", last)
	}
}
