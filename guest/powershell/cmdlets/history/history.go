// Package history has the cmdlets for the commands that were typed at the prompt
// (https://learn.microsoft.com/en-us/powershell/module/microsoft.powershell.core/about/about_history). A script has
// none.
package history

import (
	"fmt"
	"slices"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/session"
	"mullion.dev/mullion/guest/powershell/words"
)

// item returns a command of the history as an object.
func item(e session.Entry) *object.Object {
	o := object.New("history").Set("Id", e.ID).Set("CommandLine", e.Command)
	o.Props["executionstatus"] = e.Status
	o.Props["startexecutiontime"] = object.DateTime{At: e.Start}
	o.Props["endexecutiontime"] = object.DateTime{At: e.End}
	return o
}

// numbers returns the numbers that a call names by -Id or by its input.
func numbers(c *cmdlet.Call) ([]int64, error) {
	var ids []int64
	for v := range object.Each(append(object.Items(c.Values["id"]), c.Input...)) {
		if o, is := v.(*object.Object); is && o.Kind == "history" {
			v = o.Props["id"]
		}
		id, err := object.Integer(v)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// get outputs the commands that were typed before this one: the newest, as many as -Count says, or those of numbers.
func get(c *cmdlet.Call) error {
	entries := session.Keep[session.History](c.State).Entries
	ids, err := numbers(c)
	if err != nil {
		return err
	}

	for _, id := range ids {
		at := slices.IndexFunc(entries, func(e session.Entry) bool { return e.ID == id })
		if at < 0 {
			if err := c.Fail(words.Errorf("Cannot locate the history for Id %d.", id)); err != nil {
				return err
			}
			continue
		}
		if err := c.Out.Put(item(entries[at])); err != nil {
			return err
		}
	}
	if len(ids) > 0 || c.Piped {
		return nil
	}

	if v, given := c.Values["count"]; given {
		most, err := object.Integer(v)
		if err != nil {
			return err
		}
		if most < 0 || most > 32767 {
			return c.Cmdlet.Unbound(fmt.Errorf("Cannot validate argument on parameter 'Count'. The %d argument is not "+ //nolint:staticcheck // Windows' words
				"between 0 and 32767.", most))
		}
		entries = entries[max(0, len(entries)-int(most)):]
	}
	for _, e := range entries {
		if err := c.Out.Put(item(e)); err != nil {
			return err
		}
	}
	return nil
}

// forget forgets all commands, or those of numbers.
func forget(c *cmdlet.Call) error {
	h := session.Keep[session.History](c.State)
	ids, err := numbers(c)
	if err != nil {
		return err
	}
	h.Entries = slices.DeleteFunc(h.Entries, func(e session.Entry) bool {
		return len(ids) == 0 || slices.Contains(ids, e.ID)
	})
	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	return []cmdlet.Cmdlet{
		{
			Name:      "Get-History",
			Aliases:   []string{"ghy", "h", "history"},
			About:     "the commands that were typed at the prompt: kept for the session, in no file",
			Run:       get,
			Values:    []string{"id", "count"},
			Positions: []string{"id", "count"},
			Takes:     "id",
		},
		{
			Name:      "Clear-History",
			Aliases:   []string{"clhy"},
			About:     "forgets the commands that were typed",
			Run:       forget,
			Values:    []string{"id"},
			Positions: []string{"id"},
		},
	}
}
