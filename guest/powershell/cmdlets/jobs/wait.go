package jobs

import (
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/object"
)

// waitEvent waits until an event is in the queue, where it stays, and outputs it. After -Timeout seconds it outputs
// nothing (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.utility/wait-event).
func waitEvent(c *cmdlet.Call) error {
	var late <-chan time.Time
	if v, given := c.Values["timeout"]; given {
		seconds, err := object.Integer(v)
		if err != nil {
			return err
		}
		if seconds >= 0 {
			clock := time.NewTimer(time.Duration(min(seconds, 1<<31)) * time.Second)
			defer clock.Stop()
			late = clock.C
		}
	}

	m := events.Of(c.State)
	name, named := c.Values["sourceidentifier"]
	for over := false; ; {
		for _, e := range m.Queue() {
			if !named || strings.EqualFold(e.Identifier, object.Text(name)) {
				return c.Out.Put(e.Object())
			}
		}
		if over {
			return nil
		}

		rang, err := c.State.AwaitEvent(late)
		if err != nil {
			return err
		}
		over = !rang
	}
}

// eventCmdlets returns the cmdlets for events.
func eventCmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name: "Register-ObjectEvent",
			About: "waits for an event of a FileSystemWatcher, a Timer or a process of Start-Process -PassThru; an action runs " +
				"between two statements, or while the script sleeps or waits",
			Run:       registerObject,
			Values:    []string{cmdlet.ObjectName, "eventname", "sourceidentifier", "action", "messagedata", "maxtriggercount"},
			Flags:     []string{"supportevent"},
			Positions: []string{cmdlet.ObjectName, "eventname", "sourceidentifier", "action"},
			Needs:     []string{cmdlet.ObjectName, "eventname"},
		},
		{
			Name:      "Register-EngineEvent",
			About:     "waits for events with a name: those of New-Event, and PowerShell.Exiting",
			Run:       registerEngine,
			Values:    []string{"sourceidentifier", "action", "messagedata", "maxtriggercount"},
			Flags:     []string{"supportevent"},
			Positions: []string{"sourceidentifier", "action"},
			Needs:     []string{"sourceidentifier"},
		},
		{
			Name:      "New-Event",
			About:     "makes an event with a name",
			Run:       newEvent,
			Values:    []string{"sourceidentifier", "sender", "eventarguments", "messagedata"},
			Positions: []string{"sourceidentifier", "sender", "eventarguments", "messagedata"},
			Needs:     []string{"sourceidentifier"},
		},
		{
			Name:      "Get-Event",
			About:     "the events that wait to be taken",
			Run:       getEvents,
			Values:    []string{"sourceidentifier", "eventidentifier"},
			Positions: []string{"sourceidentifier"},
		},
		{
			Name:      "Wait-Event",
			About:     "waits until an event waits to be taken",
			Run:       waitEvent,
			Values:    []string{"sourceidentifier", "timeout"},
			Positions: []string{"sourceidentifier"},
		},
		{
			Name:      "Remove-Event",
			About:     "takes events away",
			Run:       removeEvents,
			Values:    []string{"sourceidentifier", "eventidentifier"},
			Positions: []string{"sourceidentifier"},
			Takes:     "eventidentifier",
			Needs:     []string{"sourceidentifier|eventidentifier"},
		},
		{
			Name:      "Get-EventSubscriber",
			About:     "who waits for events",
			Run:       getSubscribers,
			Values:    []string{"sourceidentifier", "subscriptionid"},
			Flags:     []string{"force"},
			Positions: []string{"sourceidentifier"},
		},
		{
			Name:      "Unregister-Event",
			About:     "waits for events no more",
			Run:       unregister,
			Values:    []string{"sourceidentifier", "subscriptionid"},
			Flags:     []string{"force"},
			Positions: []string{"sourceidentifier"},
			Takes:     "subscriptionid",
			Needs:     []string{"sourceidentifier|subscriptionid"},
		},
	}
}
