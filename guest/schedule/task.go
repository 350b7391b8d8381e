// Package schedule owns the scheduled tasks of this Windows: what a task is, the XML in which Windows keeps it
// (C:\Windows\System32\Tasks), when its triggers are due, and the engine that runs it. The engine is the program of the
// service Schedule (taskeng.exe), which is started with the first task that is registered, and by itself with Windows
// from then on. schtasks.exe and the cmdlets of the module ScheduledTasks work on the same folder.
//
// A task runs as the service does, which is SYSTEM: nobody logs on, so there are no triggers at a logon, and a task of
// another account is refused. Nothing tells when a machine is idle or on batteries: what a task says of these changes
// nothing.
package schedule

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Task is a scheduled task.
type Task struct {
	// Path is its folder, with a backslash at both ends, such as \ or \Microsoft\Windows\.
	Path, Name string

	Description, Author string
	Registered          time.Time
	Triggers            []Trigger
	Actions             []Action

	// User is its account, "" for SYSTEM. Highest says that it has the rights of an administrator.
	User    string
	Highest bool

	Disabled bool
	// Limit is how long it may run, 0 as long as it wants.
	Limit time.Duration
	// Instances is what becomes of a start while it runs: IgnoreNew, Parallel, StopExisting.
	Instances string
	// Late says that a start that was missed is made up for.
	Late bool
	// Restarts is how often a program that cannot be started is tried again, each after the time RestartAfter.
	Restarts     int
	RestartAfter time.Duration
}

// Action is a program that a task runs.
type Action struct{ Execute, Arguments, Dir string }

// The kinds of triggers.
const (
	Once    = "Once"
	Daily   = "Daily"
	Weekly  = "Weekly"
	Startup = "Startup"
)

// Trigger says when a task runs.
type Trigger struct {
	Kind  string
	Start time.Time
	// Every is after how many days or weeks it runs again; Days are the days of the week.
	Every int
	Days  []time.Weekday
	// Repeat is after how long it runs again, for the time For after each start, 0 for ever.
	Repeat, For time.Duration
	Disabled    bool
}

// Bounds of a task, the first three as Windows has them
// (https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema).
const (
	mostTriggers = 48
	mostActions  = 32
	mostDays     = 365
	mostWeeks    = 52
	mostName     = 200
	mostTasks    = 2000
)

// said is an error in the words of Windows, which a person sees as they stand.
type said string

func (s said) Error() string { return string(s) }

func saidf(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }

// ErrName is the error of a name that no file can have.
const ErrName = said("The filename, directory name, or volume label syntax is incorrect.")

// FullPath returns the folder and the name of a task.
func (t Task) FullPath() string { return t.Path + t.Name }

// SetPath gives the task the folder and the name of a full path.
func (t *Task) SetPath(full string) {
	full = `\` + strings.Trim(full, `\`)
	at := strings.LastIndexByte(full, '\\')
	t.Path, t.Name = full[:at+1], full[at+1:]
}

// Check returns what is wrong with a task, or is not carried out here.
func (t Task) Check() error {
	if !named(t.FullPath()) {
		return ErrName
	}

	switch {
	case len(t.Actions) == 0:
		return missing("Exec")
	case len(t.Actions) > mostActions || len(t.Triggers) > mostTriggers:
		return saidf("The task has more than %d actions or %d triggers.", mostActions, mostTriggers)
	case !runsAs(t.User):
		return saidf("The task cannot run as %s: tasks run as SYSTEM in Mullion, no account can log on.", t.User)
	case t.Instances != "" && !slices.Contains([]string{"IgnoreNew", "Parallel", "StopExisting"}, t.Instances):
		return saidf("MultipleInstances %s is not carried out in Mullion.", t.Instances)
	case t.Restarts < 0, t.Restarts > 999, t.Restarts > 0 && t.RestartAfter < time.Minute:
		return outOfRange("RestartOnFailure")
	}

	for _, a := range t.Actions {
		if a.Execute == "" {
			return outOfRange("Command")
		}
	}
	for _, one := range t.Triggers {
		if err := one.check(); err != nil {
			return err
		}
	}

	return nil
}

// named reports whether a full path can be one of files.
func named(full string) bool {
	for part := range strings.SplitSeq(strings.Trim(full, `\`), `\`) {
		control := strings.ContainsFunc(part, func(r rune) bool { return r < ' ' })
		if control || part == "" || len(part) > mostName || strings.ContainsAny(part, `/:*?"<>|`) ||
			strings.TrimRight(part, " .") != part {
			return false
		}
	}
	return true
}

