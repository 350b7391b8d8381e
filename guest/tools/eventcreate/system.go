package eventcreate

import "mullion.dev/mullion/guest/eventlog"

// System is the event log.
type System interface {
	// Logs returns the names of all logs.
	Logs() ([]string, error)
	// Write writes an event.
	Write(e eventlog.Entry) error
}

// ThisSystem returns the Windows that the program runs on.
func ThisSystem() System { return eventlog.System{} }
