package engine

import (
	"fmt"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// invokeHistory shows a command of the history and runs it again in the scope that asks
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/invoke-history).
func invokeHistory(c *cmdlet.Call) error {
	f := frameOf(c)
	command, err := wantedEntry(c, session.Keep[session.History](c.State).Entries)
	if err != nil {
		return c.Fail(err)
	}
	f.in.Format.End()
	if _, err := fmt.Fprintf(f.in.Shown(f.in.Stdout), "%s%s", command, f.in.Newline); err != nil {
		return err
	}
	return f.runText(command, c.Out)
}

// wantedEntry returns the command that a call means.
func wantedEntry(c *cmdlet.Call, entries []session.Entry) (string, error) {
	wanted := c.Values["id"]
	for _, v := range c.Input {
		wanted = v
	}
	if o, is := wanted.(*object.Object); is {
		wanted = o.Props["id"]
	}
	if wanted == nil {
		if len(entries) == 0 {
			return "", words.Errorf("Cannot locate the most recent history.")
		}
		return entries[len(entries)-1].Command, nil
	}

	text := object.Text(wanted)
	number, notNumber := object.Integer(wanted)
	for _, e := range slices.Backward(entries) {
		if (notNumber == nil && e.ID == number) || (notNumber != nil && strings.HasPrefix(e.Command, text)) {
			return e.Command, nil
		}
	}
	if notNumber == nil {
		return "", words.Errorf("Cannot locate the history for Id %d.", number)
	}
	return "", words.Errorf("Cannot locate history for command line %s.", text)
}
