package session

import (
	"sync/atomic"
	"time"
)

// Alarm wakes a session for what came from outside of its script: events.
type Alarm struct {
	waiting atomic.Bool
	rung    chan struct{}
}

// Ring says that there is something to do. Any goroutine may.
func (a *Alarm) Ring() {
	a.waiting.Store(true)
	select {
	case a.rung <- struct{}{}:
	default: // it rings already
	}
}

// Taken reports whether the alarm rang since it was asked last.
func (a *Alarm) Taken() bool { return a != nil && a.waiting.Swap(false) }

// Alarm returns the session's alarm. Only the script's own goroutine asks for it.
func (s *State) Alarm() *Alarm {
	if s.alarm == nil {
		s.alarm = &Alarm{rung: make(chan struct{}, 1)}
	}
	return s.alarm
}

// Rang reports whether the session's alarm rang since it was asked last.
func (s *State) Rang() bool { return s.alarm.Taken() }

// Await waits until done is closed, or it is late; nil is never. What events ask for runs meanwhile. The error is that
// of a session that ends.
func (s *State) Await(done <-chan struct{}, late <-chan time.Time) error {
	for {
		select {
		case <-done:
			return nil
		case <-late:
			return nil
		case <-s.Alarm().rung:
			s.pulse()
		case <-s.Context.Done():
			return s.Context.Err()
		}
	}
}

// AwaitEvent waits until the alarm rings, and what events ask for has run, or until it is late:
// rang is false then.
func (s *State) AwaitEvent(late <-chan time.Time) (rang bool, err error) {
	select {
	case <-late:
		return false, nil
	case <-s.Alarm().rung:
		s.pulse()
		return true, nil
	case <-s.Context.Done():
		return false, s.Context.Err()
	}
}

func (s *State) pulse() {
	if s.Pulse != nil {
		s.Pulse()
	}
}
