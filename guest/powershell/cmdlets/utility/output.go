package utility

import (
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/format"
	"mullion.dev/mullion/guest/powershell/object"
)

func writeOutput(c *cmdlet.Call) error {
	for v := range object.Each(c.Values["inputobject"]) {
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}
	for _, v := range c.Input {
		if err := c.Out.Put(v); err != nil {
			return err
		}
	}
	return nil
}

func writeHost(c *cmdlet.Call) error {
	end := c.State.Newline
	if c.Flags["nonewline"] {
		end = ""
	}
	var v object.Value = c.Input
	if !c.Piped {
		v = c.Values["object"]
	}

	separator := " "
	if given, ok := c.Values["separator"]; ok {
		separator = object.Text(given)
	}
	var parts []string
	for item := range object.Each(v) {
		parts = append(parts, object.Text(item))
	}

	if !c.Scope.Elsewhere(object.InformationStream) {
		c.Scope.Settle()
		defer c.State.Paint(c.Text("foregroundcolor"), c.Text("backgroundcolor"))()
	}
	return c.Scope.Message(object.InformationStream, strings.Join(parts, separator), end)
}

// writes returns a cmdlet that prints a message if the preference for its kind says so.
func writes(kind, mark string) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		what := c.Scope.Preference(kind + "preference")
		if kind == "warning" && c.Warnings != "" {
			what = c.Warnings
		}

		if on, given := c.Flags[kind]; given {
			what = "silentlycontinue"
			if on {
				what = "continue"
			}
		}
		if what == "silentlycontinue" || what == "ignore" {
			return nil
		}

		message := object.Text(object.One(c.Items(cmdlet.MessageName)))
		shown := message
		stream := map[string]rune{
			"warning": object.WarningStream, "verbose": object.VerboseStream,
			"debug": object.DebugStream,
		}[kind]
		if !c.Scope.Elsewhere(stream) {
			shown = mark + ": " + message
		}

		err := c.Scope.Message(stream, shown, c.State.Newline)
		if err == nil && what == "stop" {
			return object.Fatal("The running command stopped because its preference is Stop: %s", message)
		}
		return err
	}
}

func outString(c *cmdlet.Call) error {
	f := &format.Formatter{Newline: c.State.Newline}
	if v, ok := c.Values["width"]; ok {
		n, err := object.Integer(v)
		if err != nil || n < 2 {
			return object.Thrown("%s : -Width is a number, 2 or more, not %s.", c.Name, object.Text(v))
		}
		f.Width = int(n)
	}

	if c.Flags["stream"] {
		return outLines(c, f)
	}
	s, err := f.Text(c.Items(cmdlet.ObjectName))
	if err != nil {
		return err
	}
	return c.Out.Put(s)
}

// outLines outputs a string for each line of what would be shown.
func outLines(c *cmdlet.Call, f *format.Formatter) error {
	s, err := f.Text(c.Items(cmdlet.ObjectName))
	if err != nil || s == "" {
		return err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(s, f.Newline), f.Newline) {
		if err := c.Out.Put(line); err != nil {
			return err
		}
	}
	return nil
}

func startSleep(c *cmdlet.Call) error {
	seconds, err := object.Floating(c.Values["seconds"])
	if err != nil {
		return err
	}
	millis, err := object.Floating(c.Values["milliseconds"])
	if err != nil {
		return err
	}

	if len(c.Values) == 0 || seconds < 0 || millis < 0 {
		return object.Thrown("Start-Sleep : a number of seconds or milliseconds, 0 or more, is missing.")
	}
	t := time.NewTimer(time.Duration(seconds*float64(time.Second) + millis*float64(time.Millisecond)))
	defer t.Stop()

	return c.State.Await(nil, t.C)
}
