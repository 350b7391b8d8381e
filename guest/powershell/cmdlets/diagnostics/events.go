package diagnostics

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/powershell/cmdlet"
	"mullion.dev/mullion/guest/powershell/object"
	"mullion.dev/mullion/guest/powershell/pattern"
	"mullion.dev/mullion/guest/powershell/system"
	"mullion.dev/mullion/guest/powershell/words"
)

// winEvent returns an event as Get-WinEvent has it.
func winEvent(e eventlog.Event) *object.Object {
	var properties []object.Value
	for _, text := range e.Data {
		properties = append(properties, object.New("property").Set("Value", text))
	}
	var message object.Value
	if e.Message != "" {
		message = e.Message
	}
	return object.New("event").Set("Message", message).Set("Id", int64(e.ID)).Set("Level", int64(e.Level)).
		Set("Task", int64(e.Task)).Set("RecordId", int64(e.Record)).Set("ProviderName", e.Provider).
		Set("LogName", e.Log).Set("ProcessId", int64(e.Process)).Set("ThreadId", int64(e.Thread)).
		Set("MachineName", e.Computer).Set("UserId", e.User).Set("TimeCreated", object.DateTime{At: e.Time.Local()}).
		Set("LevelDisplayName", e.LevelName()).Set("Properties", properties)
}

// logEntry returns an event as Get-EventLog has it.
func logEntry(e eventlog.Event) *object.Object {
	var replacements []object.Value
	for _, text := range e.Data {
		replacements = append(replacements, text)
	}

	message := e.Message
	if message == "" {
		message = fmt.Sprintf("The description for Event ID '%d' in Source '%s' cannot be found.  The local computer may not have "+
			"the necessary registry information or message DLL files to display the message, or you may not have permission to "+
			"access them.  The following information is part of the event:", e.ID, e.Provider)
		for i, text := range e.Data {
			message += strings.Repeat(", ", min(i, 1)) + "'" + text + "'"
		}
	}

	return object.New("log entry").Set("Index", int64(e.Record)).Set("EntryType", e.Kind()).
		Set("InstanceId", int64(e.Qualifiers)<<16|int64(e.ID)).Set("Message", message).
		Set("Category", fmt.Sprintf("(%d)", e.Task)).Set("CategoryNumber", int64(e.Task)).
		Set("ReplacementStrings", replacements).Set("Source", e.Provider).
		Set("TimeGenerated", object.DateTime{At: e.Time.Local()}).
		Set("TimeWritten", object.DateTime{At: e.Time.Local()}).Set("MachineName", e.Computer).
		Set("EventID", int64(e.ID))
}

// dateOf returns a time that a parameter names.
func dateOf(v object.Value) (time.Time, error) {
	if m, ok := object.Plain(v).(object.DateTime); ok {
		return m.At, nil
	}
	v, err := object.ParseDate(object.Text(v))
	if err != nil {
		return time.Time{}, err
	}
	m, _ := v.(object.DateTime)
	return m.At, nil
}

// texts returns the values of a parameter as strings.
func texts(v object.Value) []string {
	var all []string
	for item := range object.Each(v) {
		all = append(all, object.Text(item))
	}
	return all
}

// numbersOf returns the values of a parameter as numbers.
func numbersOf(v object.Value) ([]int, error) {
	var all []int
	for item := range object.Each(v) {
		n, err := object.Integer(item)
		if err != nil {
			return nil, err
		}
		all = append(all, int(n))
	}
	return all, nil
}

// eventSearch is what Get-WinEvent looks for.
type eventSearch struct {
	logs   []string
	filter eventlog.Filter
	xpath  string // in place of the filter
	oldest bool
	most   int // 0: all
}

// hashtable reads -FilterHashtable.
func (s *eventSearch) hashtable(t *object.Hashtable) error {
	for _, key := range t.Keys {
		v := t.Get(key)
		var err error
		switch strings.ToLower(object.Text(key)) {
		case "logname":
			s.logs = texts(v)
		case "providername":
			s.filter.Providers = texts(v)
		case "id":
			s.filter.IDs, err = numbersOf(v)
		case "level":
			s.filter.Levels, err = numbersOf(v)
		case "starttime":
			s.filter.Start, err = dateOf(v)
		case "endtime":
			s.filter.End, err = dateOf(v)
		default:
			err = object.Thrown("Get-WinEvent : the key %s of -FilterHashtable is not part of Mullion's PowerShell.",
				object.Text(key))
		}
		if err != nil {
			return err
		}
	}

	return nil
}

