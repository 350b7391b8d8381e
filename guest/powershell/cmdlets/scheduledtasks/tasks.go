package scheduledtasks

import (
	"cmp"
	"errors"
	"maps"
	"strings"
	"time"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/schedule"
)

// class is the class of CIM that a task is of.
const class = "MSFT_ScheduledTask"

// said reports an error of a task in the form of the module's.
func said(c *cmdlet.Call, err error) error {
	e := &object.Exception{
		Class: "Microsoft.Management.Infrastructure.CimException", ID: "HRESULT 0x80070057," + c.Name,
		Category: "InvalidArgument", Target: "PS_ScheduledTask:Root/Microsoft/...S_ScheduledTask", Message: err.Error(),
	}
	switch {
	case errors.Is(err, schedule.ErrExists):
		e.ID, e.Category = "HRESULT 0x800700b7,"+c.Name, "ResourceExists"
	case errors.Is(err, schedule.ErrNotFound):
		e.ID, e.Category = "HRESULT 0x80070002,"+c.Name, object.ObjectNotFound
	}
	return c.Fail(e)
}

// shown returns a task as Get-ScheduledTask shows it.
func shown(c *cmdlet.Call, t schedule.Task) *object.Object {
	state := "Ready"
	switch {
	case t.Disabled:
		state = "Disabled"
	case c.State.System.Tasks.StateOf(t).Running:
		state = "Running"
	}

	var actions, triggers []object.Value
	for _, a := range t.Actions {
		actions = append(actions, object.New(object.Custom).Set("Arguments", a.Arguments).Set("Execute", a.Execute).
			Set("WorkingDirectory", a.Dir))
	}
	for _, one := range t.Triggers {
		triggers = append(triggers, shownTrigger(one))
	}
	level := "Limited"
	if t.Highest {
		level = "Highest"
	}

	o := object.New(object.Custom).Set("TaskPath", t.Path).Set("TaskName", t.Name).Set("State", state)
	maps.Copy(o.Props, map[string]object.Value{
		"actions": actions, "triggers": triggers, "description": t.Description, "author": t.Author, "uri": t.FullPath(),
		"principal": object.New(object.Custom).Set("UserId", cmp.Or(t.User, "SYSTEM")).Set("RunLevel", level),
		"settings": object.New(object.Custom).Set("Enabled", !t.Disabled).Set("ExecutionTimeLimit", schedule.Duration(t.Limit)).
			Set("MultipleInstances", t.Instances).Set("StartWhenAvailable", t.Late).Set("RestartCount", int64(t.Restarts)).
			Set("RestartInterval", schedule.Duration(t.RestartAfter)),
		"date": t.Registered.Format(layout),
	})
	return o
}

func shownTrigger(t schedule.Trigger) *object.Object {
	start := ""
	if !t.Start.IsZero() {
		start = t.Start.Format(layout)
	}

	interval, duration := "", ""
	if t.Repeat > 0 {
		interval = schedule.Duration(t.Repeat)
	}
	if t.For > 0 {
		duration = schedule.Duration(t.For)
	}

	o := object.New(object.Custom).Set("Enabled", !t.Disabled).Set("Kind", t.Kind).Set("StartBoundary", start)
	switch t.Kind {
	case schedule.Daily:
		o.Set("DaysInterval", int64(t.Every))
	case schedule.Weekly:
		var days []object.Value
		for _, d := range t.Days {
			days = append(days, d.String())
		}
		o.Set("WeeksInterval", int64(t.Every)).Set("DaysOfWeek", days)
	}

	return o.Set("Repetition", object.New(object.Custom).Set("Duration", duration).Set("Interval", interval))
}

