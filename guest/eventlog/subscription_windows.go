package eventlog

import (
	"errors"

	"golang.org/x/sys/windows"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Origins of a subscription (winevt.h, EVT_SUBSCRIBE_FLAGS).
const (
	futureEvents = 1
	oldestRecord = 2
)

// Subscription is a log that is followed until the program ends.
type Subscription struct {
	set    uintptr
	signal windows.Handle
}

// Subscribe follows a log: what is in it, if oldest, and what comes.
func (System) Subscribe(q Query, oldest bool) (*Subscription, error) {
	log, err := wide(q.Log)
	if err != nil {
		return nil, err
	}
	query, err := wide(q.XPath)
	if err != nil {
		return nil, err
	}

	signal, err := windows.CreateEvent(nil, 1, 0, nil) // EvtSubscribe wants one
	if err != nil {
		return nil, coded(err)
	}
	origin := uintptr(futureEvents)
	if oldest {
		origin = oldestRecord
	}

	set, err := evt("EvtSubscribe", 0, uintptr(signal), at(log), at(query), 0, 0, 0, origin)
	if err != nil {
		_ = windows.CloseHandle(signal)
		return nil, err
	}

	return &Subscription{set, signal}, nil
}

// Read calls f with the events that have come since it was called last. It does not wait. An event that cannot be read
// is left out; the error tells of it.
func (s *Subscription) Read(f func(Event)) error {
	var unread error
	for {
		var handle uintptr
		var returned uint32
		_, err := evt("EvtNext", s.set, 1, at(&handle), 0, 0, at(&returned))
		if errors.Is(err, winerr.Code(windows.ERROR_NO_MORE_ITEMS)) {
			_ = windows.ResetEvent(s.signal) // nobody waits for it
			return unread
		}

		if err != nil {
			return errors.Join(unread, err)
		}

		e, err := read(handle)
		closeHandle(handle)
		if err != nil {
			unread = errors.Join(unread, err)
			continue
		}
		f(e)
	}
}