// search reads the parameters of Get-WinEvent.
func search(c *cmdlet.Call) (eventSearch, error) {
	s := eventSearch{
		logs:   texts(c.Values["logname"]),
		xpath:  c.Text("filterxpath"),
		oldest: c.Flags["oldest"],
	}
	if v, given := c.Values["providername"]; given {
		s.filter.Providers = texts(v)
	}

	if v, given := c.Values["filterhashtable"]; given {
		t, ok := v.(*object.Hashtable)
		if !ok {
			return s, object.Thrown("Get-WinEvent : -FilterHashtable is no hash table.")
		}
		if err := s.hashtable(t); err != nil {
			return s, err
		}
	}

	if v, given := c.Values["maxevents"]; given {
		n, err := object.Integer(v)
		if err != nil || n < 1 {
			return s, object.Thrown("Get-WinEvent : -MaxEvents is a number, 1 or more, not %s.", object.Text(v))
		}
		s.most = int(n)
	}

	return s, nil
}

// find returns the events of a search, of several logs by time.
func (s eventSearch) find(events system.EventReader) ([]eventlog.Event, error) {
	query := s.xpath
	if query == "" {
		var err error
		if query, err = s.filter.XPath(); err != nil {
			return nil, err
		}
	}

	var found []eventlog.Event
	for _, log := range s.logs {
		n := 0
		err := events.Events(eventlog.Query{
			Log:    log,
			XPath:  query,
			Newest: !s.oldest,
		}, func(e eventlog.Event) bool {
			found = append(found, e)
			n++
			return n != s.most
		})
		if err != nil {
			return nil, err
		}
	}

	if len(s.logs) > 1 {
		slices.SortStableFunc(found, func(a, b eventlog.Event) int {
			if s.oldest {
				return a.Time.Compare(b.Time)
			}
			return b.Time.Compare(a.Time)
		})
	}

	if s.most > 0 && len(found) > s.most {
		found = found[:s.most]
	}
	return found, nil
}

func getWinEvent(c *cmdlet.Call) error {
	events := c.State.System.Events
	if v, given := c.Values["listlog"]; given {
		return listLogs(c, texts(v))
	}
	if v, given := c.Values["listprovider"]; given {
		return listProviders(c, texts(v))
	}

	s, err := search(c)
	if err != nil {
		return err
	}

	if len(s.logs) > 0 {
		s.logs, err = existing(c, s.logs)
	} else {
		s.logs, err = logsOfProviders(c, s.filter.Providers)
	}
	if err != nil {
		return c.Fail(err)
	}

	if len(s.logs) == 0 {
		return nil
	}
	found, err := s.find(events)
	if err != nil {
		return c.Fail(err)
	}

	if len(found) == 0 {
		return c.Fail(&object.Exception{
			Class:    "System.Exception",
			ID:       "NoMatchingEventsFound",
			Category: object.ObjectNotFound,
			Message:  "No events were found that match the specified selection criteria.",
		})
	}
	for _, e := range found {
		if err := c.Output(winEvent(e)); err != nil {
			return err
		}
	}

	return nil
}

// entryFilter reads the parameters of Get-EventLog that compare an event, beside those that a query has.
func entryFilter(c *cmdlet.Call) (func(*object.Object) bool, error) {
	sources := texts(c.Values["source"])
	kinds := texts(c.Values["entrytype"])
	ids, err := numbersOf(c.Values["instanceid"])
	if err != nil {
		return nil, err
	}

	message, err := pattern.Wildcard(cmp.Or(c.Text("message"), "*"))
	if err != nil {
		return nil, err
	}

	one := func(names []string, name string) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(s string) bool {
			re, err := pattern.Wildcard(s)
			return err == nil && re.MatchString(name)
		})
	}

	return func(o *object.Object) bool {
		id, _ := o.Props["instanceid"].(int64)
		return one(sources, object.Text(o.Props["source"])) && one(kinds, object.Text(o.Props["entrytype"])) &&
			(len(ids) == 0 || slices.Contains(ids, int(id))) && message.MatchString(object.Text(o.Props["message"]))
	}, nil
}

func getEventLog(c *cmdlet.Call) error {
	events := c.State.System.Events
	if c.Flags["list"] {
		return listLogs(c, []string{"*"})
	}
	fits, err := entryFilter(c)
	if err != nil {
		return err
	}

	var filter eventlog.Filter
	for name, at := range map[string]*time.Time{"after": &filter.Start, "before": &filter.End} {
		if v, given := c.Values[name]; given {
			if *at, err = dateOf(v); err != nil {
				return err
			}
		}
	}

	most, err := object.Integer(c.Values["newest"])
	if err != nil {
		return err
	}
	query, err := filter.XPath()
	if err != nil {
		return err
	}

	var found []*object.Object
	err = events.Events(eventlog.Query{
		Log:    c.Text("logname"),
		XPath:  query,
		Newest: true,
	},
		func(e eventlog.Event) bool {
			if o := logEntry(e); fits(o) {
				found = append(found, o)
			}
			return most == 0 || int64(len(found)) < most
		})
	switch {
	case errors.Is(err, eventlog.NoSuchChannel):
		return c.Fail(words.Errorf("The event log '%s' on computer '.' does not exist.", c.Text("logname")))
	case err != nil:
		return c.Fail(err)
	case len(found) == 0:
		return c.Fail(&object.Exception{
			Class: "System.ArgumentException", ID: "GetEventLogNoEntriesFound", Category: object.ObjectNotFound,
			Message: "No matches found",
		})
	}

	for _, o := range found {
		if err := c.Output(o); err != nil {
			return err
		}
	}

	return nil
}