// chosen returns the tasks that the names of a call mean, or the tasks that it is given. What is missing is reported.
func chosen(c *cmdlet.Call) ([]schedule.Task, error) {
	all, err := c.State.System.Tasks.List()
	if err != nil {
		return nil, said(c, err)
	}

	var found []schedule.Task
	if objects := c.Items("inputobject"); c.Values["taskname"] == nil && len(objects) > 0 && c.Name != "Get-ScheduledTask" {
		for _, v := range objects {
			o := part(v)
			t, err := c.State.System.Tasks.Find(text(o, "TaskPath") + text(o, "TaskName"))
			if err != nil {
				if err := said(c, err); err != nil {
					return nil, err
				}
				continue
			}
			found = append(found, t)
		}
		return found, nil
	}

	met := map[string]bool{}
	for _, t := range all {
		name, err := c.Wanted("taskname", t.Name, met)
		if err != nil {
			return nil, err
		}
		path, err := c.Wanted("taskpath", t.Path, met)
		if err != nil {
			return nil, err
		}
		if name && path {
			found = append(found, t)
		}
	}
	return found, c.Unmet(class, map[string]string{"taskname": "TaskName", "taskpath": "TaskPath"}, met)
}

// each does something with each task that a call means.
func each(c *cmdlet.Call, do func(t schedule.Task) error) error {
	tasks, err := chosen(c)
	if err != nil {
		return err
	}
	for _, t := range tasks {
		if err := do(t); err != nil {
			if _, left := errors.AsType[*object.Leaving](err); left {
				return err
			}
			if err := said(c, err); err != nil {
				return err
			}
		}
	}
	return nil
}

func get(c *cmdlet.Call) error {
	return each(c, func(t schedule.Task) error { return c.Output(shown(c, t)) })
}

func info(c *cmdlet.Call) error {
	return each(c, func(t schedule.Task) error {
		is := c.State.System.Tasks.StateOf(t)
		var last, next object.Value
		result := int64(is.Result)
		if is.LastRun.IsZero() {
			result = 0x41303 // SCHED_S_TASK_HAS_NOT_RUN
		} else {
			last = object.DateTime{At: is.LastRun}
		}
		if at, ok := t.Next(time.Now(), time.Time{}); ok {
			next = object.DateTime{At: at}
		}
		return c.Output(object.New(object.Custom).Set("LastRunTime", last).Set("LastTaskResult", result).
			Set("NextRunTime", next).Set("NumberOfMissedRuns", int64(0)).Set("TaskName", t.Name).Set("TaskPath", t.Path))
	})
}

func start(c *cmdlet.Call) error { return each(c, c.State.System.Tasks.Start) }

func stop(c *cmdlet.Call) error { return each(c, c.State.System.Tasks.End) }

func unregister(c *cmdlet.Call) error { return each(c, c.State.System.Tasks.Delete) }

func switching(off bool) func(c *cmdlet.Call) error {
	return func(c *cmdlet.Call) error {
		return each(c, func(t schedule.Task) error {
			t.Disabled = off
			if err := c.State.System.Tasks.Put(t, true); err != nil {
				return err
			}
			return c.Output(shown(c, t))
		})
	}
}

func export(c *cmdlet.Call) error {
	return each(c, func(t schedule.Task) error {
		text, err := t.XML()
		if err != nil {
			return err
		}
		return c.Output(text)
	})
}

// register keeps a new task.
func register(c *cmdlet.Call) error {
	t := schedule.Task{Limit: 72 * time.Hour, Instances: "IgnoreNew"}
	if text := c.Text("xml"); text != "" {
		var err error
		if t, err = schedule.Read([]byte(text)); err != nil {
			return said(c, err)
		}
	}
	if err := fill(c, &t); err != nil {
		return said(c, err)
	}
	t.Registered = time.Time{} // now
	t.SetPath(strings.TrimSuffix(c.Text("taskpath"), `\`) + `\` + strings.Trim(c.Text("taskname"), `\`))
	if err := c.State.System.Tasks.Put(t, c.Flags["force"]); err != nil {
		return said(c, err)
	}
	return c.Output(shown(c, t))
}

// set changes a task.
func set(c *cmdlet.Call) error {
	return each(c, func(t schedule.Task) error {
		if err := fill(c, &t); err != nil {
			return err
		}
		if err := c.State.System.Tasks.Put(t, true); err != nil {
			return err
		}
		return c.Output(shown(c, t))
	})
}
