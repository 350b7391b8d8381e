// Package eventlog owns the event log as Mullion's own programs use it: events as values, and the calls of wevtapi.dll
// and advapi32.dll with which they read, write and clear logs. The store, and the rules of queries, are those of the
// library (guest/c/wevtapi); this package knows neither.
package eventlog

import (
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"

	"mullion.dev/mullion/internal/windows/wire/winerr"
)

// Errors of Windows (https://learn.microsoft.com/windows/win32/debug/system-error-codes) by which programs tell why a
// log was not read.
const (
	InvalidQuery  = winerr.Code(15001)
	NoSuchChannel = winerr.Code(15007)
)

// Types of events, as ReportEvent takes them (winnt.h, EVENTLOG_ERROR_TYPE and others).
const (
	Success      = 0
	ErrorType    = 1
	Warning      = 2
	Information  = 4
	SuccessAudit = 8
	FailureAudit = 16
)

// Event is one event of a log.
type Event struct {
	Log, Provider, Computer string
	User                    string // a SID, or empty
	ID, Qualifiers          uint16
	Level                   byte
	Task                    uint16
	Keywords                uint64
	Record                  uint64
	Time                    time.Time
	Process, Thread         uint32
	Data                    []string
	Binary                  string // hexadecimal
	Message                 string // empty if the source has no text for it
	XML                     string
}

// rendered is the XML of an event.
type rendered struct {
	System struct {
		Provider struct {
			Name string `xml:"Name,attr"`
		}
		EventID struct {
			Qualifiers uint16 `xml:"Qualifiers,attr"`
			Value      uint16 `xml:",chardata"`
		}
		Level       byte
		Task        uint16
		Keywords    string
		TimeCreated struct {
			SystemTime time.Time `xml:"SystemTime,attr"`
		}
		EventRecordID uint64
		Execution     struct {
			ProcessID uint32 `xml:"ProcessID,attr"`
			ThreadID  uint32 `xml:"ThreadID,attr"`
		}
		Channel, Computer string
		Security          struct {
			UserID string `xml:"UserID,attr"`
		}
	}
	EventData struct {
		Data   []string
		Binary string
	}
}

// Parse reads the XML of an event.
func Parse(text string) (Event, error) {
	var r rendered
	if err := xml.Unmarshal([]byte(text), &r); err != nil {
		return Event{}, fmt.Errorf("parse event: %w", err)
	}

	s := r.System
	e := Event{
		Log: s.Channel, Provider: s.Provider.Name, Computer: s.Computer, User: s.Security.UserID,
		ID: s.EventID.Value, Qualifiers: s.EventID.Qualifiers, Level: s.Level, Task: s.Task,
		Record: s.EventRecordID, Time: s.TimeCreated.SystemTime, Process: s.Execution.ProcessID,
		Thread: s.Execution.ThreadID, Data: r.EventData.Data, Binary: r.EventData.Binary, XML: text,
	}

	if _, err := fmt.Sscanf(s.Keywords, "0x%x", &e.Keywords); err != nil {
		return Event{}, fmt.Errorf("parse event: keywords %q: %w", s.Keywords, err)
	}
	return e, nil
}

// LevelName returns the name of the event's level.
func (e Event) LevelName() string {
	return map[byte]string{0: "Information", 1: "Critical", 2: "Error", 3: "Warning", 4: "Information", 5: "Verbose"}[e.Level]
}

// Kind returns the type of the event, as the older programs name it.
func (e Event) Kind() string {
	const success, failure = 1 << 53, 1 << 52
	switch {
	case e.Keywords&success != 0:
		return "SuccessAudit"
	case e.Keywords&failure != 0:
		return "FailureAudit"
	case e.Level == 2:
		return "Error"
	case e.Level == 3:
		return "Warning"
	}

	return "Information"
}

// Query says which events are wanted.
type Query struct {
	Log    string
	XPath  string // empty: all
	Newest bool   // from the newest to the oldest
}

// Entry is an event to write.
type Entry struct {
	Log      string // empty: that of the source. Otherwise the source is made in it if no log has it
	Source   string
	Type     uint16
	Category uint16
	ID       uint32
	Text     string
	Data     []byte
}

// Info is what is known of a log.
type Info struct {
	Path            string
	MaxBytes, Bytes uint64
	Records, Oldest uint64
}

// Filter is a search for events by their values. What is empty matches all.
type Filter struct {
	Providers  []string
	IDs        []int
	Levels     []int
	Start, End time.Time
}

// errQuote says that a name cannot be asked for.
var errQuote = errors.New("a provider's name has both kinds of quotes")

// XPath returns the filter as a query.
func (f Filter) XPath() (string, error) {
	var all []string
	either := func(one []string) {
		if len(one) > 0 {
			all = append(all, "("+strings.Join(one, " or ")+")")
		}
	}

	var names, ids, levels []string
	for _, name := range f.Providers {
		quote := "'"
		if strings.Contains(name, quote) {
			quote = `"`
		}
		if strings.Contains(name, quote) {
			return "", errQuote
		}
		names = append(names, "@Name="+quote+name+quote)
	}

	if len(names) > 0 {
		all = append(all, "Provider["+strings.Join(names, " or ")+"]")
	}
	for _, id := range f.IDs {
		ids = append(ids, fmt.Sprint("EventID=", id))
	}

	either(ids)
	for _, level := range f.Levels {
		levels = append(levels, fmt.Sprint("Level=", level))
	}

	either(levels)
	if !f.Start.IsZero() {
		all = append(all, "TimeCreated[@SystemTime>='"+f.Start.UTC().Format(time.RFC3339Nano)+"']")
	}

	if !f.End.IsZero() {
		all = append(all, "TimeCreated[@SystemTime<='"+f.End.UTC().Format(time.RFC3339Nano)+"']")
	}
	if len(all) == 0 {
		return "*", nil
	}

	return "*[System[" + strings.Join(all, " and ") + "]]", nil
}
