package jobs

import (
	"time"

	"mullion.dev/mullion/guest/powershell/clixml"
	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// action is the job of an event's action. It runs until its subscriber is unregistered.
type action struct {
	job   *events.Job
	from  *events.Subscriber
	of    *events.Manager
	shown *object.Object
}

func (a *action) state() string { return a.job.State() }

func (a *action) object() *object.Object {
	if a.shown == nil {
		a.shown = object.New("job").Set("Id", int64(a.job.ID)).Set("Name", a.job.Name).Set("PSJobTypeName", "").
			Set("State", property(func() object.Value { return a.job.State() })).
			Set("HasMoreData", property(func() object.Value { return len(a.job.Take(true)) > 0 })).
			Set("Location", "").Set("Command", a.job.Action.Words)
		a.shown.Props["childjobs"] = []object.Value{}
		a.shown.Props["instanceid"] = newIdentifier()
	}
	return a.shown
}

func (a *action) received(keep bool) []message {
	var all []message
	for _, v := range a.job.Take(keep) {
		all = append(all, message{clixml.Output, v})
	}
	return all
}

// await waits until the session ends, until one of the actions that run meanwhile unregisters this one, or until it is
// late.
func (a *action) await(s *session.State, late <-chan time.Time) error {
	for !over(a) {
		if rang, err := s.AwaitEvent(late); err != nil || !rang {
			return err
		}
	}
	return nil
}

func (a *action) stop() error {
	a.of.Unsubscribe(a.from)
	return nil
}
