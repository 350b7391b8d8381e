package schtasks

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/guest/schedule"
	"mullion.dev/mullion/guest/tools/program"
)

// TestSchtasks runs one call after the other on a Windows that has no tasks.
func TestSchtasks(t *testing.T) {
	dir := t.TempDir()
	s := &schedule.Store{
		Tasks:  filepath.Join(dir, "Tasks"),
		State:  filepath.Join(dir, "State"),
		Ensure: func() error { return nil },
	}
	now := time.Date(2026, 11, 30, 9, 7, 30, 0, time.Local)
	xml := filepath.Join(dir, "task.xml")
	const text = `<?xml version="1.0" encoding="UTF-16"?><Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task">` +
		`<Triggers><BootTrigger/></Triggers><Actions><Exec><Command>a.exe</Command></Exec></Actions></Task>`
	if err := os.WriteFile(xml, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		line, input, want string
		code              int
	}{
		{"/query", "", noTasks, 0},
		{`/create|/tn|\k\rotate|/tr|"C:\a b\x.exe" -v "c d"|/sc|minute|/mo|5|/ru|SYSTEM|/rl|highest`, "", `SUCCESS: The scheduled task "\k\rotate" has successfully been created.`, 0},
		{`/create|/tn|\k\rotate|/tr|y|/sc|daily`, "n\n", "already exists. Do you want to replace it (Y/N)?", 0},
		{`/query|/tn|\k\rotate|/fo|list|/v`, "", `Task To Run:                          C:\a b\x.exe -v "c d"`, 0},
		{`/query|/tn|\k\rotate|/fo|csv`, "", `"\k\rotate","11/30/2026 9:12:00 AM","Ready"`, 0},
		{`/query`, "", "Folder: \\k\r\nTaskName", 0},
		{`/query|/tn|\k\rotate|/xml`, "", "<Interval>PT5M</Interval>", 0},
		{`/create|/f|/tn|week|/tr|y.exe|/sc|weekly|/d|MON,FRI|/st|08:30`, "", "SUCCESS", 0},
		{`/query|/tn|week`, "", "12/4/2026 8:30:00 AM", 0},
		{`/create|/tn|boot|/xml|` + xml, "", "SUCCESS", 0},
		{`/change|/tn|boot|/disable`, "", "have been changed", 0},
		{`/query|/tn|boot`, "", "Disabled", 0},
		{`/create|/tn|once|/tr|y|/sc|once|/st|10:00|/sd|12/24/2026|/ri|10|/du|02:00`, "", "SUCCESS", 0},
		{`/query|/tn|once|/fo|csv|/nh`, "", "12/24/2026 10:00:00 AM", 0},
		{`/run|/tn|boot`, "", `SUCCESS: Attempted to run the scheduled task "boot".`, 0},
		{`/end|/tn|boot`, "", "has been terminated successfully", 0},
		{`/delete|/tn|boot`, "n\n", "Are you sure", 0},
		{`/delete|/tn|boot|/f`, "", "was successfully deleted", 0},
		{`/delete|/tn|boot|/f`, "", `ERROR: The specified task name "boot" does not exist in the system.`, 1},
		{`/query|/tn|boot`, "", "ERROR: The system cannot find the file specified.", 1},
		{`/create|/tn|x|/tr|y|/sc|onlogon`, "", "/sc onlogon is not carried out in Mullion", 1},
		{`/create|/tn|x|/tr|y|/sc|often`, "", `Value expected for '/sc', got "often"`, 1},
		{`/create|/tn|x|/tr|y|/sc|daily|/mo|many`, "", "'/mo'", 1},
		{`/create|/tn|x|/tr|y|/sc|daily|/mo|999`, "", "out of range", 1},
		{`/create|/tn|x|/tr|y|/sc|daily|/st|25:00`, "", "'/st'", 1},
		{`/create|/tn|x|/tr|y|/sc|daily|/ru|CONTOSO\me`, "", "tasks run as SYSTEM", 1},
		{`/create|/tn|a:b|/tr|y|/sc|daily`, "", "syntax is incorrect", 1},
		{`/create|/tn|x|/sc|daily`, "", "Mandatory option", 1},
		{`/create|/tr|x|/sc|daily`, "", "'/tn' is missing", 1},
		{`/what`, "", "Invalid argument/option", 1},
		{`/delete|/tn|*|/f`, "", `"\k\rotate" was successfully deleted`, 0},
		{`/delete|/tn|*|/f`, "", noTasks, 0},
		{`/?`, "", "SCHTASKS", 0},
	} {
		var out bytes.Buffer
		e := program.Env{
			Getenv: func(string) string { return "HOST-1" }, Stdin: strings.NewReader(tt.input), Stdout: &out, Stderr: &out,
		}
		code := Run(e, s, now, strings.Split(tt.line, "|"))
		if code != tt.code || !strings.Contains(out.String(), tt.want) {
			t.Errorf("schtasks %s: %d, %q, want %d, %q", tt.line, code, out.String(), tt.code, tt.want)
		}
	}
}
