package system

import "mullion.dev/mullion/guest/eventlog"

// eventLog is the event log of Windows.
type eventLog interface {
	EventReader
	// Clear removes all events of a log.
	Clear(log string) error
	// Write writes an event.
	Write(e eventlog.Entry) error
	// Register makes a source in a log, and the log if there is none of its name.
	Register(log, source string) error
}

// EventReader reads the event log.
type EventReader interface {
	// Logs returns the names of all logs.
	Logs() ([]string, error)
	// Events calls f with events until there are no more or it returns false.
	Events(q eventlog.Query, f func(eventlog.Event) bool) error
	// Info returns what is known of a log.
	Info(log string) (eventlog.Info, error)
	// Providers returns the names of all sources of events.
	Providers() ([]string, error)
	// LogOf returns the log of a source; false if it is not registered.
	LogOf(source string) (string, bool)
}
