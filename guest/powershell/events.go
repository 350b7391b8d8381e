package powershell

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/guest/eventlog"
)

// eventLog is the event log of Windows.
type eventLog interface {
	eventReader
	// Clear removes all events of a log.
	Clear(log string) error
	// Write writes an event.
	Write(e eventlog.Entry) error
	// Register makes a source in a log, and the log if there is none of its name.
	Register(log, source string) error
}

type eventReader interface {
	// Logs returns the names of all logs.
	Logs() ([]string, error)
	// Events calls f with events until there are no more or it returns false.
	Events(q eventlog.Query, f func(eventlog.Event) bool) error
	// Info returns what is known of a log.
	Info(log string) (eventlog.Info, error)
	// Providers returns the names of all sources of events.
	Providers() ([]string, error)
	// LogOf returns the log of a source; false if it is not registered.
	LogOf(source string) (string, bool)
}

const (
	// wrappedEvent is the kind of an event whose message is shown whole.
	wrappedEvent = "wrapped event"

	winEventRow = "%-22s %10s %-16s %s"
	logEventRow = "%8s %-13s %-11s %-22s %10s %s"
)

// eventHead are the lines before the rows of a table of events; of is their provider.
func eventHead(kind, of string) []string {
	switch kind {
	case "event", wrappedEvent:
		return []string{
			"", "   ProviderName: " + of, "", fmt.Sprintf(winEventRow, "TimeCreated", "Id", "LevelDisplayName", "Message"),
			fmt.Sprintf(winEventRow, "-----------", "--", "----------------", "-------"),
		}
	case "log entry":
		return []string{
			"", fmt.Sprintf(logEventRow, "Index", "Time", "EntryType", "Source", "InstanceID", "Message"),
			fmt.Sprintf(logEventRow, "-----", "----", "---------", "------", "----------", "-------"),
		}
	}
	return nil
}

// eventRow is an event as a row of its kind's table.
func eventRow(o *object) (line string, ok bool) {
	p := func(name string) string { return text(o.props[name]) }
	switch o.kind {
	case "event", wrappedEvent:
		at, _ := o.props["timecreated"].(moment)
		row := fmt.Sprintf(winEventRow, at.at.Format("1/2/2006 3:04:05 PM"), p("id"), p("leveldisplayname"), "")
		if o.kind == "event" {
			return row + firstLine(p("message")), true
		}
		message := strings.ReplaceAll(p("message"), "\r\n", "\n")
		return row + strings.ReplaceAll(message, "\n", "\n"+strings.Repeat(" ", len(row))), true
	case "log entry":
		at, _ := o.props["timegenerated"].(moment)
		return fmt.Sprintf(logEventRow, p("index"), at.at.Format("Jan 02 15:04"), p("entrytype"), shortened(p("source"), 22),
			p("instanceid"), firstLine(p("message"))), true
	}
	return "", false
}

// winEvent is an event as Get-WinEvent has it.
func winEvent(e eventlog.Event) *object {
	var properties []value
	for _, text := range e.Data {
		properties = append(properties, newObject("property").set("Value", text))
	}
	var message value
	if e.Message != "" {
		message = e.Message
	}
	return newObject("event").set("Message", message).set("Id", int64(e.ID)).set("Level", int64(e.Level)).
		set("Task", int64(e.Task)).set("RecordId", int64(e.Record)).set("ProviderName", e.Provider).
		set("LogName", e.Log).set("ProcessId", int64(e.Process)).set("ThreadId", int64(e.Thread)).
		set("MachineName", e.Computer).set("UserId", e.User).set("TimeCreated", moment{e.Time.Local()}).
		set("LevelDisplayName", e.LevelName()).set("Properties", properties)
}

// logEntry is an event as Get-EventLog has it.
func logEntry(e eventlog.Event) *object {
	var replacements []value
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
	return newObject("log entry").set("Index", int64(e.Record)).set("EntryType", e.Kind()).
		set("InstanceId", int64(e.Qualifiers)<<16|int64(e.ID)).set("Message", message).
		set("Category", fmt.Sprintf("(%d)", e.Task)).set("CategoryNumber", int64(e.Task)).
		set("ReplacementStrings", replacements).set("Source", e.Provider).set("TimeGenerated", moment{e.Time.Local()}).
		set("TimeWritten", moment{e.Time.Local()}).set("MachineName", e.Computer).set("EventID", int64(e.ID))
}

// dateOf is a time that a parameter names.
func dateOf(v value) (time.Time, error) {
	if m, ok := plain(v).(moment); ok {
		return m.at, nil
	}
	v, err := parseDate(text(v))
	if err != nil {
		return time.Time{}, err
	}
	m, _ := v.(moment)
	return m.at, nil
}

