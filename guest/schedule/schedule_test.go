package schedule

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.ParseInLocation("2006-01-02 15:04", text, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestNext(t *testing.T) {
	monday := "2026-11-30 09:00"
	for name, tt := range map[string]struct {
		trigger     Trigger
		after, want string
	}{
		"once":              {Trigger{Kind: Once, Start: at(t, monday)}, "2026-11-29 00:00", monday},
		"once_over":         {Trigger{Kind: Once, Start: at(t, monday)}, monday, ""},
		"once_repeated":     {Trigger{Kind: Once, Start: at(t, monday), Repeat: 5 * time.Minute}, "2026-11-30 09:07", "2026-11-30 09:10"},
		"repeated_for":      {Trigger{Kind: Once, Start: at(t, monday), Repeat: 5 * time.Minute, For: 10 * time.Minute}, "2026-11-30 09:06", ""},
		"repeated_before":   {Trigger{Kind: Once, Start: at(t, monday), Repeat: time.Hour}, "2026-11-30 08:59", monday},
		"daily":             {Trigger{Kind: Daily, Start: at(t, monday), Every: 1}, "2026-12-05 09:00", "2026-12-06 09:00"},
		"daily_of_two":      {Trigger{Kind: Daily, Start: at(t, monday), Every: 2}, "2026-12-01 00:00", "2026-12-02 09:00"},
		"daily_repeated":    {Trigger{Kind: Daily, Start: at(t, monday), Every: 1, Repeat: time.Hour, For: 3 * time.Hour}, "2026-12-05 10:30", "2026-12-05 11:00"},
		"daily_repeated_on": {Trigger{Kind: Daily, Start: at(t, monday), Every: 1, Repeat: time.Hour, For: 3 * time.Hour}, "2026-12-05 11:30", "2026-12-06 09:00"},
		"weekly":            {Trigger{Kind: Weekly, Start: at(t, monday), Every: 1, Days: []time.Weekday{time.Monday, time.Friday}}, monday, "2026-12-04 09:00"},
		"weekly_of_two":     {Trigger{Kind: Weekly, Start: at(t, monday), Every: 2, Days: []time.Weekday{time.Monday}}, monday, "2026-12-14 09:00"},
		"startup":           {Trigger{Kind: Startup}, monday, ""},
		"startup_repeated":  {Trigger{Kind: Startup, Repeat: time.Hour}, monday, "2026-11-30 09:30"},
		"once_long_ago":     {Trigger{Kind: Once, Start: at(t, "0001-01-01 00:30"), Repeat: time.Hour}, monday, "2026-11-30 09:30"},
		"daily_long_ago":    {Trigger{Kind: Daily, Start: at(t, "0001-01-01 09:00"), Every: 1}, monday, "2026-12-01 09:00"},
		"disabled":          {Trigger{Kind: Once, Start: at(t, monday), Disabled: true}, "2026-11-29 00:00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := tt.trigger.Next(at(t, tt.after), at(t, "2026-11-30 08:30"))
			text := ""
			if ok {
				text = got.Format("2006-01-02 15:04")
			}
			if text != tt.want {
				t.Errorf("%q, want %q", text, tt.want)
			}
		})
	}
}

func example(t *testing.T) Task {
	t.Helper()
	task := Task{
		Description: "d", Author: "a", Registered: at(t, "2026-11-30 08:00"), User: "SYSTEM", Highest: true, Limit: time.Hour,
		Instances: "IgnoreNew", Late: true, Restarts: 3, RestartAfter: time.Minute,
		Triggers: []Trigger{{Kind: Daily, Start: at(t, "2026-11-30 09:00"), Every: 3, Repeat: 5 * time.Minute, For: time.Hour}},
		Actions:  []Action{{`C:\x y.exe`, `-a "b & c"`, `C:\w`}},
	}
	task.SetPath(`\Folder\A task`)
	return task
}