// runsAs reports whether tasks may have an account: SYSTEM, and those that are it here.
func runsAs(user string) bool {
	name := strings.ToLower(user)
	for _, domain := range []string{`nt authority\`, `builtin\`, `user manager\`, `.\`} {
		name = strings.TrimPrefix(name, domain)
	}
	return slices.Contains([]string{
		"", "system", "localsystem", "s-1-5-18", "administrators", "s-1-5-32-544", "administrator", "containeradministrator",
	}, name)
}

func (t Trigger) check() error {
	most := map[string]int{Daily: mostDays, Weekly: mostWeeks}[t.Kind]
	switch {
	case !slices.Contains([]string{Once, Daily, Weekly, Startup}, t.Kind):
		return saidf("A trigger of the kind %s is not carried out in Mullion.", t.Kind)
	case most > 0 && (t.Every < 1 || t.Every > most):
		return outOfRange("DaysInterval, WeeksInterval")
	case t.Kind == Weekly && len(t.Days) == 0:
		return missing("DaysOfWeek")
	case t.Kind != Startup && t.Start.IsZero():
		return missing("StartBoundary")
	case !t.repeats():
		return outOfRange("Interval, Duration")
	}
	return nil
}

// repeats reports whether the repetitions are as Windows takes them: a minute to 31 days apart, for longer than that.
func (t Trigger) repeats() bool {
	if t.Repeat == 0 {
		return t.For >= 0
	}
	return t.Repeat >= time.Minute && t.Repeat <= 31*24*time.Hour && (t.For == 0 || t.For >= t.Repeat)
}

// outOfRange is the error of a value that an element cannot have, missing that of an element that has to be there.
func outOfRange(what string) error {
	return said("The task XML contains a value which is incorrectly formatted or out of range: " + what + ".")
}

func missing(what string) error {
	return said("The task XML is missing a required element or attribute: " + what + ".")
}

// Next returns when a trigger is due after a time; false if it is not again. One at the start of Windows has no times
// but those of its repetition, which from tells.
func (t Trigger) Next(after, from time.Time) (time.Time, bool) {
	if t.Disabled {
		return time.Time{}, false
	}
	last, next := t.starts(after, from)
	if !last.IsZero() && t.Repeat > 0 {
		seconds := int64(t.Repeat / time.Second)
		passed := (elapsed(last, after)/seconds + 1) * seconds
		at := time.Unix(last.Unix()+passed, int64(last.Nanosecond())).In(last.Location())
		if (t.For == 0 || passed < int64(t.For/time.Second)) && (next.IsZero() || at.Before(next)) {
			return at, true
		}
	}
	return next, !next.IsZero()
}

// elapsed returns the whole seconds between two times, which may be more years apart than a time.Duration holds.
func elapsed(from, to time.Time) int64 {
	seconds := to.Unix() - from.Unix()
	if to.Nanosecond() < from.Nanosecond() {
		seconds--
	}
	return seconds
}

// starts returns the last start at or before a time and the first after it, without repetitions; zero if there is none.
func (t Trigger) starts(after, from time.Time) (last, next time.Time) {
	switch t.Kind {
	case Startup:
		return from, time.Time{}
	case Once:
		if t.Start.After(after) {
			return time.Time{}, t.Start
		}
		return t.Start, time.Time{}
	}

	span := t.Every
	if t.Kind == Weekly {
		span *= 7
	}
	days := 0
	if after.After(t.Start) {
		days = max(0, int(elapsed(t.Start, after)/(24*60*60))-span-1)
	}
	for ; ; days++ {
		at := t.Start.AddDate(0, 0, days)
		if !t.on(days, at) {
			continue
		}
		if at.After(after) {
			return last, at
		}
		last = at
	}
}

// on reports whether a trigger is due on a day, so many days after its first.
func (t Trigger) on(days int, at time.Time) bool {
	if t.Kind == Daily {
		return days%t.Every == 0
	}
	week := (days + int(t.Start.Weekday())) / 7
	return week%t.Every == 0 && slices.Contains(t.Days, at.Weekday())
}

// Next returns when a task is due after a time; false if it is not.
func (t Task) Next(after, from time.Time) (time.Time, bool) {
	var first time.Time
	if t.Disabled {
		return first, false
	}
	for _, one := range t.Triggers {
		if at, ok := one.Next(after, from); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first, !first.IsZero()
}
