package wevtutil

import "mullion.dev/mullion/guest/eventlog"

// System is the event log.
type System interface {
	// Logs returns the names of all logs.
	Logs() ([]string, error)
	// Events calls f with events until there are no more or it returns false.
	Events(q eventlog.Query, f func(eventlog.Event) bool) error
	// Clear removes all events of a log.
	Clear(log string) error
	// Info returns what is known of a log.
	Info(log string) (eventlog.Info, error)
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return eventlog.System{} }
