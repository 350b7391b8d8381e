package engine

import (
	"io"
	"maps"

	"mullion.dev/mullion/guest/powershell/events"
	"mullion.dev/mullion/guest/powershell/object"
)

// pulse runs the actions that events ask for: between two statements, or while the script waits. An action has a scope
// of its own below the outermost one, with $Event, $EventSubscriber, $Sender, $EventArgs and $Args
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_automatic_variables). What
// it outputs is its job's, and its errors end it only. No other action runs meanwhile.
func (in *Interpreter) pulse() {
	if in.acting {
		return
	}
	in.acting = true
	defer func() { in.acting = false }()
	m := events.Of(in.State)
	for {
		due := m.Due()
		if len(due) == 0 {
			return
		}
		for _, one := range due {
			in.act(one)
			if m.Spent(one.Subscriber) {
				m.Unsubscribe(one.Subscriber)
			}
		}
	}
}

// act runs one action.
func (in *Interpreter) act(due events.Due) {
	f := in.Top.child()
	maps.Copy(f.Vars, map[string]object.Value{
		"event": due.Event.Object(), "eventsubscriber": due.Subscriber.Object(), "sender": due.Event.Sender,
		"eventargs": due.Event.Args, "args": due.Event.SourceArgs,
	})

	ok := in.OK
	tries, calling := in.tries, in.calling
	errs, messages := in.errs, in.messages

	in.tries = 0 // a try of the script does not catch its errors
	in.errs, in.messages = errorStream{w: io.Discard}, nil
	var output []object.Value
	err := f.RunWith(due.Subscriber.Action, due.Event.SourceArgs, nil, false, object.Collect(&output))

	in.OK = ok
	in.tries, in.calling = tries, calling
	in.errs, in.messages = errs, messages

	due.Subscriber.Received(output)
	if err != nil && object.Catchable(err) {
		in.note(in.recordHere(err)) // $Error has it; nothing is printed, as an action's errors are its job's
	}
}

// leaving announces that the session ends, and runs what waits for that.
func (in *Interpreter) leaving() {
	if in.Context.Err() != nil {
		return
	}
	m := events.Of(in.State)
	if len(m.Subscribers()) == 0 {
		return
	}
	m.Announce(events.Event{Identifier: "PowerShell.Exiting"})
	in.pulse()
}

// Close ends the session: actions for its end run, and what the script has left open is closed.
func (in *Interpreter) Close() {
	in.leaving()
	in.State.Close()
}
