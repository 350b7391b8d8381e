//go:build !windows

package eventlog

import "errors"

// System is the event log of this Windows. Elsewhere there is none.
type System struct{}

// Logs returns the names of all logs.
func (System) Logs() ([]string, error) { return nil, errors.ErrUnsupported }

// Providers returns the names of all providers, which are the sources of events.
func (System) Providers() ([]string, error) { return nil, errors.ErrUnsupported }

// Events calls f with events until there are no more or it returns false.
func (System) Events(Query, func(Event) bool) error { return errors.ErrUnsupported }

// Clear removes all events of a log.
func (System) Clear(string) error { return errors.ErrUnsupported }

// Info returns what is known of a log.
func (System) Info(string) (Info, error) { return Info{}, errors.ErrUnsupported }

// Write writes an event.
func (System) Write(Entry) error { return errors.ErrUnsupported }

// Register makes a source in a log, and the log if there is none of its name.
func (System) Register(string, string) error { return errors.ErrUnsupported }

// LogOf returns the log of a source; false if it is not registered.
func (System) LogOf(string) (string, bool) { return "", false }

// Subscribe follows a log.
func (System) Subscribe(Query, bool) (*Subscription, error) { return nil, errors.ErrUnsupported }

// Subscription is a log that is followed until the program ends.
type Subscription struct{}

// Read calls f with the events that have come since it was called last.
func (*Subscription) Read(func(Event)) error { return errors.ErrUnsupported }
