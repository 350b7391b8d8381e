package wevtutil

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/eventlog"
	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/program/programtest"
)

// fake is a Windows whose logs a test sets.
type fake struct {
	err   error
	logs  map[string][]eventlog.Event
	asked eventlog.Query
}

func (w *fake) Logs() ([]string, error) { return slices.Sorted(maps.Keys(w.logs)), w.err }

func (w *fake) Events(q eventlog.Query, f func(eventlog.Event) bool) error {
	w.asked = q
	all, ok := w.logs[q.Log]
	if !ok {
		return eventlog.NoSuchChannel
	}
	for _, e := range all {
		if !f(e) {
			break
		}
	}
	return w.err
}

func (w *fake) Clear(log string) error {
	if _, ok := w.logs[log]; !ok {
		return eventlog.NoSuchChannel
	}
	w.logs[log] = nil
	return w.err
}

func (w *fake) Info(log string) (eventlog.Info, error) {
	if _, ok := w.logs[log]; !ok {
		return eventlog.Info{}, eventlog.NoSuchChannel
	}
	return eventlog.Info{
		Path:     `C:\` + log,
		MaxBytes: 1000,
		Bytes:    100,
		Records:  2,
		Oldest:   3,
	}, w.err
}

type result = programtest.Result

// run runs wevtutil on a fake; the first argument is its name.
func run(t *testing.T, w *fake, input string, args ...string) result {
	t.Helper()
	return programtest.Run(input, func(e program.Env) int { return Run(e, w, args[1:]) })
}

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
		{"el", []string{"el"}, result{Out: "Application\nSecurity\nSystem\n"}, eventlog.Query{}},
		{"gl", []string{"gl", "System"}, result{Out: log}, eventlog.Query{}},
		{"gl_none", []string{"get-log", "X"}, result{Code: 15007, Err: "Failed to read configuration for log X. " + none}, eventlog.Query{}},
		{"gli", []string{"gli", "System"}, result{Out: "fileSize: 100\nnumberOfLogRecords: 2\noldestRecordNumber: 3\n"}, eventlog.Query{}},
		{"qe", []string{"qe", "Application"}, result{Out: "<Event>1</Event>\n<Event>2</Event>\n"}, eventlog.Query{Log: "Application"}},
		{
			"qe_options",
			[]string{"query-events", "Application", "/q:*[System[Level=2]]", "/c:1", "/rd:true", "/f:text"},
			result{Out: asText},
			eventlog.Query{
				Log:    "Application",
				XPath:  "*[System[Level=2]]",
				Newest: true,
			},
		},
		{"qe_text", []string{"qe", "Application", "-format:Text"}, result{Out: asText + withoutMessage}, eventlog.Query{Log: "Application"}},
		{"qe_element", []string{"qe", "Application", "/e:all", "/c:1"}, result{Out: "<all>\n<Event>1</Event>\n</all>\n"}, eventlog.Query{Log: "Application"}},
		{"qe_none", []string{"qe", "X"}, result{Code: 15007, Err: "Failed to query events. " + none}, eventlog.Query{Log: "X"}},
		{"qe_count", []string{"qe", "System", "/c:0"}, result{Code: 87, Err: "Invalid option or argument /c:0. It is not part of Mullion's wevtutil.\n"}, eventlog.Query{}},
		{"qe_file", []string{"qe", "x.evtx", "/lf:true"}, result{Code: 87, Err: "Invalid option or argument /lf:true. It is not part of Mullion's wevtutil.\n"}, eventlog.Query{}},
		{"qe_no_log", []string{"qe"}, result{Code: 87, Err: "Too few arguments provided to the command. The name of a log is missing.\n"}, eventlog.Query{}},
		{"cl", []string{"cl", "Application"}, result{}, eventlog.Query{}},
		{"cl_none", []string{"cl", "X"}, result{Code: 15007, Err: "Failed to clear log X. " + none}, eventlog.Query{}},
		{"other", []string{"im", "x"}, result{Code: 87, Err: "Invalid command: im. Mullion's wevtutil has el, gl, gli, qe and cl.\n"}, eventlog.Query{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := &fake{logs: someLogs()}
			got := run(t, w, "", append([]string{"wevtutil"}, tc.args...)...)
			if diff := cmp.Diff([]any{tc.want, tc.ask}, []any{got, w.asked}); diff != "" {
				t.Error(diff)
			}
			if tc.name == "cl" && w.logs["Application"] != nil {
				t.Error("the log is not cleared")
			}
		})
	}
}
