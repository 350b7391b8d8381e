package logmonitor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The formats of lines, in lower case.
const (
	formatJSON   = "json"
	formatXML    = "xml"
	formatCustom = "custom"
)

// The kinds of sources, as lines name them.
const (
	fromEventLog = "EventLog"
	fromFile     = "File"
	fromProcess  = "Process"
	fromETW      = "ETW"
)

// The custom formats of sources that have none.
const (
	defaultEvent   = "[%TimeStamp%] [%Source%] [%Severity%] %Message%"
	defaultFile    = "[%TimeStamp%] [%Source%] [%FileName%] %Message%"
	defaultProcess = "[%TimeStamp%] [%Source%] [%Message%]"
	defaultTrace   = "[%TimeStamp%] [%Source%] [%Severity%] [%ProviderName%] %EventData%"
)

// The fields of custom formats.
const (
	timeStamp   = "TimeStamp"
	source      = "Source"
	severity    = "Severity"
	eventSource = "EventSource"
	eventID     = "EventID"
	fileName    = "FileName"
	message     = "Message"

	providerID     = "ProviderId"
	providerName   = "ProviderName"
	decodingSource = "DecodingSource"
	processID      = "ExecutionProcessId"
	threadID       = "ExecutionThreadId"
	keyword        = "Keyword"
	traceEventID   = "EventId"
	eventData      = "EventData"
)

func eventFields() []string {
	return []string{source, timeStamp, eventSource, eventID, severity, message}
}
func fileFields() []string { return []string{source, timeStamp, fileName, message} }
func traceFields() []string {
	return []string{
		source, timeStamp, severity, providerID, providerName, decodingSource, processID, threadID, keyword,
		traceEventID, eventData,
	}
}
func processFields() []string { return []string{source, timeStamp, message} }

// entry is what a line of output tells of: an event, or a line of a file or of the program.
type entry struct {
	from    string
	time    time.Time
	message string

	file string // of a file: its name in the folder

	provider, channel, level string // of an event
	id                       uint16
	traced                   *traced // of an event of ETW
}

// stamp returns a time as lines have it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// line returns the entry as a line of output.
func (e entry) line(format string, custom template) string {
	switch format {
	case formatXML:
		return e.xml()
	case formatCustom:
		return custom.render(e)
	}
	return e.json()
}

func (e entry) json() string {
	switch e.from {
	case fromETW:
		return e.traced.json(e)
	case fromEventLog:
		return fmt.Sprintf(`{"Source": "EventLog","LogEntry": {"EventSource": "%s","Time": "%s","Channel": "%s",`+
			`"Level": "%s","EventId": %d,"Message": "%s"}}`,
			escaped(e.provider), stamp(e.time), escaped(e.channel), e.level, e.id, escaped(e.message))
	case fromFile:
		return fmt.Sprintf(`{"Source": "File","LogEntry": {"Logline": "%s","FileName": "%s"},"SchemaVersion":"1.0.0"}`,
			escaped(e.message), escaped(e.file))
	}
	return fmt.Sprintf(`{"Source":"Process","LogEntry":{"Logline":"%s"},"SchemaVersion":"1.0.0"}`, escaped(e.message))
}

func (e entry) xml() string {
	switch e.from {
	case fromETW:
		return e.traced.xml(e)
	case fromEventLog:
		return fmt.Sprintf("<Log><Source>EventLog</Source><LogEntry><EventSource>%s</EventSource><Time>%s</Time>"+
			"<Channel>%s</Channel><Level>%s</Level><EventId>%d</EventId><Message>%s</Message></LogEntry></Log>",
			content(e.provider), stamp(e.time), content(e.channel), e.level, e.id, content(e.message))
	case fromFile:
		return fmt.Sprintf("<Log><Source>File</Source><LogEntry><Logline>%s</Logline><FileName>%s</FileName>"+
			"</LogEntry></Log>", content(e.message), content(e.file))
	}
	return fmt.Sprintf("<Log><Source>Process</Source><LogEntry><Logline>%s</Logline></LogEntry></Log>", content(e.message))
}

// value returns a field for a custom format.
func (e entry) value(field string) string {
	switch field {
	case timeStamp:
		return stamp(e.time)
	case source:
		return e.from
	case severity:
		return e.level
	case eventSource, providerName:
		return e.provider
	case eventID:
		return fmt.Sprint(e.id)
	case fileName:
		return e.file
	case message:
		return e.message
	}

	if e.traced != nil {
		return e.traced.value(field)
	}
	return ""
}

// escaped returns a text as it stands between the quotes of JSON.
func escaped(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text can be encoded, and a buffer written
	return string(bytes.TrimSuffix(bytes.TrimPrefix(b.Bytes(), []byte(`"`)), []byte("\"\n")))
}

// content returns a text as it stands between the tags of XML, without characters that XML does not have.
func content(text string) string {
	text = strings.Map(func(r rune) rune {
		if (r < ' ' && r != '\t' && r != '\n' && r != '\r') || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, text)
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// oneLine returns a text without ends of lines.
func oneLine(text string) string {
	return strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ").Replace(strings.TrimRight(text, "\r\n"))
}

// template is a custom format: parts of text and fields, by turns, beginning with a text.
type template struct {
	parts  []string
	asJSON bool
}

// parseTemplate reads a custom format. It returns fields that the source does not have; they stay empty.
func parseTemplate(text string, fields []string) (t template, unknown []string) {
	i := strings.LastIndexByte(text, '|')
	if i >= 0 && strings.EqualFold(strings.ReplaceAll(text[i+1:], " ", ""), "json") {
		t.asJSON = true
		text = strings.ReplaceAll(text[:i], "'", `"`)
	}

	t.parts = strings.Split(text, "%")
	if last := len(t.parts) - 1; last%2 == 1 { // a % without another is text
		t.parts[last-1] += "%" + t.parts[last]
		t.parts = t.parts[:last]
	}

	for i := 1; i < len(t.parts); i += 2 {
		name := t.parts[i]
		known := slices.IndexFunc(fields, func(f string) bool { return strings.EqualFold(f, name) })
		if known >= 0 {
			t.parts[i] = fields[known]
			continue
		}
		unknown = append(unknown, name)
		t.parts[i] = ""
	}

	return t, unknown
}

func (t template) render(e entry) string {
	var b strings.Builder
	for i, part := range t.parts {
		if i%2 == 1 {
			if part = e.value(part); t.asJSON {
				part = escaped(part)
			}
		}
		b.WriteString(part)
	}
	return b.String()
}
