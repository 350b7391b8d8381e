package jobs

import (
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// registerObject subscribes to the event of an object
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/register-objectevent).
func registerObject(c *cmdlet.Call) error {
	of := c.Values[cmdlet.ObjectName]
	name := c.Text("eventname")
	var found *object.Event
	if class := object.ClassOf(of); class != nil {
		for i := range class.Events {
			if strings.EqualFold(class.Events[i].Name, name) {
				found = &class.Events[i]
			}
		}
	}
	if found == nil {
		return c.Fail(words.Errorf("Cannot register for the specified event. An event with the name '%s' does not exist.", name))
	}

	one := &events.Subscriber{Source: of, EventName: found.Name}
	return register(c, one, func(raise func(sender, args object.Value)) func() {
		return found.Listen(of, func(args object.Value) { raise(of, args) })
	})
}

// registerEngine subscribes to events with a name: PowerShell.Exiting, or those of New-Event.
func registerEngine(c *cmdlet.Call) error {
	return register(c, &events.Subscriber{}, nil)
}

// register adds a subscriber. With an action its job is output.
func register(c *cmdlet.Call, one *events.Subscriber, begin func(raise func(sender, args object.Value)) func()) error {
	m := events.Of(c.State)
	one.Identifier = c.Text("sourceidentifier")
	if one.Identifier == "" {
		one.Identifier = newIdentifier()
	}
	for _, other := range m.Subscribers() {
		if begin != nil && strings.EqualFold(other.Identifier, one.Identifier) {
			return c.Fail(words.Errorf("Cannot subscribe to the specified event. A subscriber with the source identifier "+
				"'%s' already exists.", one.Identifier))
		}
	}

	one.Data, one.Support = c.Values["messagedata"], c.Flags["supportevent"]
	if v, given := c.Values["maxtriggercount"]; given {
		most, err := object.Integer(v)
		if err != nil {
			return err
		}
		one.Most = max(0, most)
	}

	var job *action
	if v, given := c.Values["action"]; given {
		block, is := v.(*object.ScriptBlock)
		if !is {
			return c.Unbound(object.CannotConvert(v, "System.Management.Automation.ScriptBlock"))
		}
		one.Action = block
		all := session.Keep[jobList](c.State)
		id := all.next()
		job = &action{
			job:  events.NewJob(one, id),
			from: one,
			of:   m,
		}
		if !one.Support {
			all.list = append(all.list, numbered{member: job, id: id})
		}
	}

	m.Subscribe(one, begin)
	if job == nil || one.Support {
		return nil
	}
	return c.Out.Put(job.object())
}

// newEvent makes an event with a name.
func newEvent(c *cmdlet.Call) error {
	args := object.Items(c.Values["eventarguments"])
	e := events.Of(c.State).Announce(events.Event{
		Identifier: c.Text("sourceidentifier"), Sender: c.Values["sender"], SourceArgs: args, Data: c.Values["messagedata"],
	})
	return c.Out.Put(e.Object())
}

// wanted says which events or subscribers a call means, by their names or numbers; all if it names none. With a name
// that is not there it complains.
func wanted(c *cmdlet.Call, number string) func(identifier string, id int64) bool {
	return func(identifier string, id int64) bool {
		if v, given := c.Values["sourceidentifier"]; given {
			for one := range object.Each(v) {
				if strings.EqualFold(object.Text(one), identifier) {
					return true
				}
			}
			return false
		}

		if v, given := c.Values[number]; given {
			for one := range object.Each(v) {
				if n, err := object.Integer(one); err == nil && n == id {
					return true
				}
			}
			return false
		}

		for _, v := range c.Input {
			if o, is := v.(*object.Object); is && (o.Props["eventidentifier"] == any(id) || o.Props["subscriptionid"] == any(id)) {
				return true
			}
		}

		return !c.Piped
	}
}

// none reports that a call names what is not there.
func none(c *cmdlet.Call, what, number string) error {
	if v, given := c.Values["sourceidentifier"]; given {
		return c.Fail(words.Errorf("%s with source identifier '%s' does not exist.", what, object.Text(v)))
	}
	if v, given := c.Values[number]; given {
		return c.Fail(words.Errorf("%s with identifier '%s' does not exist.", what, object.Text(v)))
	}
	return nil
}

// getEvents outputs the events that wait.
func getEvents(c *cmdlet.Call) error {
	wants, found := wanted(c, "eventidentifier"), false
	for _, e := range events.Of(c.State).Queue() {
		if !wants(e.Identifier, e.ID) {
			continue
		}
		found = true
		if err := c.Out.Put(e.Object()); err != nil {
			return err
		}
	}
	if !found {
		return none(c, "Event", "eventidentifier")
	}
	return nil
}

// removeEvents takes events out of the queue.
func removeEvents(c *cmdlet.Call) error {
	wants, found := wanted(c, "eventidentifier"), false
	events.Of(c.State).Drop(func(e events.Event) bool {
		goes := wants(e.Identifier, e.ID)
		found = found || goes
		return goes
	})
	if !found {
		return none(c, "Event", "eventidentifier")
	}
	return nil
}

// getSubscribers outputs the subscribers; those that support others with -Force only.
func getSubscribers(c *cmdlet.Call) error {
	wants, found := wanted(c, "subscriptionid"), false
	for _, one := range events.Of(c.State).Subscribers() {
		if !wants(one.Identifier, one.ID) || (one.Support && !c.Flags["force"]) {
			continue
		}
		found = true
		if err := c.Out.Put(one.Object()); err != nil {
			return err
		}
	}
	if !found {
		return none(c, "Event subscriber", "subscriptionid")
	}
	return nil
}

// unregister ends subscribers.
func unregister(c *cmdlet.Call) error {
	m := events.Of(c.State)
	wants, found := wanted(c, "subscriptionid"), false
	for _, one := range m.Subscribers() {
		if !wants(one.Identifier, one.ID) || (one.Support && !c.Flags["force"]) {
			continue
		}
		found = true
		m.Unsubscribe(one)
	}
	if !found {
		return none(c, "Event subscriber", "subscriptionid")
	}
	return nil
}
