package schtasks

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/schedule"
)

// field is one thing that /query shows of a task.
type field struct{ name, value string }

// fields returns what is shown of a task: three columns, and with /v more.
func (c call) fields(t schedule.Task) []field {
	is := c.s.StateOf(t)
	next := "N/A"
	if at, ok := t.Next(c.now, time.Time{}); ok {
		next = at.Format("1/2/2006 3:04:05 PM")
	}
	status := "Ready"
	switch {
	case t.Disabled:
		status = "Disabled"
	case is.Running:
		status = "Running"
	}

	all := []field{{"TaskName", t.FullPath()}, {"Next Run Time", next}, {"Status", status}}
	if !c.flags["v"] {
		return all
	}

	last := "N/A"
	if !is.LastRun.IsZero() {
		last = is.LastRun.Format("1/2/2006 3:04:05 PM")
	}
	var run []string
	for _, a := range t.Actions {
		run = append(run, strings.TrimSpace(a.Execute+" "+a.Arguments))
	}
	state, user := "Enabled", t.User
	if t.Disabled {
		state = "Disabled"
	}
	if user == "" {
		user = "SYSTEM"
	}

	return append(all,
		field{"Last Run Time", last}, field{"Last Result", strconv.Itoa(int(int32(is.Result)))}, //nolint:gosec // as Windows shows it
		field{"Author", t.Author}, field{"Task To Run", strings.Join(run, ", ")}, field{"Comment", t.Description},
		field{"Scheduled Task State", state}, field{"Run As User", user})
}

// noTasks is what is said where there are no tasks.
const noTasks = "INFO: There are no scheduled tasks presently available at your access level."

// query shows tasks.
func (c call) query() error {
	tasks, err := c.s.List()
	if err != nil {
		return err
	}
	if name := c.values["tn"]; name != "" {
		t, err := c.s.Find(name)
		if err != nil {
			return err
		}
		tasks = []schedule.Task{t}
	}
	form := strings.ToLower(c.values["fo"])
	show := map[string]func([]schedule.Task){"": c.table, "table": c.table, "list": c.list, "csv": c.csv}[form]
	switch {
	case c.flags["xml"]:
		return c.xml(tasks)
	case show == nil:
		return saidf("Invalid syntax. Value expected for '/fo', got %q.", c.values["fo"])
	}
	if len(tasks) == 0 {
		c.e.Print("%s", noTasks)
	}
	show(tasks)

	return nil
}

// xml shows tasks as they are kept.
func (c call) xml(tasks []schedule.Task) error {
	for _, t := range tasks {
		text, err := t.XML()
		if err != nil {
			return err
		}
		fmt.Fprint(c.e.Stdout, strings.ReplaceAll(text, "\n", "\r\n"))
	}
	return nil
}

// list shows tasks, a line for each thing.
func (c call) list(tasks []schedule.Task) {
	for _, t := range tasks {
		c.e.Print("\r\nFolder: %s", shownFolder(t.Path))
		for _, f := range append([]field{{"HostName", c.e.Getenv("COMPUTERNAME")}}, c.fields(t)...) {
			c.e.Print("%-38s%s", f.name+":", f.value)
		}
	}
}

// csv shows tasks, a line for each task.
func (c call) csv(tasks []schedule.Task) {
	for i, t := range tasks {
		var names, values []string
		for _, f := range c.fields(t) {
			names, values = append(names, quoted(f.name)), append(values, quoted(f.value))
		}
		if i == 0 && !c.flags["nh"] {
			c.e.Print("%s", strings.Join(names, ","))
		}
		c.e.Print("%s", strings.Join(values, ","))
	}
}

// quoted returns a value as it stands in a line of /fo csv.
func quoted(value string) string { return `"` + strings.ReplaceAll(value, `"`, `""`) + `"` }

// shownFolder returns a folder as /query shows it.
func shownFolder(path string) string { return cmp.Or(strings.TrimSuffix(path, `\`), `\`) }

// table shows tasks folder by folder.
func (c call) table(tasks []schedule.Task) {
	folder := ""
	for _, t := range tasks {
		if t.Path != folder {
			folder = t.Path
			c.e.Print("\r\nFolder: %s", shownFolder(t.Path))
			if !c.flags["nh"] {
				c.e.Print("%-40s %-22s %-15s", "TaskName", "Next Run Time", "Status")
				c.e.Print("%s %s %s", strings.Repeat("=", 40), strings.Repeat("=", 22), strings.Repeat("=", 15))
			}
		}
		all := c.fields(t)
		c.e.Print("%-40s %-22s %-15s", t.Name, all[1].value, all[2].value)
	}
}
