//go:build !windows

package logmonitor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/guest/etw"
	"mullion.dev/mullion/guest/eventlog"
)

// fakeSystem has logs and a program that a test sets.
type fakeSystem struct {
	logs    map[string]*fakeLog
	asked   []string
	line    string
	program func(out io.Writer) int
	err     error

	traced   func(etw.Record) // what the session calls
	traceErr error
	lost     uint32
}

func (s *fakeSystem) Trace(name string, providers []etw.Provider, f func(etw.Record)) (func() (uint32, error), error) {
	s.asked = append(s.asked, fmt.Sprint(name, " ", providers))
	s.traced = f
	return func() (uint32, error) {
		s.traced = nil
		return s.lost, nil
	}, s.traceErr
}

// fakeLog is a log, what is to be read of it, and the error of the next time.
type fakeLog struct {
	lock   sync.Mutex
	events []eventlog.Event
	err    error
}

func (l *fakeLog) add(e eventlog.Event) {
	l.lock.Lock()
	defer l.lock.Unlock()
	l.events = append(l.events, e)
}

func (l *fakeLog) Read(f func(eventlog.Event)) error {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, e := range l.events {
		f(e)
	}
	l.events = nil
	return l.err
}

func (s *fakeSystem) Subscribe(q eventlog.Query, oldest bool) (Log, error) {
	s.asked = append(s.asked, fmt.Sprint(q.Log, " ", q.XPath, " ", oldest))
	log, ok := s.logs[q.Log]
	if !ok {
		return nil, eventlog.NoSuchChannel
	}
	return log, nil
}

func (s *fakeSystem) Start(line string, out *os.File) (func() (int, error), error) {
	if s.err != nil {
		return nil, s.err
	}
	s.line = line
	own, err := syscall.Dup(int(out.Fd())) // as a child's: the caller closes its own
	if err != nil {
		return nil, err
	}
	copied := os.NewFile(uintptr(own), "pipe")
	return func() (int, error) {
		defer copied.Close()
		return s.program(copied), nil
	}, nil
}

// outcome is what a run left, without the times in it.
type outcome struct {
	code     int
	out, err string
}

func outcomeOf(s *fakeSystem, stop <-chan os.Signal, args ...string) outcome {
	var out, errs bytes.Buffer
	code := run(Streams{&out, &errs}, s, args, stop)
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)
	return outcome{code, times.ReplaceAllString(out.String(), "TIME"), times.ReplaceAllString(errs.String(), "TIME")}
}

// write writes a configuration and returns its file.
func write(t *testing.T, text string) string {
	t.Helper()
	file := t.TempDir() + "/config.json"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

const allSources = `{"LogConfig":{"logFormat":"custom","sources":[
	{"type":"EventLog","startAtOldestRecord":true,"eventFormatMultiLine":false,
	 "channels":[{"name":"Application","level":"Warning"},{"name":"None"}],"customLogFormat":"%Source% %Severity% %Message%"},
	{"type":"File","directory":"C:\\logs","includeFileNames":true,"customLogFormat":"%Source% %Message%"},
	{"type":"ETW","providers":[{"providerName":"Of Go","providerGuid":"{EF70F029-8C00-5B39-73CD-F7E595EC0715}","level":"Verbose","keywords":"0x40"}],
	 "customLogFormat":"%Source% %ProviderName% %EventData%"},
	{"type":"Process","customLogFormat":"%Source% %Message%"}
]}}`

// TestRun runs a program that writes to all that is followed just before it ends.
func TestRun(t *testing.T) {
	event := recorded(t)
	t.Chdir(t.TempDir())
	if err := os.Mkdir(`C:\logs`, 0o755); err != nil { // a name like any other here
		t.Fatal(err)
	}

	log := &fakeLog{events: []eventlog.Event{{Level: 3, Message: "old\r\nevent"}}}
	s := &fakeSystem{logs: map[string]*fakeLog{"Application": log}, lost: 3}
	s.program = func(out io.Writer) int {
		r := event
		r.Schema, r.Data = []byte("\x00\x00\x00Said\x00text\x00\x02"), []byte("hello\x00")
		s.traced(r)
		r.Data = r.Data[:3]
		s.traced(r)
		s.traced(r)
		fmt.Fprint(out, "one\r\n\r\ntwo\rthree")
		log.add(eventlog.Event{Level: 0, Data: []string{"only", "strings"}})
		if err := os.WriteFile(`C:\logs/a.log`, []byte("line\nlast"), 0o644); err != nil {
			t.Error(err)
		}

		return 0xC000013A
	}

	got := outcomeOf(s, nil, "/Config", write(t, allSources), "cmd", "/c", "echo one")

	//nolint:lll // lines of LogMonitor
	want := outcome{0xC000013A, `EventLog Warning old event
ETW Mullion.Recorded text: hello 
ETW Mullion.Recorded text: hel 
ETW Mullion.Recorded text: hel 
Process one
Process two
Process three
EventLog Unknown only strings
File a.log: line
File a.log: last
`, `[TIME][LOGMONITOR] ERROR: Subscribing to the event log None: The specified channel could not be found. Its events are not monitored.
[TIME][LOGMONITOR] WARNING: An event of the provider {EF70F029-8C00-5B39-73CD-F7E595EC0715} cannot be read whole: the event is shorter than its fields. It is told once.
[TIME][LOGMONITOR] INFO: Entrypoint process exit code: 3221225786
[TIME][LOGMONITOR] WARNING: 3 events of ETW were lost, as they came faster than they were printed.
`}

	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outcome{})); diff != "" {
		t.Error(diff)
	}
	if s.line != "cmd /c echo one" {
		t.Errorf("ran %q", s.line)
	}

	asked := []string{
		"Application *[System[(Level=1 or Level=2 or Level=3)]] true", "None *[System[(Level=1 or Level=2)]] true",
		"Log Monitor ETW Session [{ef70f029-8c00-5b39-73cd-f7e595ec0715 5 64}]",
	}
	if diff := cmp.Diff(asked, s.asked); diff != "" {
		t.Error(diff)
	}
}

