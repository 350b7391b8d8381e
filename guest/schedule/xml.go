package schedule

import (
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

const namespace = "http://schemas.microsoft.com/windows/2004/02/mit/task"

// The elements of a task that are read and written
// (https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-schema). Others are in unread.
type (
	xmlTask struct {
		XMLName  xml.Name `xml:"Task"`
		Version  string   `xml:"version,attr"`
		Space    string   `xml:"xmlns,attr"`
		Info     xmlInfo  `xml:"RegistrationInfo"`
		Triggers xmlTriggers
		Users    xmlUsers `xml:"Principals"`
		Settings xmlSettings
		Actions  xmlActions
		Others   []unread `xml:",any"`
	}
	xmlInfo struct {
		Date, Author, Description, URI string   `xml:",omitempty"`
		Others                         []unread `xml:",any"`
	}
	xmlTriggers struct {
		Boot     []xmlTrigger `xml:"BootTrigger"`
		Time     []xmlTrigger `xml:"TimeTrigger"`
		Calendar []xmlTrigger `xml:"CalendarTrigger"`
		Others   []unread     `xml:",any"`
	}
	xmlTrigger struct {
		Repetition    *xmlRepetition `xml:",omitempty"`
		StartBoundary string         `xml:",omitempty"`
		Enabled       string         `xml:",omitempty"`
		Day           *xmlDay        `xml:"ScheduleByDay,omitempty"`
		Week          *xmlWeek       `xml:"ScheduleByWeek,omitempty"`
		Others        []unread       `xml:",any"`
	}
	xmlRepetition struct {
		Interval, Duration string
		Stop               string `xml:"StopAtDurationEnd,omitempty"`
	}
	xmlDay  struct{ DaysInterval string }
	xmlWeek struct {
		WeeksInterval string
		Days          xmlDays `xml:"DaysOfWeek"`
	}
	xmlDays struct {
		Names []unread `xml:",any"`
	}
	xmlUsers struct {
		Principal []xmlUser
	}
	xmlUser struct {
		ID                     string `xml:"id,attr"`
		UserID                 string `xml:"UserId,omitempty"`
		GroupID                string `xml:"GroupId,omitempty"`
		LogonType, DisplayName string `xml:",omitempty"`
		RunLevel               string `xml:",omitempty"`
		ProcessTokenSidType    string `xml:",omitempty"`
	}
	xmlSettings struct {
		Instances string      `xml:"MultipleInstancesPolicy,omitempty"`
		Late      string      `xml:"StartWhenAvailable,omitempty"`
		Enabled   string      `xml:",omitempty"`
		Limit     string      `xml:"ExecutionTimeLimit,omitempty"`
		Restart   *xmlRestart `xml:"RestartOnFailure,omitempty"`
		Others    []unread    `xml:",any"`
	}
	xmlRestart struct {
		Interval string
		Count    int
	}
	xmlActions struct {
		Context string    `xml:",attr"`
		Exec    []xmlExec `xml:"Exec"`
		Others  []unread  `xml:",any"`
	}
	xmlExec struct {
		Command   string
		Arguments string `xml:",omitempty"`
		Dir       string `xml:"WorkingDirectory,omitempty"`
	}
	unread struct{ XMLName xml.Name }
)

const layout = "2006-01-02T15:04:05"

// XML returns a task as Windows keeps it.
func (t Task) XML() (string, error) {
	x := xmlTask{Version: "1.2", Space: namespace}
	x.Info = xmlInfo{Author: t.Author, Description: t.Description, URI: t.FullPath()}
	if !t.Registered.IsZero() {
		x.Info.Date = t.Registered.Format(layout + ".9999999")
	}
	for _, one := range t.Triggers {
		x.Triggers.add(one)
	}

	user := xmlUser{ID: "Author", UserID: t.User, RunLevel: "LeastPrivilege"}
	if t.User == "" {
		user.UserID = "S-1-5-18"
	}
	if t.Highest {
		user.RunLevel = "HighestAvailable"
	}
	x.Users.Principal = []xmlUser{user}
	x.Settings = xmlSettings{
		Instances: t.Instances, Late: strconv.FormatBool(t.Late), Enabled: strconv.FormatBool(!t.Disabled),
		Limit: Duration(t.Limit),
	}
	if t.Restarts > 0 {
		x.Settings.Restart = &xmlRestart{Duration(t.RestartAfter), t.Restarts}
	}
	x.Actions.Context = "Author"
	for _, a := range t.Actions {
		x.Actions.Exec = append(x.Actions.Exec, xmlExec{a.Execute, a.Arguments, a.Dir})
	}

	text, err := xml.MarshalIndent(x, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the task %q: %w", t.FullPath(), err)
	}
	return `<?xml version="1.0" encoding="UTF-16"?>` + "\n" + string(text) + "\n", nil
}

// add adds a trigger to those of its kind.
func (x *xmlTriggers) add(t Trigger) {
	out := xmlTrigger{Enabled: strconv.FormatBool(!t.Disabled)}
	if !t.Start.IsZero() {
		out.StartBoundary = t.Start.Format(layout)
	}
	if t.Repeat > 0 {
		out.Repetition = &xmlRepetition{Interval: Duration(t.Repeat)}
		if t.For > 0 {
			out.Repetition.Duration = Duration(t.For)
		}
	}

	switch t.Kind {
	case Startup:
		x.Boot = append(x.Boot, out)
		return
	case Once:
		x.Time = append(x.Time, out)
		return
	case Daily:
		out.Day = &xmlDay{strconv.Itoa(t.Every)}
	case Weekly:
		out.Week = &xmlWeek{WeeksInterval: strconv.Itoa(t.Every)}
		for _, d := range t.Days {
			out.Week.Days.Names = append(out.Week.Days.Names, unread{xml.Name{Local: d.String()}})
		}
	}
	x.Calendar = append(x.Calendar, out)
}

// Read reads a task's XML, in UTF-8 or in UTF-16 with a mark. What a task asks for and is not carried out is an error
// that names it.
func Read(data []byte) (Task, error) {
	text := decoded(data)
	if at := strings.Index(text, "?>"); strings.HasPrefix(text, "<?xml") && at > 0 {
		text = text[at+2:] // its encoding is that of the file, not of the text
	}

	var x xmlTask
	if err := xml.Unmarshal([]byte(text), &x); err != nil {
		return Task{}, saidf("The task XML is malformed. %v", err)
	}
	for _, others := range [][]unread{x.Others, x.Triggers.Others, x.Actions.Others} {
		if len(others) > 0 {
			return Task{}, saidf("%s of a task is not carried out in Mullion.", others[0].XMLName.Local)
		}
	}

	t := Task{
		Description: x.Info.Description, Author: x.Info.Author, Instances: x.Settings.Instances,
		Late: x.Settings.Late == "true", Disabled: x.Settings.Enabled == "false",
		Limit: 72 * time.Hour, // https://learn.microsoft.com/windows/win32/taskschd/taskschedulerschema-executiontimelimit-settingstype-element
	}
	t.SetPath(x.Info.URI)
	t.Registered, _ = parseTime(x.Info.Date) // for whom it may concern: nothing depends on it but what was missed
	var err error
	if x.Settings.Limit != "" {
		if t.Limit, err = ParseDuration(x.Settings.Limit); err != nil {
			return t, err
		}
	}
	if r := x.Settings.Restart; r != nil {
		t.Restarts = r.Count
		if t.RestartAfter, err = ParseDuration(r.Interval); err != nil {
			return t, err
		}
	}
	for _, u := range x.Users.Principal {
		t.User, t.Highest = u.UserID+u.GroupID, u.RunLevel == "HighestAvailable"
	}
	for _, a := range x.Actions.Exec {
		t.Actions = append(t.Actions, Action{strings.TrimSpace(a.Command), a.Arguments, a.Dir})
	}

	for _, some := range []struct {
		kind string
		all  []xmlTrigger
	}{{Startup, x.Triggers.Boot}, {Once, x.Triggers.Time}, {"", x.Triggers.Calendar}} {
		for _, one := range some.all {
			read, err := one.read(some.kind)
			if err != nil {
				return t, err
			}
			t.Triggers = append(t.Triggers, read)
		}
	}

	return t, nil
}

// read returns a trigger; kind is "" for one of the calendar.
func (x xmlTrigger) read(kind string) (Trigger, error) {
	t := Trigger{Kind: kind, Disabled: x.Enabled == "false"}
	if len(x.Others) > 0 {
		return t, saidf("%s of a trigger is not carried out in Mullion.", x.Others[0].XMLName.Local)
	}

	var err error
	number := func(text string) int {
		n, wrong := strconv.Atoi(strings.TrimSpace(text))
		if text != "" && wrong != nil {
			err = outOfRange(text)
		}
		return max(n, 1)
	}
	if x.StartBoundary != "" {
		t.Start, err = parseTime(x.StartBoundary)
	}
	if r := x.Repetition; r != nil && err == nil {
		if t.Repeat, err = ParseDuration(r.Interval); err == nil && r.Duration != "" {
			t.For, err = ParseDuration(r.Duration)
		}
	}

	switch {
	case kind != "":
	case x.Day != nil:
		t.Kind, t.Every = Daily, number(x.Day.DaysInterval)
	case x.Week != nil:
		t.Kind, t.Every = Weekly, number(x.Week.WeeksInterval)
		for _, name := range x.Week.Days.Names {
			for d := time.Sunday; d <= time.Saturday; d++ {
				if d.String() == name.XMLName.Local {
					t.Days = append(t.Days, d)
				}
			}
		}
	default:
		return t, said("A trigger of months is not carried out in Mullion.")
	}

	return t, err
}

// parseTime reads a time of a task: of this machine, if it does not say of which.
func parseTime(text string) (time.Time, error) {
	for _, form := range []string{layout, layout + ".999999999", time.RFC3339Nano} {
		if at, err := time.ParseInLocation(form, strings.TrimSpace(text), time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, outOfRange(text)
}

// Duration returns a duration as XML has it, such as PT5M.
func Duration(d time.Duration) string {
	if d == 0 {
		return "PT0S"
	}
	var b strings.Builder
	b.WriteByte('P')
	if days := d / (24 * time.Hour); days > 0 {
		fmt.Fprintf(&b, "%dD", days)
		d -= days * 24 * time.Hour
	}
	if d > 0 {
		b.WriteByte('T')
	}

	for _, unit := range []struct {
		of     time.Duration
		letter string
	}{{time.Hour, "H"}, {time.Minute, "M"}, {time.Second, "S"}} {
		if n := d / unit.of; n > 0 {
			fmt.Fprintf(&b, "%d%s", n, unit.letter)
			d -= n * unit.of
		}
	}

	return b.String()
}

// ParseDuration reads a duration of days, hours, minutes and seconds as XML has it. Nothing is 0.
func ParseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	m := regexp.MustCompile(`^P(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$`).FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return 0, outOfRange(text)
	}
	var d time.Duration
	for i, unit := range []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(m[i+1]) // digits, or nothing
		if d += time.Duration(n) * unit; d < 0 {
			return 0, outOfRange(text)
		}
	}
	return d, nil
}

// encoded returns a text in UTF-16 with a mark, decoded reads one in that form or in UTF-8.
func encoded(text string) []byte {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(text)) {
		out = append(out, byte(u), byte(u>>8))
	}
	return out
}

func decoded(data []byte) string {
	if len(data) < 2 || data[0] != 0xFF || data[1] != 0xFE {
		return strings.TrimPrefix(string(data), "\ufeff")
	}
	var units []uint16
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, uint16(data[i])|uint16(data[i+1])<<8)
	}
	return string(utf16.Decode(units))
}
