package scheduledtasks

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/schedule"
)

func newAction(c *cmdlet.Call) error {
	return c.Output(object.New(object.Custom).Set("Id", c.Text("id")).Set("Arguments", c.Text("argument")).
		Set("Execute", c.Text("execute")).Set("WorkingDirectory", c.Text("workingdirectory")))
}

// layout is the form of times in triggers.
const layout = "2006-01-02T15:04:05"

// moment returns the time that -At names: a DateTime, or a text such as 3am.
func moment(v object.Value) (time.Time, error) {
	if at, ok := v.(object.DateTime); ok {
		return at.At, nil
	}
	text := strings.ToUpper(strings.TrimSpace(object.Text(v)))
	for _, form := range []string{"3PM", "3 PM", "3:04PM", "3:04 PM", "15:04"} {
		if at, err := time.Parse(form, text); err == nil {
			now := time.Now()
			midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
			return midnight.Add(time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute), nil
		}
	}
	at, err := object.ParseDate(object.Text(v))
	if err != nil {
		return time.Time{}, err
	}
	return at.(object.DateTime).At, nil //nolint:forcetypeassert // that is what it gives
}

// span returns the time of a parameter, 0 without one. One that is longer than a year means for ever.
func span(c *cmdlet.Call, parameter string) (time.Duration, error) {
	v, there := c.Values[parameter]
	if !there || v == nil {
		return 0, nil
	}
	made, err := object.ToSpan(v)
	if err != nil {
		return 0, err
	}
	d := object.Own[time.Duration](made)
	if d > 366*24*time.Hour {
		d = 0
	}
	return d, nil
}

func newTrigger(c *cmdlet.Call) error {
	kinds := map[string]string{"once": schedule.Once, "daily": schedule.Daily, "weekly": schedule.Weekly, "atstartup": schedule.Startup}
	kind := ""
	for flag, is := range kinds {
		if c.Flags[flag] {
			kind = is
		}
	}
	_, random := c.Values["randomdelay"]
	switch {
	case c.Flags["atlogon"]:
		return object.Thrown("%s : -AtLogOn is not part of Mullion's PowerShell: nobody logs on.", c.Name)
	case random:
		return object.Thrown("%s : -RandomDelay is not part of Mullion's PowerShell.", c.Name)
	case kind == "":
		return object.Misfit("AmbiguousParameterSet", "Parameter set cannot be resolved using the specified named parameters.")
	}

	o := object.New(object.Custom).Set("Enabled", true).Set("Kind", kind)
	boundary := ""
	if kind != schedule.Startup {
		at, err := moment(c.Values["at"])
		if err != nil {
			return err
		}
		boundary = at.Format(layout)
	}
	o.Set("StartBoundary", boundary)
	if kind == schedule.Daily {
		o.Set("DaysInterval", cmp.Or(c.Values["daysinterval"], object.Value(int64(1))))
	}
	if kind == schedule.Weekly {
		o.Set("WeeksInterval", cmp.Or(c.Values["weeksinterval"], object.Value(int64(1)))).Set("DaysOfWeek", c.Values["daysofweek"])
	}

	repetition := object.New(object.Custom)
	for _, p := range []struct{ parameter, name string }{{"repetitionduration", "Duration"}, {"repetitioninterval", "Interval"}} {
		d, err := span(c, p.parameter)
		if err != nil {
			return err
		}
		text := ""
		if d > 0 {
			text = schedule.Duration(d)
		}
		repetition.Set(p.name, text)
	}
	return c.Output(o.Set("Repetition", repetition))
}

func newPrincipal(c *cmdlet.Call) error {
	return c.Output(object.New(object.Custom).Set("Id", cmp.Or(c.Text("id"), "Author")).Set("UserId", c.Text("userid")).
		Set("GroupId", c.Text("groupid")).Set("LogonType", cmp.Or(c.Text("logontype"), "Interactive")).
		Set("RunLevel", cmp.Or(c.Text("runlevel"), "Limited")))
}

func newSettings(c *cmdlet.Call) error {
	limit, err := span(c, "executiontimelimit")
	if err != nil {
		return err
	}
	if _, there := c.Values["executiontimelimit"]; !there {
		limit = 72 * time.Hour
	}
	after, err := span(c, "restartinterval")
	if err != nil {
		return err
	}
	return c.Output(object.New(object.Custom).Set("Enabled", !c.Flags["disable"]).
		Set("ExecutionTimeLimit", schedule.Duration(limit)).
		Set("MultipleInstances", cmp.Or(c.Text("multipleinstances"), "IgnoreNew")).
		Set("StartWhenAvailable", c.Flags["startwhenavailable"]).Set("Hidden", c.Flags["hidden"]).
		Set("RestartCount", cmp.Or(c.Values["restartcount"], object.Value(int64(0)))).
		Set("RestartInterval", schedule.Duration(after)))
}

