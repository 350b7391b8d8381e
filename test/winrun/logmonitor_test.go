//go:build wine

package winrun

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logMonitorJob is a program that logs as Windows programs do: to the event log and to a file.
const logMonitorJob = "@echo off\r\necho from the program\r\n" +
	`eventcreate /t WARNING /id 7 /l Application /so OfTheLogs /d "it is ""late""" >nul` + "\r\n" +
	`eventcreate /t INFORMATION /id 8 /l Application /so OfTheLogs /d "not asked for" >nul` + "\r\n" +
	`powershell -Command "Write-EventLog Application OfTheLogs 9 Error 'two lines'" >nul` + "\r\n" +
	"echo grown>>C:\\logs\\app.log\r\necho new>C:\\logs\\new.log\r\necho other>C:\\logs\\other.txt\r\nexit /b 9\r\n"

const logMonitorSources = `{"LogConfig":{"logFormat":%q,"sources":[
	{"type":"EventLog","startAtOldestRecord":%v,"channels":[{"name":"application","level":"Warning"}],
	 "customLogFormat":"%%EventID%% %%EventSource%% %%Message%%"},
	{"type":"File","directory":"c:\\logs","filter":"*.log","customLogFormat":"%%FileName%% %%Message%%"},
	{"type":"Process","customLogFormat":"%%Message%%"},
	{"type":"ETW","providers":[{"providerName":"IIS: WWW Server"}]}]}}`

// testLogMonitor runs LogMonitor.exe as an image's entry point.
func testLogMonitor(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "tools/job.cmd", logMonitorJob)

	//nolint:lll // lines of LogMonitor
	for _, tt := range []struct{ format, want string }{
		{"JSON", `{"Source":"Process","LogEntry":{"Logline":"from the program"},"SchemaVersion":"1.0.0"}
{"Source": "EventLog","LogEntry": {"EventSource": "OfTheLogs","Time": "TIME","Channel": "Application","Level": "Warning","EventId": 7,"Message": "it is \"late\""}}
{"Source": "EventLog","LogEntry": {"EventSource": "OfTheLogs","Time": "TIME","Channel": "Application","Level": "Error","EventId": 9,"Message": "two lines"}}
{"Source": "File","LogEntry": {"Logline": "grown","FileName": "app.log"},"SchemaVersion":"1.0.0"}
{"Source": "File","LogEntry": {"Logline": "new","FileName": "new.log"},"SchemaVersion":"1.0.0"}
`},
		{"XML", `<Log><Source>Process</Source><LogEntry><Logline>from the program</Logline></LogEntry></Log>
<Log><Source>EventLog</Source><LogEntry><EventSource>OfTheLogs</EventSource><Time>TIME</Time><Channel>Application</Channel><Level>Warning</Level><EventId>7</EventId><Message>it is "late"</Message></LogEntry></Log>
<Log><Source>EventLog</Source><LogEntry><EventSource>OfTheLogs</EventSource><Time>TIME</Time><Channel>Application</Channel><Level>Error</Level><EventId>9</EventId><Message>two lines</Message></LogEntry></Log>
<Log><Source>File</Source><LogEntry><Logline>grown</Logline><FileName>app.log</FileName></LogEntry></Log>
<Log><Source>File</Source><LogEntry><Logline>new</Logline><FileName>new.log</FileName></LogEntry></Log>
`},
		{"custom", "from the program\n7 OfTheLogs it is \"late\"\n9 OfTheLogs two lines\napp.log grown\nnew.log new\n"},
	} {
		t.Run(tt.format, func(t *testing.T) {
			p.Write(t, "LogMonitor/LogMonitorConfig.json", fmt.Sprintf(logMonitorSources, tt.format, false))
			p.Write(t, "logs/app.log", "before\r\n")
			if err := os.Remove(p.Path("logs/new.log")); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}

			got := p.run(t, "--", "LogMonitor.exe", "cmd", "/c", `C:\tools\job.cmd`)
			out := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`).ReplaceAllString(got.out, "TIME")
			if diff := cmp.Diff(tt.want, out); diff != "" || got.code != 9 {
				t.Errorf("code %d, %s\n%s", got.code, diff, got.err)
			}
			if !strings.Contains(got.err, "providers[0], IIS: WWW Server, has no providerGuid.") {
				t.Errorf("standard error does not name the provider of ETW: %s", got.err)
			}
		})
	}

	t.Run("etw", func(t *testing.T) { testLogMonitorETW(t, p) })
	t.Run("stopped", func(t *testing.T) { testLogMonitorStopped(t, p) })
	t.Run("without_a_program", func(t *testing.T) { testLogMonitorAlone(t, p) })
	t.Run("no_such_program", func(t *testing.T) {
		if got := p.run(t, "--", "logmonitor", "nosuch"); got.code != 2 || !strings.Contains(got.err, "Starting nosuch:") {
			t.Errorf("%+v", got)
		}
	})
}

// testLogMonitorETW runs programs whose events are asked for, by one that writes some of TraceLogging and of a
// manifest.
func testLogMonitorETW(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "LogMonitor/LogMonitorConfig.json", `{"LogConfig":{"sources":[{"type":"ETW","eventFormatMultiLine":false,"providers":[
		{"providerName":"Of the test","providerGuid":"b0d4d5b3-2a1f-4d0e-8b9a-3f2c1d0e9f8a","level":"Information","keywords":"0x2"}]}]}}`)
	got := p.run(t, "--", "LogMonitor.exe", "cmd", "/c", `C:\prog.exe etw & C:\prog.exe etw`)
	out := regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`).ReplaceAllString(got.out, "TIME")
	out = regexp.MustCompile(`"(Process|Thread)Id":[1-9]\d*`).ReplaceAllString(out, `"${1}Id":N`)
	const head = `{"Source":"ETW","LogEntry":{"Time":"TIME","ProviderName":"Winrun.Test","ProviderId":"{B0D4D5B3-2A1F-4D0E-8B9A-3F2C1D0E9F8A}",` +
		`"DecodingSource":"DecodingSourceTlg","Execution":{"ProcessId":N,"ThreadId":N},`
	const once = head + `"Level":"Warning","Keyword":"0x2","EventId":"","EventData":{"text":"it is \"late\"","number":7}},"SchemaVersion":"1.0.0"}` + "\n" +
		head + `"Level":"None","Keyword":"0x0","EventId":"","EventData":{"end":"true"}},"SchemaVersion":"1.0.0"}` + "\n"
	if diff := cmp.Diff(once+once, out); diff != "" || got.code != 0 {
		t.Errorf("code %d, %s\n%s", got.code, diff, got.err)
	}
}

