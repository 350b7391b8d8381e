package jobs

import (
	"fmt"
	"strings"

	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/session"
)

// wantedJobs are what the parameters and the input of a cmdlet say of jobs.
type wantedJobs struct {
	ids                    []string // numbers, and identifiers of instances
	names, states, command []string
	all                    bool // nothing is said
}

func wantedOf(c *cmdlet.Call) wantedJobs {
	texts := func(name string) []string {
		var all []string
		for v := range object.Each(c.Values[name]) {
			all = append(all, object.Text(v))
		}
		return all
	}

	w := wantedJobs{
		names:   texts("name"),
		states:  texts("state"),
		command: texts("command"),
		ids:     texts("instanceid"),
	}
	for v := range object.Each(append(object.Items(c.Values["id"]), c.Input...)) {
		if o, ok := v.(*object.Object); ok && o.Kind == "job" {
			v = o.Props["id"]
		}
		w.ids = append(w.ids, object.Text(v))
	}
	w.all = len(w.ids) == 0 && len(w.names) == 0 && len(w.states) == 0 && len(w.command) == 0 && !c.Piped
	return w
}

// has reports whether one of some patterns fits a text.
func has(patterns []string, text string) (bool, error) {
	for _, p := range patterns {
		re, err := pattern.Wildcard(p)
		if err != nil {
			return false, err
		}
		if re.MatchString(text) {
			return true, nil
		}
	}
	return false, nil
}

// takes reports whether a job is wanted.
func (w wantedJobs) takes(j numbered) (bool, error) {
	if w.all {
		return true, nil
	}
	o := j.object()
	for _, id := range w.ids {
		if id == fmt.Sprint(j.id) || strings.EqualFold(id, object.Text(o.Props["instanceid"])) {
			return true, nil
		}
	}
	for _, state := range w.states {
		if strings.EqualFold(state, j.state()) {
			return true, nil
		}
	}
	if found, err := has(w.names, object.Text(o.Props["name"])); found || err != nil {
		return found, err
	}
	return has(w.command, object.Text(o.Props["command"]))
}

// selected returns the jobs that a cmdlet's parameters or input name. Of a number or a name that none has it complains.
func selected(c *cmdlet.Call) ([]numbered, error) {
	w := wantedOf(c)
	var chosen []numbered
	found := map[string]bool{}
	for _, j := range session.Keep[jobList](c.State).list {
		takes, err := w.takes(j)
		if err != nil {
			return nil, object.Thrown("%s : %v.", c.Name, err)
		}
		if takes {
			chosen = append(chosen, j)
			o := j.object()
			for _, name := range []string{"id", "name", "instanceid"} {
				found[strings.ToLower(object.Text(o.Props[name]))] = true
			}
		}
	}

	for _, name := range []string{"id", "instanceid", "name"} {
		for v := range object.Each(c.Values[name]) {
			if o, is := v.(*object.Object); is && o.Kind == "job" {
				v = o.Props["id"]
			}
			text := object.Text(v)
			if found[strings.ToLower(text)] || strings.ContainsAny(text, "*?[") {
				continue
			}
			if err := c.Fail(noJob(name, v)); err != nil {
				return nil, err
			}
		}
	}
	return chosen, nil
}

// noJob is the error of a job that is not there.
func noJob(parameter string, v object.Value) error {
	e := &object.Exception{
		Class:    "System.Management.Automation.PSArgumentException",
		Category: object.ObjectNotFound,
		Target:   v,
	}
	switch text := object.Text(v); parameter {
	case "id":
		e.ID = "JobWithSpecifiedSessionNotFound"
		e.Message = "The command cannot find a job with the job ID " + text + ". Verify the value of the Id parameter and then try the command again."
	case "instanceid":
		e.ID = "JobWithSpecifiedInstanceIdNotFound"
		e.Message = "The command cannot find a job with the InstanceId identifier " + text + ". Verify the value of the InstanceId parameter and then try the command again."
	default:
		e.ID = "JobWithSpecifiedNameNotFound"
		e.Message = "The command cannot find the job because the job name " + text + " was not found. Verify the value of the Name parameter, and then try the command again."
	}
	return e
}