// TestStop stops it where it runs no program, and sees that it goes on where it does until the program's end.
func TestStop(t *testing.T) {
	stop := make(chan os.Signal, 1)
	stop <- os.Interrupt
	config := write(t, `{"LogConfig":{"sources":[{"type":"EventLog","channels":[{"name":"System"}]}]}}`)
	log := &fakeLog{err: errors.New("it is torn")}
	s := &fakeSystem{logs: map[string]*fakeLog{"System": log}}
	got := outcomeOf(s, stop, "/CONFIG", config)
	want := outcome{0, "", "[TIME][LOGMONITOR] ERROR: Reading the event log System: it is torn. It is tried again.\n"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}

	stop <- os.Interrupt
	s = &fakeSystem{logs: map[string]*fakeLog{"System": {}}}
	s.program = func(out io.Writer) int {
		time.Sleep(2 * interval) // what a program does in order before it ends
		fmt.Fprintln(out, "stopped in order")
		return 5
	}

	got = outcomeOf(s, stop, "/CONFIG", config, "app")
	if got.code != 5 || !strings.Contains(got.out, "stopped in order") {
		t.Errorf("%+v", got)
	}
}

// TestNoSession runs a program although there can be no session.
func TestNoSession(t *testing.T) {
	s := &fakeSystem{traceErr: etw.AccessDenied, program: func(io.Writer) int { return 0 }}
	got := outcomeOf(s, nil, "/CONFIG", write(t, `{"LogConfig":{"sources":[
		{"type":"ETW","providers":[{"providerGuid":"{EF70F029-8C00-5B39-73CD-F7E595EC0715}"}]}]}}`), "app")
	want := outcome{0, "", "[TIME][LOGMONITOR] ERROR: Starting the session for ETW: Access is denied. No events of ETW are monitored.\n" +
		"[TIME][LOGMONITOR] INFO: Entrypoint process exit code: 0\n"}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	ok := func(out io.Writer) int {
		fmt.Fprintln(out, "runs")
		return 0
	}

	const runs = `{"Source":"Process","LogEntry":{"Logline":"runs"},"SchemaVersion":"1.0.0"}` + "\n"
	const ended = "[TIME][LOGMONITOR] INFO: Entrypoint process exit code: 0\n"
	bad := write(t, "{")
	problem := "[TIME][LOGMONITOR] ERROR: Reading the configuration: " + bad +
		": line 1, column 1: unexpected end of JSON input. No log is monitored.\n"
	none := "[TIME][LOGMONITOR] ERROR: Reading the configuration: open " + defaultConfig +
		": no such file or directory. No log is monitored.\n"
	for _, tt := range []struct {
		name string
		args []string
		err  error
		want outcome
	}{
		{"help", []string{"/?"}, nil, outcome{0, usage, ""}},
		{"help_too", []string{"--HELP"}, nil, outcome{0, usage, ""}},
		{"no_path", []string{"/config"}, nil, outcome{1, "", "[TIME][LOGMONITOR] ERROR: /CONFIG needs the path of a configuration file. LogMonitor /? shows the usage.\n"}},
		{"bad", []string{"/config", bad}, nil, outcome{1, "", problem}},
		{"bad_with_program", []string{"/config", bad, "app"}, nil, outcome{0, runs, problem + ended}},
		{"none", []string{"app", "/?"}, nil, outcome{0, runs, none + ended}},
		{"no_program", []string{"app"}, syscall.Errno(2), outcome{2, "", none + "[TIME][LOGMONITOR] ERROR: Starting app: no such file or directory.\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := outcomeOf(&fakeSystem{program: ok, err: tt.err}, nil, tt.args...)
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