// texts are the values of a parameter as strings.
func texts(v value) []string {
	var all []string
	for item := range each(v) {
		all = append(all, text(item))
	}
	return all
}

// numbersOf are the values of a parameter as numbers.
func numbersOf(v value) ([]int, error) {
	var all []int
	for item := range each(v) {
		n, err := integer(item)
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
func (s *eventSearch) hashtable(t *table) error {
	for _, key := range t.keys {
		v := t.get(key)
		var err error
		switch lower(text(key)) {
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
			err = thrown("Get-WinEvent : the key %s of -FilterHashtable is not part of Mullion's PowerShell.", text(key))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// search reads the parameters of Get-WinEvent.
func (c *call) search() (eventSearch, error) {
	s := eventSearch{logs: texts(c.values["logname"]), xpath: c.text("filterxpath"), oldest: c.flags["oldest"]}
	if v, given := c.values["providername"]; given {
		s.filter.Providers = texts(v)
	}
	if v, given := c.values["filterhashtable"]; given {
		t, ok := v.(*table)
		if !ok {
			return s, thrown("Get-WinEvent : -FilterHashtable is no hash table.")
		}
		if err := s.hashtable(t); err != nil {
			return s, err
		}
	}
	if v, given := c.values["maxevents"]; given {
		n, err := integer(v)
		if err != nil || n < 1 {
			return s, thrown("Get-WinEvent : -MaxEvents is a number, 1 or more, not %s.", text(v))
		}
		s.most = int(n)
	}
	return s, nil
}

// find returns the events of a search, of several logs by time.
func (s eventSearch) find(events eventReader) ([]eventlog.Event, error) {
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
		err := events.Events(eventlog.Query{Log: log, XPath: query, Newest: !s.oldest}, func(e eventlog.Event) bool {
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

func getWinEvent(c *call) error {
	events := c.f.in.session.system().events
	if v, given := c.values["listlog"]; given {
		return c.listLogs(texts(v))
	}
	if v, given := c.values["listprovider"]; given {
		return c.listProviders(texts(v))
	}
	s, err := c.search()
	if err != nil {
		return err
	}
	if len(s.logs) > 0 {
		s.logs, err = c.existing(s.logs)
	} else {
		s.logs, err = c.logsOfProviders(s.filter.Providers)
	}
	if err != nil {
		return c.fail(err)
	}
	if len(s.logs) == 0 {
		return nil
	}
	found, err := s.find(events)
	if err != nil {
		return c.fail(err)
	}
	if len(found) == 0 {
		return c.fail(itsWords("No events were found that match the specified selection criteria."))
	}
	for _, e := range found {
		if err := c.show(winEvent(e)); err != nil {
			return err
		}
	}
	return nil
}

// entryFilter reads the parameters of Get-EventLog that compare an event, beside those that a query has.
func (c *call) entryFilter() (func(*object) bool, error) {
	sources := texts(c.values["source"])
	kinds := texts(c.values["entrytype"])
	ids, err := numbersOf(c.values["instanceid"])
	if err != nil {
		return nil, err
	}
	message, err := wildcard(cmp.Or(c.text("message"), "*"))
	if err != nil {
		return nil, err
	}
	one := func(names []string, name string) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(s string) bool {
			re, err := wildcard(s)
			return err == nil && re.MatchString(name)
		})
	}
	return func(o *object) bool {
		id, _ := o.props["instanceid"].(int64)
		return one(sources, text(o.props["source"])) && one(kinds, text(o.props["entrytype"])) &&
			(len(ids) == 0 || slices.Contains(ids, int(id))) && message.MatchString(text(o.props["message"]))
	}, nil
}

func getEventLog(c *call) error {
	events := c.f.in.session.system().events
	if c.flags["list"] {
		return c.listLogs([]string{"*"})
	}
	fits, err := c.entryFilter()
	if err != nil {
		return err
	}
	var filter eventlog.Filter
	for name, at := range map[string]*time.Time{"after": &filter.Start, "before": &filter.End} {
		if v, given := c.values[name]; given {
			if *at, err = dateOf(v); err != nil {
				return err
			}
		}
	}
	most, err := integer(c.values["newest"])
	if err != nil {
		return err
	}
	query, err := filter.XPath()
	if err != nil {
		return err
	}
	var found []*object
	err = events.Events(eventlog.Query{Log: c.text("logname"), XPath: query, Newest: true}, func(e eventlog.Event) bool {
		if o := logEntry(e); fits(o) {
			found = append(found, o)
		}
		return most == 0 || int64(len(found)) < most
	})
	switch {
	case errors.Is(err, eventlog.NoSuchChannel):
		return c.fail(itsWords("The event log '%s' on computer '.' does not exist.", c.text("logname")))
	case err != nil:
		return c.fail(err)
	case len(found) == 0:
		return c.fail(itsWords("No matches found"))
	}
	for _, o := range found {
		if err := c.show(o); err != nil {
			return err
		}
	}
	return nil
}

// entryTypes are the values of -EntryType.
func entryTypes() map[string]uint16 {
	return map[string]uint16{
		"error": eventlog.ErrorType, "warning": eventlog.Warning, "information": eventlog.Information,
		"successaudit": eventlog.SuccessAudit, "failureaudit": eventlog.FailureAudit,
	}
}

func writeEventLog(c *call) error {
	events := c.f.in.session.system().events
	id, err := integer(c.values["eventid"])
	if err != nil || id < 0 || id > 0xffff {
		return thrown("Write-EventLog : -EventId is a number from 0 to 65535, not %s.", c.text("eventid"))
	}
	category, err := integer(c.values["category"])
	if err != nil || category < 0 || category > 0x7fff {
		return thrown("Write-EventLog : -Category is a number from 0 to 32767, not %s.", c.text("category"))
	}
	data, err := numbersOf(c.values["rawdata"])
	if err != nil {
		return err
	}
	log, source := c.text("logname"), c.text("source")
	is, known := events.LogOf(source)
	if !known {
		return c.fail(itsWords("The source name \"%s\" does not exist on computer \"localhost\".", source))
	}
	if !strings.EqualFold(is, log) {
		return c.fail(itsWords("The source '%s' is not registered in log '%s'. (It is registered in log '%s'.)", source, log, is))
	}
	e := eventlog.Entry{
		Log:      is,
		Source:   source,
		Type:     entryTypes()[lower(cmp.Or(c.text("entrytype"), "Information"))],
		Category: uint16(category),
		ID:       uint32(id),
		Text:     c.text(messageName),
	}
	for _, b := range data {
		e.Data = append(e.Data, byte(b)) // as PowerShell, which refuses larger ones
	}
	if err := events.Write(e); err != nil {
		return c.fail(err)
	}
	return nil
}

func newEventLog(c *call) error {
	events := c.f.in.session.system().events
	for _, source := range texts(c.values["source"]) {
		err := error(nil)
		if log, known := events.LogOf(source); known {
			err = itsWords("The \"%s\" source is already registered in the \"%s\" log.", source, log)
		} else {
			err = events.Register(c.text("logname"), source)
		}
		if err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func clearEventLog(c *call) error {
	for _, log := range texts(c.values["logname"]) {
		err := c.f.in.session.system().events.Clear(log)
		if errors.Is(err, eventlog.NoSuchChannel) {
			err = itsWords("The Log name \"%s\" does not exist in the computer \"localhost\".", log)
		}
		if err != nil {
			if err := c.fail(err); err != nil {
				return err
			}
		}
	}
	return nil
}

func eventCmdlets() []cmdlet {
	types := []string{"error", "warning", "information", "successaudit", "failureaudit"}
	return []cmdlet{
		{
			name:  "Get-WinEvent",
			about: "events of logs; without events of ETW, saved logs and other computers",
			run:   getWinEvent,
			values: []string{
				"logname", "providername", "maxevents", "filterhashtable", "filterxpath", "listlog",
				"listprovider",
			},
			flags:     []string{"oldest"},
			positions: []string{"logname"},
			needs:     []string{"logname|providername|filterhashtable|listlog|listprovider"},
		},
		{
			name:      "Get-EventLog",
			about:     "entries of a log, the newest first",
			run:       getEventLog,
			values:    []string{"logname", "newest", "source", "entrytype", "after", "before", "instanceid", messageName},
			flags:     []string{"list"},
			positions: []string{"logname", "instanceid"},
			needs:     []string{"logname|list"},
			allowed:   map[string][]string{"entrytype": types},
		},
		{
			name:      "Write-EventLog",
			about:     "writes an event of a source that is registered",
			run:       writeEventLog,
			values:    []string{"logname", "source", "eventid", "entrytype", messageName, "category", "rawdata"},
			positions: []string{"logname", "source", "eventid", "entrytype", messageName},
			needs:     []string{"logname", "source", "eventid", messageName},
			allowed:   map[string][]string{"entrytype": types},
		},
		{
			name:      "New-EventLog",
			about:     "registers sources, and makes their log",
			run:       newEventLog,
			values:    []string{"logname", "source"},
			positions: []string{"logname", "source"},
			needs:     []string{"logname", "source"},
		},
		{
			name:      "Clear-EventLog",
			about:     "removes the events of logs",
			run:       clearEventLog,
			values:    []string{"logname"},
			positions: []string{"logname"},
			needs:     []string{"logname"},
		},
	}
}
