package tools

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/eventlog"
)

func someLogs() map[string][]eventlog.Event {
	when := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	return map[string][]eventlog.Event{
		"Application": {
			{Log: "Application", Provider: "Src", ID: 7, Level: 2, Task: 3, Time: when, Computer: "win-1", Message: "It broke.", XML: "<Event>1</Event>"},
			{Log: "Application", Provider: "Src", ID: 8, Level: 4, Time: when, Computer: "win-1", User: "S-1-5-18", XML: "<Event>2</Event>"},
		},
		"System":   nil,
		"Security": nil,
	}
}

const asText = `Event[0]:
  Log Name: Application
  Source: Src
  Date: 2026-01-02T03:04:05.0000006Z
  Event ID: 7
  Task: 3
  Level: Error
  Opcode: Info
  Keyword: Classic
  User: N/A
  User Name: N/A
  Computer: win-1
  Description: 
It broke.

`

const withoutMessage = `Event[1]:
  Log Name: Application
  Source: Src
  Date: 2026-01-02T03:04:05.0000006Z
  Event ID: 8
  Task: N/A
  Level: Information
  Opcode: Info
  Keyword: Classic
  User: S-1-5-18
  User Name: S-1-5-18
  Computer: win-1
  Description: 
N/A

`

func TestWevtutil(t *testing.T) {
	const log = `name: System
enabled: true
type: Admin
owningPublisher: 
isolation: System
logging:
  logFileName: C:\System
  retention: false
  autoBackup: false
  maxSize: 1000
publishing:
  fileMax: 1
`
	none := "The specified channel could not be found.\n"
	for _, tc := range []struct {
		name string
		args []string
		want result
		ask  eventlog.Query
	}{
		{"el", []string{"el"}, result{0, "Application\nSecurity\nSystem\n", ""}, eventlog.Query{}},
		{"gl", []string{"gl", "System"}, result{0, log, ""}, eventlog.Query{}},
		{"gl_none", []string{"get-log", "X"}, result{15007, "", "Failed to read configuration for log X. " + none}, eventlog.Query{}},
		{"gli", []string{"gli", "System"}, result{0, "fileSize: 100\nnumberOfLogRecords: 2\noldestRecordNumber: 3\n", ""}, eventlog.Query{}},
		{"qe", []string{"qe", "Application"}, result{0, "<Event>1</Event>\n<Event>2</Event>\n", ""}, eventlog.Query{Log: "Application"}},
		{
			"qe_options",
			[]string{"query-events", "Application", "/q:*[System[Level=2]]", "/c:1", "/rd:true", "/f:text"},
			result{0, asText, ""},
			eventlog.Query{Log: "Application", XPath: "*[System[Level=2]]", Newest: true},
		},
		{"qe_text", []string{"qe", "Application", "-format:Text"}, result{0, asText + withoutMessage, ""}, eventlog.Query{Log: "Application"}},
		{"qe_element", []string{"qe", "Application", "/e:all", "/c:1"}, result{0, "<all>\n<Event>1</Event>\n</all>\n", ""}, eventlog.Query{Log: "Application"}},
		{"qe_none", []string{"qe", "X"}, result{15007, "", "Failed to query events. " + none}, eventlog.Query{Log: "X"}},
		{"qe_count", []string{"qe", "System", "/c:0"}, result{87, "", "Invalid option or argument /c:0. It is not part of Mullion's wevtutil.\n"}, eventlog.Query{}},
		{"qe_file", []string{"qe", "x.evtx", "/lf:true"}, result{87, "", "Invalid option or argument /lf:true. It is not part of Mullion's wevtutil.\n"}, eventlog.Query{}},
		{"qe_no_log", []string{"qe"}, result{87, "", "Too few arguments provided to the command. The name of a log is missing.\n"}, eventlog.Query{}},
		{"cl", []string{"cl", "Application"}, result{}, eventlog.Query{}},
		{"cl_none", []string{"cl", "X"}, result{15007, "", "Failed to clear log X. " + none}, eventlog.Query{}},
		{"other", []string{"im", "x"}, result{87, "", "Invalid command: im. Mullion's wevtutil has el, gl, gli, qe and cl.\n"}, eventlog.Query{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &fake{logs: someLogs()}
			got := run(t, w, "", append([]string{"wevtutil"}, tc.args...)...)
			all := cmp.AllowUnexported(result{})
			if diff := cmp.Diff([]any{tc.want, tc.ask}, []any{got, w.asked}, all); diff != "" {
				t.Error(diff)
			}
			if tc.name == "cl" && w.logs["Application"] != nil {
				t.Error("the log is not cleared")
			}
		})
	}
}

func TestEventcreate(t *testing.T) {
	w := &fake{logs: someLogs()}
	got := run(t, w, "", "eventcreate", "/t", "error", "/ID", "100", "/L", "system", "/D", "a b")
	if want := (result{0, "\nSUCCESS: An event of type 'ERROR' was created in the 'System' log with 'EventCreate' as the source.\n", ""}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want := []eventlog.Entry{{Log: "System", Source: "EventCreate", Type: eventlog.ErrorType, ID: 100, Text: "a b"}}
	if diff := cmp.Diff(want, w.written); diff != "" {
		t.Error(diff)
	}
	for _, wrong := range [][]string{
		{"/t", "error", "/id", "1"},
		{"/t", "x", "/id", "1", "/d", "x"},
		{"/t", "error", "/id", "1001", "/d", "x"},
		{"/t", "error", "/id", "0", "/d", "x"},
		{"/t", "error", "/id", "1", "/d", "x", "/l", "none"},
		{"/t", "error", "/id", "1", "/d", "x", "/l", "Security"},
		{"/s", "far", "/t", "error", "/id", "1", "/d", "x"},
		{"/t"},
	} {
		w := &fake{logs: someLogs()}
		if got := run(t, w, "", append([]string{"eventcreate"}, wrong...)...); got.code != 1 || got.err == "" || w.written != nil {
			t.Errorf("%q: %+v, %+v", wrong, got, w.written)
		}
	}
	w.err = errors.New("no room")
	if got := run(t, w, "", "eventcreate", "/t", "error", "/id", "1", "/d", "x"); got.code != 1 {
		t.Errorf("what cannot be written: %+v", got)
	}
}
