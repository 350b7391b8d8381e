// Package schtasks owns schtasks.exe, which makes, shows, runs, ends and deletes scheduled tasks. What a task is, and
// what runs it, is in package schedule.
package schtasks

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"mullion.dev/mullion/guest/schedule"
	"mullion.dev/mullion/guest/tools/program"
)

// verbs are what schtasks does, each with its options that have a value and those that have none
// (https://learn.microsoft.com/windows-server/administration/windows-commands/schtasks).
func verbs() map[string][2]string {
	return map[string][2]string{
		"create": {" tn tr sc mo d st sd ru rp rl ri du xml np ", " f z "},
		"query":  {" tn fo ", " v nh xml "},
		"run":    {" tn ", " i "},
		"end":    {" tn ", " "},
		"delete": {" tn ", " f "},
		"change": {" tn tr ru rp st ", " enable disable "},
	}
}

const usage = "SCHTASKS /parameter [arguments]\r\n\r\nParameter List:\r\n" +
	"    /Create    /Delete    /Query    /Change    /Run    /End    /?"

// said is an error in the words of Windows' schtasks.exe.
type said string

func (s said) Error() string { return string(s) }

func saidf(format string, args ...any) error { return said(fmt.Sprintf(format, args...)) }

// call is a call of schtasks.
type call struct {
	e      program.Env
	s      *schedule.Store
	now    time.Time
	values map[string]string
	flags  map[string]bool
}

// Run carries out a call.
func Run(e program.Env, s *schedule.Store, now time.Time, args []string) int {
	verb := "query"
	if len(args) > 0 {
		name, is := program.Option(args[0])
		if !is || name == "?" {
			e.Print(usage)
			return 0
		}
		verb, args = name, args[1:]
	}

	options, known := verbs()[verb]
	if !known {
		e.Unknown("schtasks", "/"+verb)
		return 1
	}

	c := call{
		e:      e,
		s:      s,
		now:    now,
		values: map[string]string{},
		flags:  map[string]bool{},
	}
	for i := 0; i < len(args); i++ {
		name, is := program.Option(args[i])
		switch {
		case is && name == "?":
			e.Print(usage)
			return 0
		case is && strings.Contains(options[1], " "+name+" "):
			c.flags[name] = true
		case is && i+1 < len(args) && strings.Contains(options[0], " "+name+" "):
			i++
			c.values[name] = args[i]
		default:
			e.Unknown("schtasks", args[i])
			return 1
		}
	}

	if err := c.do(verb); err != nil {
		e.Complain("ERROR: %v", err)
		return 1
	}

	return 0
}

func (c call) do(verb string) error {
	if verb == "query" {
		return c.query()
	}
	if c.values["tn"] == "" {
		return saidf("Invalid syntax. Mandatory option '/tn' is missing.")
	}
	if verb == "create" {
		return c.create()
	}

	if verb == "delete" && c.values["tn"] == "*" {
		return c.deleteAll()
	}
	t, err := c.s.Find(c.values["tn"])
	if err != nil {
		if verb == "delete" {
			return saidf("The specified task name %q does not exist in the system.", c.values["tn"])
		}
		return err
	}

	switch verb {
	case "run":
		err = c.s.Start(t)
		c.say(err, `SUCCESS: Attempted to run the scheduled task "%s".`, c.values["tn"])
	case "end":
		err = c.s.End(t)
		c.say(err, `SUCCESS: The scheduled task "%s" has been terminated successfully.`, c.values["tn"])
	case "delete":
		if !c.sure(fmt.Sprintf(`WARNING: Are you sure you want to remove the task "%s" (Y/N)? `, c.values["tn"])) {
			return nil
		}
		err = c.s.Delete(t)
		c.say(err, `SUCCESS: The scheduled task "%s" was successfully deleted.`, c.values["tn"])
	case "change":
		err = c.change(t)
		c.say(err, `SUCCESS: The parameters of scheduled task "%s" have been changed.`, c.values["tn"])
	}

	return err
}

func (c call) say(err error, format string, args ...any) {
	if err == nil {
		c.e.Print(format, args...)
	}
}

// sure asks, unless /f says that nobody is to be asked.
func (c call) sure(question string) bool {
	if c.flags["f"] {
		return true
	}
	fmt.Fprint(c.e.Stdout, question)
	var answer string
	_, _ = fmt.Fscanln(c.e.Stdin, &answer) // nothing is no
	return strings.EqualFold(answer, "y")
}

func (c call) deleteAll() error {
	if !c.sure("WARNING: Are you sure you want to remove all the tasks (Y/N)? ") {
		return nil
	}
	all, err := c.s.List()
	if err == nil && len(all) == 0 {
		c.e.Print("%s", noTasks)
	}
	for _, t := range all {
		if err := c.s.Delete(t); err != nil {
			return err
		}
		c.e.Print(`SUCCESS: The scheduled task "%s" was successfully deleted.`, t.FullPath())
	}
	return err
}

func (c call) create() error {
	t, err := c.described()
	if err != nil {
		return err
	}

	if c.flags["z"] {
		return saidf("/z is not carried out in Mullion.")
	}
	t.User = cmp.Or(c.values["ru"], t.User)
	t.Highest = t.Highest || strings.EqualFold(c.values["rl"], "highest")
	t.SetPath(c.values["tn"])
	_, err = c.s.Find(t.FullPath())
	replace := err == nil && c.sure(fmt.Sprintf(`WARNING: The task name "%s" already exists. Do you want to replace it (Y/N)? `, c.values["tn"]))
	if err == nil && !replace {
		return nil
	}
	err = c.s.Put(t, replace)
	c.say(err, `SUCCESS: The scheduled task "%s" has successfully been created.`, c.values["tn"])

	return err
}