// testLogMonitorStopped stops a program that ends in order.
func testLogMonitorStopped(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "LogMonitor/LogMonitorConfig.json", fmt.Sprintf(logMonitorSources, "custom", false))
	report := filepath.Join(t.TempDir(), "report")
	r := startReady(t, p.command(t, "--report", report, "--", "logmonitor", `C:\prog.exe`, "signal"))
	defer r.stop()
	if got := p.run(t, "--ctrl", "shutdown"); got.code != 0 {
		t.Fatalf("deliver: %+v", got)
	}

	if line := r.next(); line != "got terminated" {
		t.Errorf("it printed %q", line)
	}
	_ = r.cmd.Wait()
	if lines, err := os.ReadFile(report); err != nil || !strings.HasSuffix(string(lines), "\nexited 42\n") {
		t.Errorf("report %q, %v, want exited 42", lines, err)
	}
}

// testLogMonitorAlone has it follow what others write, until it is stopped.
func testLogMonitorAlone(t *testing.T, p prefix) {
	t.Helper()
	p.Write(t, "conf.json", strings.ReplaceAll(fmt.Sprintf(logMonitorSources, "custom", true), "%EventID% %EventSource% ", ""))
	if got := p.run(t, "--", "wevtutil", "cl", "Application"); got.code != 0 {
		t.Fatalf("%+v", got)
	}

	event := func(text string) {
		t.Helper()
		if got := p.run(t, "--", "eventcreate", "/t", "error", "/id", "1", "/so", "OfTheLogs", "/d", text); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	event("ready")
	report := filepath.Join(t.TempDir(), "report")
	r := startReady(t, p.command(t, "--report", report, "--", "logmonitor", "/config", `C:\conf.json`))
	defer r.stop()

	event("later")
	if line := r.next(); line != "later" {
		t.Errorf("it printed %q", line)
	}
	if err := os.Rename(p.Path("logs/new.log"), p.Path("logs/old.log")); err != nil {
		t.Fatal(err)
	}

	for i, name := range []string{"logs/old.log", "logs/new.log"} {
		file, err := os.OpenFile(p.Path(name), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(file, i)
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}

		if line, want := r.next(), fmt.Sprintf("%s %d", filepath.Base(name), i); line != want {
			t.Errorf("it printed %q, want %q", line, want)
		}
	}

	if got := p.run(t, "--ctrl", "shutdown"); got.code != 0 {
		t.Fatalf("deliver: %+v", got)
	}
	_ = r.cmd.Wait()
	if lines, err := os.ReadFile(report); err != nil || !strings.HasSuffix(string(lines), "\nexited 0\n") {
		t.Errorf("report %q, %v, want exited 0", lines, err)
	}
}