// entryTypes returns the values of -EntryType.
func entryTypes() map[string]uint16 {
	return map[string]uint16{
		"error": eventlog.ErrorType, "warning": eventlog.Warning, "information": eventlog.Information,
		"successaudit": eventlog.SuccessAudit, "failureaudit": eventlog.FailureAudit,
	}
}

func writeEventLog(c *cmdlet.Call) error {
	events := c.State.System.Events
	id, err := object.Integer(c.Values["eventid"])
	if err != nil || id < 0 || id > 0xffff {
		return object.Thrown("Write-EventLog : -EventId is a number from 0 to 65535, not %s.", c.Text("eventid"))
	}
	category, err := object.Integer(c.Values["category"])
	if err != nil || category < 0 || category > 0x7fff {
		return object.Thrown("Write-EventLog : -Category is a number from 0 to 32767, not %s.", c.Text("category"))
	}

	data, err := numbersOf(c.Values["rawdata"])
	if err != nil {
		return err
	}
	log, source := c.Text("logname"), c.Text("source")
	is, known := events.LogOf(source)
	if !known {
		return c.Fail(words.Errorf("The source name \"%s\" does not exist on computer \"localhost\".", source))
	}

	if !strings.EqualFold(is, log) {
		return c.Fail(words.Errorf("The source '%s' is not registered in log '%s'. (It is registered in log '%s'.)",
			source, log, is))
	}

	e := eventlog.Entry{
		Log:      is,
		Source:   source,
		Type:     entryTypes()[strings.ToLower(cmp.Or(c.Text("entrytype"), "Information"))],
		Category: uint16(category),
		ID:       uint32(id),
		Text:     c.Text(cmdlet.MessageName),
	}

	for _, b := range data {
		e.Data = append(e.Data, byte(b)) // as PowerShell, which refuses larger ones
	}

	if err := events.Write(e); err != nil {
		return c.Fail(err)
	}
	return nil
}

func newEventLog(c *cmdlet.Call) error {
	events := c.State.System.Events
	for _, source := range texts(c.Values["source"]) {
		err := error(nil)
		if log, known := events.LogOf(source); known {
			err = words.Errorf("The \"%s\" source is already registered in the \"%s\" log.", source, log)
		} else {
			err = events.Register(c.Text("logname"), source)
		}
		if err != nil {
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}

	return nil
}

func clearEventLog(c *cmdlet.Call) error {
	for _, log := range texts(c.Values["logname"]) {
		err := c.State.System.Events.Clear(log)
		if errors.Is(err, eventlog.NoSuchChannel) {
			err = words.Errorf("The Log name \"%s\" does not exist in the computer \"localhost\".", log)
		}
		if err != nil {
			if err := c.Fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

// Cmdlets returns the cmdlets of this package.
func Cmdlets() []cmdlet.Cmdlet {
	types := []string{"error", "warning", "information", "successaudit", "failureaudit"}
	return []cmdlet.Cmdlet{
		counterCmdlet(),
		{
			Name:  "Get-WinEvent",
			About: "events of logs; without events of ETW, saved logs and other computers",
			Run:   getWinEvent,
			Values: []string{
				"logname", "providername", "maxevents", "filterhashtable", "filterxpath", "listlog",
				"listprovider",
			},
			Flags:     []string{"oldest"},
			Positions: []string{"logname"},
			Needs:     []string{"logname|providername|filterhashtable|listlog|listprovider"},
		},
		{
			Name:  "Get-EventLog",
			About: "entries of a log, the newest first",
			Run:   getEventLog,
			Values: []string{
				"logname", "newest", "source", "entrytype", "after", "before", "instanceid",
				cmdlet.MessageName,
			},
			Flags:     []string{"list"},
			Positions: []string{"logname", "instanceid"},
			Needs:     []string{"logname|list"},
			Allowed:   map[string][]string{"entrytype": types},
		},
		{
			Name:      "Write-EventLog",
			About:     "writes an event of a source that is registered",
			Run:       writeEventLog,
			Values:    []string{"logname", "source", "eventid", "entrytype", cmdlet.MessageName, "category", "rawdata"},
			Positions: []string{"logname", "source", "eventid", "entrytype", cmdlet.MessageName},
			Needs:     []string{"logname", "source", "eventid", cmdlet.MessageName},
			Allowed:   map[string][]string{"entrytype": types},
		},
		{
			Name:      "New-EventLog",
			About:     "registers sources, and makes their log",
			Run:       newEventLog,
			Values:    []string{"logname", "source"},
			Positions: []string{"logname", "source"},
			Needs:     []string{"logname", "source"},
		},
		{
			Name:      "Clear-EventLog",
			About:     "removes the events of logs",
			Run:       clearEventLog,
			Values:    []string{"logname"},
			Positions: []string{"logname"},
			Needs:     []string{"logname"},
		},
	}
}