func TestXML(t *testing.T) {
	want := example(t)
	text, err := want.XML()
	if err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{[]byte(text), encoded(text)} {
		got, err := Read(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestXMLThatIsNotCarriedOut(t *testing.T) {
	const task = `<Task version="1.2" xmlns="http://schemas.microsoft.com/windows/2004/02/mit/task"><Triggers>%</Triggers>` +
		`<Actions><Exec><Command>a</Command></Exec></Actions></Task>`
	for text, want := range map[string]string{
		`<LogonTrigger/>`: "LogonTrigger", `<EventTrigger/>`: "EventTrigger",
		`<TimeTrigger><StartBoundary>soon</StartBoundary></TimeTrigger>`:                        "soon",
		`<CalendarTrigger><StartBoundary>2026-01-01T00:00:00</StartBoundary></CalendarTrigger>`: "months",
		`<TimeTrigger><Repetition><Interval>5m</Interval></Repetition></TimeTrigger>`:           "5m",
		`<TimeTrigger><RandomDelay>PT1M</RandomDelay></TimeTrigger>`:                            "RandomDelay",
		`<`: "malformed",
	} {
		if _, err := Read([]byte(strings.Replace(task, "%", text, 1))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestStore(t *testing.T) {
	started := 0
	s := &Store{Tasks: filepath.Join(t.TempDir(), "Tasks"), State: t.TempDir(), Ensure: func() error { started++; return nil }}
	if all, err := s.List(); err != nil || len(all) > 0 {
		t.Fatalf("%v, %v", all, err)
	}

	task := example(t)
	if err := s.Put(task, false); err != nil || started != 1 {
		t.Fatalf("%v, started %d times", err, started)
	}
	if err := s.Put(task, false); !errors.Is(err, ErrExists) {
		t.Errorf("a second one: %v", err)
	}
	if got, err := s.Find(`\folder\a TASK`); err != nil || got.Name != task.Name {
		t.Errorf("%+v, %v", got, err)
	}

	for _, name := range []string{`..\x`, `a\..\b`, "", `a|b`, strings.Repeat("x", 300), "a ", "."} {
		wrong := task
		wrong.SetPath(name)
		if err := s.Put(wrong, true); !errors.Is(err, ErrName) {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	wrong := task
	wrong.User = "CONTOSO\\someone"
	if err := s.Put(wrong, true); err == nil || !strings.Contains(err.Error(), "someone") {
		t.Errorf("an account that is not here: %v", err)
	}

	wrong = task
	wrong.Description = strings.Repeat("x", mostText/2)
	if err := s.Put(wrong, true); err == nil {
		t.Error("a task was kept that is too large to be read")
	}

	if err := os.WriteFile(filepath.Join(s.Tasks, "rubbish"), []byte("\xff\xfe<"), 0o644); err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(); err != nil || len(all) != 1 {
		t.Errorf("with a file that is no task: %v, %v", all, err)
	}
	if err := s.Delete(task); err != nil {
		t.Error(err)
	}
	if _, err := s.Find(task.FullPath()); !errors.Is(err, ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
}

// TestTaskThatIsNotWhole: a task whose writing came to no end is no task, under whatever name.
func TestTaskThatIsNotWhole(t *testing.T) {
	s := &Store{Tasks: filepath.Join(t.TempDir(), "Tasks"), State: t.TempDir(), Ensure: func() error { return nil }}
	task := example(t)
	if err := os.MkdirAll(filepath.Join(s.file(task), "in its place"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(task, true); err == nil {
		t.Fatal("it takes the place of a folder")
	}
	if all, err := s.List(); err != nil || len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}

// TestLongName: of a task with as many characters as it may have there is a state, too, and an engine starts with it.
func TestLongName(t *testing.T) {
	s := &Store{Tasks: filepath.Join(t.TempDir(), "Tasks"), State: t.TempDir(), Ensure: func() error { return nil }}
	task := example(t)
	task.SetPath(`\` + strings.Repeat("ж", mostName/2) + `\` + strings.Repeat("ы", mostName/2))
	if err := s.Put(task, false); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(task); err != nil {
		t.Error(err)
	}
	if err := s.setState(task, State{Result: 5}); err != nil || s.StateOf(task).Result != 5 {
		t.Errorf("%v, %+v", err, s.StateOf(task))
	}

	if err := s.Delete(task); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(s.State); err != nil || len(left) > 0 {
		t.Errorf("a task that is deleted leaves %v, %v", left, err)
	}
}

func TestRunProgram(t *testing.T) {
	t.Setenv("SHELL_OF_IT", "/bin/sh")
	var line string
	a := Action{Execute: "%SHELL_OF_IT%", Arguments: "-x %NOSUCH% 100% %SHELL_OF_IT%", Dir: t.TempDir()}
	code, err := RunProgram(t.Context(), a, func(cmd *exec.Cmd, text string) {
		line = text
		cmd.Args = []string{"sh", "-c", "exit 3"}
	})
	if want := `"/bin/sh" -x %NOSUCH% 100% /bin/sh`; code != 3 || err != nil || line != want {
		t.Errorf("%d, %v, %q, want %q", code, err, line, want)
	}
	if _, err := RunProgram(t.Context(), Action{Execute: "/no/such"}, func(*exec.Cmd, string) {}); err == nil {
		t.Error("a program that is not there was run")
	}
}

// until waits for a condition.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come", what)
		}
		select {
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestEngine(t *testing.T) {
	s := &Store{Tasks: filepath.Join(t.TempDir(), "Tasks"), State: t.TempDir(), Ensure: func() error { return nil }}
	put := func(name string, triggers ...Trigger) Task {
		task := Task{Actions: []Action{{Execute: name}}, Triggers: triggers, Registered: time.Now().Add(-time.Hour)}
		task.SetPath(name)
		if err := s.Put(task, true); err != nil {
			t.Fatal(err)
		}
		return task
	}
	atStart := put("start", Trigger{Kind: Startup})
	soon := put("soon", Trigger{Kind: Once, Start: time.Now().Add(2 * time.Second)}) // of whole seconds
	never := put("never", Trigger{Kind: Once, Start: time.Now().Add(-time.Minute)})
	long := put("long")

	var ran [3]atomic.Int32
	serve := func(booted time.Time) (stop func()) {
		e := &Engine{Store: s, Booted: booted, Every: 10 * time.Millisecond}
		e.Run = func(ctx context.Context, a Action) (uint32, error) {
			switch a.Execute {
			case "start":
				ran[0].Add(1)
			case "soon":
				ran[1].Add(1)
				return 7, nil
			case "never":
				ran[2].Add(1)
			case "long":
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 0, nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- e.Serve(ctx) }()
		return func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	}

	booted := time.Now().Add(-time.Minute)
	stop := serve(booted)
	until(t, "the task at the start", func() bool { return ran[0].Load() == 1 })
	until(t, "the task of a time", func() bool { is := s.StateOf(soon); return !is.Running && is.Result == 7 })
	if err := s.Start(long); err != nil {
		t.Fatal(err)
	}
	until(t, "the task that was asked for", func() bool { return s.StateOf(long).Running })
	if err := s.End(long); err != nil {
		t.Fatal(err)
	}
	until(t, "its end", func() bool { is := s.StateOf(long); return !is.Running && is.Result == resultEnded })
	if err := s.Start(long); err != nil {
		t.Fatal(err)
	}
	until(t, "its second run", func() bool { return s.StateOf(long).Running })
	stop()
	if s.StateOf(long).Running {
		t.Error("it runs after the engine has ended")
	}

	stop = serve(booted) // the service alone is started again, not Windows
	until(t, "the engine's note", func() bool { return !s.StateOf(atStart).Booted.IsZero() })
	if err := s.Start(never); err != nil {
		t.Fatal(err)
	}
	until(t, "what is asked for", func() bool { return ran[2].Load() == 1 })
	stop()
	if n := ran[0].Load(); n != 1 {
		t.Errorf("the task at the start has run %d times", n)
	}

	stop = serve(time.Now().Add(-time.Second)) // Windows is started again
	until(t, "the task at the next start", func() bool { return ran[0].Load() == 2 })
	stop()
}