// described returns the task that /xml, or /tr and /sc, describe.
func (c call) described() (schedule.Task, error) {
	if file := c.values["xml"]; file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return schedule.Task{}, err
		}
		t, err := schedule.Read(data)
		t.Registered = time.Time{}
		return t, err
	}

	t := schedule.Task{Limit: 72 * time.Hour, Instances: "IgnoreNew"}
	if c.values["sc"] == "" || c.values["tr"] == "" {
		return t, saidf("Invalid syntax. Mandatory option '/sc' or '/tr' is missing.")
	}
	t.Actions = []schedule.Action{action(c.values["tr"])}
	var err error
	t.Triggers, err = c.trigger()

	return t, err
}

// action takes the value of /tr apart: a program, perhaps in quotes, and its arguments.
func action(line string) schedule.Action {
	line = strings.TrimSpace(line)
	if rest, quoted := strings.CutPrefix(line, `"`); quoted {
		name, args, _ := strings.Cut(rest, `"`)
		return schedule.Action{Execute: name, Arguments: strings.TrimSpace(args)}
	}
	name, args, _ := strings.Cut(line, " ")
	return schedule.Action{Execute: name, Arguments: strings.TrimSpace(args)}
}

// invalid is the error of an option's value.
func (c call) invalid(option string) error {
	return saidf("Invalid syntax. Value expected for '/%s', got %q.", option, c.values[option])
}

// trigger returns the trigger that /sc, /mo, /d, /st, /sd, /ri and /du describe; those that are not carried out are
// refused.
func (c call) trigger() ([]schedule.Trigger, error) {
	start, err := c.start()
	if err != nil {
		return nil, err
	}
	every := 1
	if text := c.values["mo"]; text != "" {
		if every, err = strconv.Atoi(text); err != nil || every < 1 || every > 9999 {
			return nil, c.invalid("mo")
		}
	}

	t := schedule.Trigger{Start: start, Every: every}
	switch sc := strings.ToLower(c.values["sc"]); sc {
	case "minute", "hourly":
		t.Kind, t.Every = schedule.Once, 0
		t.Repeat = time.Duration(every) * map[string]time.Duration{"minute": time.Minute, "hourly": time.Hour}[sc]
	case "daily":
		t.Kind = schedule.Daily
	case "weekly":
		t.Kind = schedule.Weekly
		t.Days, err = c.weekdays(start)
	case "once":
		if c.values["st"] == "" {
			return nil, saidf("Invalid syntax. /ST is mandatory for ONCE.")
		}
		t.Kind, t.Every = schedule.Once, 0
	case "onstart":
		t = schedule.Trigger{Kind: schedule.Startup}
	case "monthly", "onlogon", "onidle", "onevent":
		return nil, saidf("/sc %s is not carried out in Mullion.", sc)
	default:
		return nil, c.invalid("sc")
	}
	if err != nil {
		return nil, err
	}

	err = c.repeat(&t)
	return []schedule.Trigger{t}, err
}

// start returns the day of /sd and the time of /st, or now.
func (c call) start() (time.Time, error) {
	start := c.now.Truncate(time.Minute)
	if text := c.values["sd"]; text != "" {
		day, err := time.ParseInLocation("01/02/2006", text, time.Local)
		if err != nil {
			return start, c.invalid("sd")
		}
		start = day.Add(time.Duration(start.Hour())*time.Hour + time.Duration(start.Minute())*time.Minute)
	}
	if text := c.values["st"]; text != "" {
		return c.clock(start)
	}
	return start, nil
}

// clock returns a day at the time of /st.
func (c call) clock(day time.Time) (time.Time, error) {
	at, err := time.Parse("15:04", c.values["st"])
	if err != nil {
		return day, c.invalid("st")
	}
	return time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), 0, 0, time.Local), nil
}

// weekdays returns the days of /d, or the one of the first start.
func (c call) weekdays(start time.Time) ([]time.Weekday, error) {
	var all []time.Weekday
	for name := range strings.SplitSeq(cmp.Or(c.values["d"], start.Format("Mon")), ",") {
		day := slices.IndexFunc(days(), func(d string) bool { return strings.EqualFold(d, name) })
		if day < 0 {
			return nil, c.invalid("d")
		}
		all = append(all, time.Weekday(day))
	}
	return all, nil
}

// repeat gives a trigger the repetition of /ri and /du.
func (c call) repeat(t *schedule.Trigger) error {
	if text := c.values["ri"]; text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 31*24*60 {
			return c.invalid("ri")
		}
		t.Repeat, t.For = time.Duration(n)*time.Minute, time.Hour
	}
	if text := c.values["du"]; text != "" {
		var hours, minutes int
		if _, err := fmt.Sscanf(text, "%d:%d", &hours, &minutes); err != nil || hours < 0 || minutes < 0 || hours > 9999 {
			return c.invalid("du")
		}
		t.For = time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	}
	return nil
}

func days() []string { return []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"} }

func (c call) change(t schedule.Task) error {
	if c.flags["enable"] || c.flags["disable"] {
		t.Disabled = c.flags["disable"]
	}
	if tr := c.values["tr"]; tr != "" {
		t.Actions = []schedule.Action{action(tr)}
	}
	t.User = cmp.Or(c.values["ru"], t.User)
	if c.values["st"] != "" {
		for i, one := range t.Triggers {
			at, err := c.clock(one.Start)
			if err != nil {
				return err
			}
			t.Triggers[i].Start = at
		}
	}
	return c.s.Put(t, true)
}
