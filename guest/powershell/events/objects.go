package events

import "mullion.dev/mullion/guest/powershell/object"

// Object returns the event as scripts see it: a PSEventArgs
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.pseventargs).
func (e Event) Object() *object.Object {
	return object.New("PS event").Set("EventIdentifier", e.ID).Set("Sender", e.Sender).Set("SourceEventArgs", e.Args).
		Set("SourceArgs", e.SourceArgs).Set("SourceIdentifier", e.Identifier).
		Set("TimeGenerated", object.DateTime{At: e.At}).Set("MessageData", e.Data)
}

// Object returns the subscriber as scripts see it: a PSEventSubscriber
// (https://learn.microsoft.com/en-us/dotnet/api/system.management.automation.pseventsubscriber).
func (s *Subscriber) Object() *object.Object {
	o := object.New("subscriber").Set("SubscriptionId", s.ID).Set("SourceObject", s.Source).Set("EventName", s.EventName).
		Set("SourceIdentifier", s.Identifier).Set("Action", nil).Set("SupportEvent", s.Support)
	if s.job != nil {
		o.Set("Action", object.New("job").Set("Id", int64(s.job.ID)).Set("Name", s.job.Name).Set("State", s.job.State()))
	}
	return o
}
