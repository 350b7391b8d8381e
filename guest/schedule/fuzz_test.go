package schedule

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestDurationBeyondTime: a duration that is longer than Go's has no meaning, not one of another sign.
func TestDurationBeyondTime(t *testing.T) {
	for text, want := range map[string]bool{
		"P99999D": true, "P99999DT999999H": false, "P99999DT160000H99999999M": false, "PT1S": true, "P100000D": false,
	} {
		if d, err := ParseDuration(text); (err == nil) != want || d < 0 {
			t.Errorf("%s: %v, %v", text, d, err)
		}
	}
}

// FuzzRead checks that reading any XML of a task ends, without a panic, that a task which can run is due at a time
// after the one that is asked for, and that what was read is read again from what is written of it.
func FuzzRead(f *testing.F) {
	begin := time.Date(2026, 11, 30, 8, 0, 0, 0, time.Local)
	for _, one := range []Trigger{
		{Kind: Once, Start: begin},
		{Kind: Startup, Repeat: time.Minute, For: time.Hour},
		{Kind: Daily, Start: begin, Every: 3},
		{Kind: Weekly, Start: begin, Every: 2, Days: []time.Weekday{time.Monday, time.Friday}, Repeat: 5 * time.Minute},
	} {
		task := Task{
			Path: `\a\`, Name: "b", User: "SYSTEM", Actions: []Action{{`C:\x.exe`, "a & b", `C:\`}}, Triggers: []Trigger{one}, Limit: time.Hour,
		}
		text, err := task.XML()
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(text))
		f.Add(encoded(text))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		task, err := Read(data)
		if err != nil || task.Check() != nil {
			return
		}

		now := begin.AddDate(1, 0, 0)
		if at, due := task.Next(now, begin); due && !at.After(now) {
			t.Errorf("it is due at %v, after %v", at, now)
		}

		// what is written once is whole: texts have lost what XML does not keep
		once := again(t, task)
		if twice := again(t, once); !cmp.Equal(once, twice) {
			t.Errorf("it is read otherwise when it is written:\n%s", cmp.Diff(once, twice))
		}
	})
}

// again returns a task as it is read from what is written of it.
func again(t *testing.T, task Task) Task {
	t.Helper()
	text, err := task.XML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Read(encoded(text))
	if err != nil {
		t.Fatalf("%+v is written as %q, which is not read: %v", task, text, err)
	}
	return got
}
