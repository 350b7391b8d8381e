package jobs

import (
	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
)

// action is the job of an event's action. It runs until its subscriber is unregistered.
type action struct {
	job  *events.Job
	from *events.Subscriber
	of   *events.Manager
}

func (a *action) ended() bool { return a.job.State() == "Stopped" }

func (a *action) object() *object.Object {
	o := object.New("job").Set("Id", int64(a.job.ID)).Set("Name", a.job.Name).Set("State", a.job.State())
	o.Props["command"], o.Props["hasmoredata"] = a.job.Action.Words, len(a.job.Take(true)) > 0
	return o
}

func (a *action) received(keep bool) []object.Value { return a.job.Take(keep) }

// await waits until the session ends, or until one of the actions that run meanwhile unregisters this one.
func (a *action) await(s *session.State) error {
	for !a.ended() {
		if _, err := s.AwaitEvent(nil); err != nil {
			return err
		}
	}
	return nil
}

func (a *action) stop() error {
	a.of.Unsubscribe(a.from)
	return nil
}
