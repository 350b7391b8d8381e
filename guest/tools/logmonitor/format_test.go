package logmonitor

import (
	"encoding/json"
	"encoding/xml"
	"testing"
	"time"
)

func entries() (event, file, process entry) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)
	const said = "a \"b\" <c> & 100%\r\nü\x01"
	return entry{
			from: fromEventLog, time: when, message: said, provider: "My App", channel: "Application", level: "Warning",
			id: 7,
		},
		entry{
			from:    fromFile,
			time:    when,
			message: said,
			file:    `sub\a.log`,
		},
		entry{
			from:    fromProcess,
			time:    when,
			message: said,
		}
}

// TestFormats has the lines as Microsoft's program prints them
// (https://github.com/microsoft/windows-container-tools/blob/d07608d5/LogMonitor/src/LogMonitor/EventMonitor.cpp and
// LogFileMonitor.cpp, ProcessMonitor.cpp beside it), except that what JSON and XML want escaped is escaped everywhere.
func TestFormats(t *testing.T) {
	event, file, process := entries()
	const asJSON = `a \"b\" <c> & 100%\r\nü\u0001`
	const asXML = "a \"b\" &lt;c&gt; &amp; 100%\r\nü"
	for _, tt := range []struct {
		e                     entry
		json, xml, text, want string
	}{
		{
			event,
			`{"Source": "EventLog","LogEntry": {"EventSource": "My App","Time": "2026-01-02T03:04:05.678Z","Channel": "Application","Level": "Warning","EventId": 7,"Message": "` + asJSON + `"}}`,
			`<Log><Source>EventLog</Source><LogEntry><EventSource>My App</EventSource><Time>2026-01-02T03:04:05.678Z</Time><Channel>Application</Channel><Level>Warning</Level><EventId>7</EventId><Message>` + asXML + `</Message></LogEntry></Log>`,
			"%timestamp% [%Source%] %EventSource% %EventID% %Severity%%",
			"2026-01-02T03:04:05.678Z [EventLog] My App 7 Warning%",
		},
		{
			file,
			`{"Source": "File","LogEntry": {"Logline": "` + asJSON + `","FileName": "sub\\a.log"},"SchemaVersion":"1.0.0"}`,
			`<Log><Source>File</Source><LogEntry><Logline>` + asXML + `</Logline><FileName>sub\a.log</FileName></LogEntry></Log>`,
			"{'File':'%FileName%', 'Message':'%Message%'} | JSON",
			`{"File":"sub\\a.log", "Message":"` + asJSON + `"} `,
		},
		{
			process,
			`{"Source":"Process","LogEntry":{"Logline":"` + asJSON + `"},"SchemaVersion":"1.0.0"}`,
			`<Log><Source>Process</Source><LogEntry><Logline>` + asXML + `</Logline></LogEntry></Log>`,
			"%Source% | %Message%",
			"Process | " + process.message,
		},
	} {
		t.Run(tt.e.from, func(t *testing.T) {
			fields := map[string][]string{
				fromEventLog: eventFields(), fromFile: fileFields(), fromProcess: processFields(),
			}
			custom, unknown := parseTemplate(tt.text, fields[tt.e.from])
			if unknown != nil {
				t.Errorf("unknown fields %q", unknown)
			}

			for format, want := range map[string]string{formatJSON: tt.json, formatXML: tt.xml, formatCustom: tt.want} {
				if got := tt.e.line(format, custom); got != want {
					t.Errorf("%s:\n%s, want\n%s", format, got, want)
				}
			}

			if !json.Valid([]byte(tt.json)) {
				t.Error("it is no JSON")
			}
			if err := xml.Unmarshal([]byte(tt.xml), new(struct{})); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	if got := oneLine("a\r\nb\nc\rd\r\n"); got != "a b c d" {
		t.Errorf("%q", got)
	}
}