func newTask(c *cmdlet.Call) error {
	o := object.New(object.Custom)
	for _, p := range []struct{ parameter, name string }{
		{"action", "Actions"}, {"trigger", "Triggers"}, {"principal", "Principal"}, {"settings", "Settings"}, {"description", "Description"},
	} {
		o.Set(p.name, c.Values[p.parameter])
	}
	return c.Output(o)
}

// fill gives a task what a call says of it: its own parameters, and those of a task that New-ScheduledTask made.
func fill(c *cmdlet.Call, t *schedule.Task) error {
	given := func(parameter, property string) (object.Value, bool) {
		if v, there := c.Values[parameter]; there {
			return v, true
		}
		for _, v := range c.Items("inputobject") {
			if value := part(v).Props[property]; value != nil {
				return value, true
			}
		}
		return nil, false
	}

	if v, there := given("action", "actions"); there {
		t.Actions = nil
		for one := range object.Each(v) {
			o := part(one)
			t.Actions = append(t.Actions, schedule.Action{
				Execute: text(o, "Execute"), Arguments: text(o, "Arguments"), Dir: text(o, "WorkingDirectory"),
			})
		}
	}
	if v, there := given("trigger", "triggers"); there {
		t.Triggers = nil
		for one := range object.Each(v) {
			trigger, err := readTrigger(part(one))
			if err != nil {
				return err
			}
			t.Triggers = append(t.Triggers, trigger)
		}
	}
	if v, there := given("principal", "principal"); there {
		o := part(v)
		t.User = text(o, "UserId") + text(o, "GroupId")
		t.Highest = strings.EqualFold(text(o, "RunLevel"), "Highest")
	}
	if v, there := given("description", "description"); there {
		t.Description = object.Text(v)
	}
	t.User = cmp.Or(c.Text("user"), t.User)
	t.Highest = t.Highest || strings.EqualFold(c.Text("runlevel"), "highest")
	if v, there := given("settings", "settings"); there {
		return readSettings(part(v), t)
	}
	return nil
}

// part returns a part of a task; what is none has no properties.
func part(v object.Value) *object.Object {
	if o, ok := v.(*object.Object); ok {
		return o
	}
	return object.New(object.Custom)
}

func text(o *object.Object, name string) string { return object.Text(o.Props[strings.ToLower(name)]) }

func number(o *object.Object, name string) int {
	n, _ := object.Plain(o.Props[strings.ToLower(name)]).(int64)
	return int(n)
}

func readSettings(o *object.Object, t *schedule.Task) error {
	var err error
	t.Disabled = !object.Truth(o.Props["enabled"])
	t.Late = object.Truth(o.Props["startwhenavailable"])
	t.Instances = text(o, "MultipleInstances")
	t.Restarts = number(o, "RestartCount")
	if t.RestartAfter, err = schedule.ParseDuration(text(o, "RestartInterval")); err != nil {
		return err
	}
	t.Limit, err = schedule.ParseDuration(text(o, "ExecutionTimeLimit"))
	return err
}

func readTrigger(o *object.Object) (schedule.Trigger, error) {
	t := schedule.Trigger{Kind: text(o, "Kind"), Disabled: !object.Truth(o.Props["enabled"])}
	var err error
	if start := text(o, "StartBoundary"); start != "" {
		if t.Start, err = time.ParseInLocation(layout, start, time.Local); err != nil {
			return t, err
		}
	}
	t.Every = number(o, "DaysInterval") + number(o, "WeeksInterval")
	for v := range object.Each(o.Props["daysofweek"]) {
		for name := range strings.SplitSeq(object.Text(v), ",") {
			name = strings.TrimSpace(name)
			is := func(d time.Weekday) bool { return strings.EqualFold(d.String(), name) }
			day := slices.IndexFunc(weekdays(), is)
			if day < 0 {
				return t, object.CannotConvert(name, "Microsoft.PowerShell.Cmdletization.GeneratedTypes.ScheduledTask.DayOfWeekEnum")
			}
			t.Days = append(t.Days, weekdays()[day])
		}
	}

	repetition := part(o.Props["repetition"])
	if t.Repeat, err = schedule.ParseDuration(text(repetition, "Interval")); err != nil {
		return t, err
	}
	t.For, err = schedule.ParseDuration(text(repetition, "Duration"))
	return t, err
}

func weekdays() []time.Weekday {
	return []time.Weekday{
		time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday,
	}
}
