package prog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows/registry"
	"golang.org/x/sys/windows/svc/eventlog"

	"mullion.dev/mullion/internal/base/testrun"
)

const writerVariable = "WINAPI_EVENT_WRITER"

// TestEventLogWriter is what other tests run in processes of their own.
func TestEventLogWriter(t *testing.T) {
	log := os.Getenv(writerVariable)
	if log == "" {
		t.Skip("not a process of TestEventLogProcesses")
	}
	l, err := eventlog.Open(log + "Src")
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		if err := l.Info(1, fmt.Sprintf("%d of %d", i, os.Getpid())); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEventLogProcesses has three processes, and four threads of this one, write at once: nothing is lost, nothing
// there twice, and each writer's events are in order.
func TestEventLogProcesses(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run", "^TestEventLogWriter$")
			cmd.Env = append(os.Environ(), writerVariable+"="+log)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("a writer: %v\n%s", err, out)
			}
		})
	}

	for n := range 4 {
		all.Go(func() {
			for i := range 50 {
				if err := l.Info(2, fmt.Sprintf("%d of thread %d", i, n)); err != nil {
					t.Error(err)
				}
			}
		})
	}

	all.Wait()
	last := map[string]int{}
	got := events(t, log, "*", 0)
	for i, event := range got {
		var at int
		var writer string
		text := piece(event, "<Data>", "</Data>")
		if _, err := fmt.Sscanf(text, "%d", &at); err != nil {
			t.Fatalf("text %q", text)
		}

		_, writer, _ = strings.Cut(text, " of ")
		if at != last[writer] {
			t.Errorf("%q after %d events of it", text, last[writer])
		}
		last[writer]++
		if id := piece(event, "<EventRecordID>", "<"); id != fmt.Sprint(i+1) {
			t.Errorf("event %d has number %s", i+1, id)
		}
	}

	if len(got) != 350 || len(last) != 7 {
		t.Errorf("%d events of %d writers", len(got), len(last))
	}
}

// TestEventLogKilled kills writers wherever they are: what is there afterwards is whole and in order, and there is
// room for more.
func TestEventLogKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	log := newLog(t, nil)
	l := source(t, log)
	for i := range 6 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestEventLogWriter$")
		cmd.Env = append(os.Environ(), writerVariable+"="+log)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		its := func() int {
			return strings.Count(strings.Join(events(t, log, "*", 0), ""), fmt.Sprintf(" of %d<", cmd.Process.Pid))
		}

		for deadline := time.Now().Add(20 * time.Second); its() < 3+7*i; { // it writes 50
			if time.Now().After(deadline) {
				t.Fatal("the writer does not write")
			}
		}

		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if err := l.Info(2, "0 between"); err != nil { // the lock of one that was killed is free
			t.Fatal(err)
		}
	}

	if err := l.Info(3, "0 at the end"); err != nil {
		t.Fatal(err)
	}
	got := events(t, log, "*", 0)
	for i, event := range got {
		if id := piece(event, "<EventRecordID>", "<"); id != fmt.Sprint(i+1) {
			t.Fatalf("event %d has number %s", i+1, id)
		}
	}

	if last := got[len(got)-1]; !strings.Contains(last, "<Data>0 at the end</Data>") {
		t.Errorf("the last event: %s", last)
	}
}

func logFiles(t *testing.T, log string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("SystemRoot"), `System32\winevt\Logs`, log+".*.mlog"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files of %s: %q, %v", log, files, err)
	}
	slices.Sort(files)
	return files
}

// TestEventLogTorn holds that half a record, and rubbish, at a log's end or in it harm no other.
func TestEventLogTorn(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := errors.Join(l.Info(1, "one"), l.Info(2, "two")); err != nil {
		t.Fatal(err)
	}

	file := logFiles(t, log)[0]
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	ids := func() string { return values(events(t, log, "*", 0), "<Data>", "</Data>") }
	for cut := len(whole) - 1; cut > len(whole)-90; cut -= 11 {
		if err := os.WriteFile(file, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ids(); got != "one" {
			t.Errorf("cut at %d: %q", cut, got)
		}
	}

	if err := l.Info(3, "three"); err != nil {
		t.Fatal(err)
	}
	if got := ids(); got != "one three" {
		t.Errorf("after a torn record: %q", got)
	}

	for _, size := range []uint32{0, 8, 63, 0x7fffffff, 0xffffffff} { // lengths that lie
		wrong := slices.Clone(whole)
		binary.LittleEndian.PutUint32(wrong[16+4:], size)
		if err := os.WriteFile(file, wrong, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ids(); got != "two" {
			t.Errorf("with a first record of length %#x: %q", size, got)
		}
	}

	if err := os.WriteFile(file, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := ids(); got != "" {
		t.Errorf("rubbish: %q", got)
	}
	if err := l.Info(4, "four"); err != nil {
		t.Fatal(err)
	}

	if got := ids(); got != "four" {
		t.Errorf("after rubbish: %q", got)
	}
}

// TestEventLogLinks holds that a link in the place of a log's file is not followed: users who may write little put it
// there, and those who may write more write events.
func TestEventLogLinks(t *testing.T) {
	log := newLog(t, nil)
	l := source(t, log)
	if err := l.Info(1, "one"); err != nil {
		t.Fatal(err)
	}

	file, victim := logFiles(t, log)[0], filepath.Join(t.TempDir(), "victim")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Rename(file, victim), os.Symlink(victim, file)); err != nil {
		t.Fatal(err)
	}

	if err := l.Info(2, "two"); err != nil {
		t.Error(err)
	}
	if got := values(events(t, log, "*", 0), "<Data>", "</Data>"); got != "two" {
		t.Errorf("events: %q", got)
	}
	if after, err := os.ReadFile(victim); err != nil || string(after) != string(before) {
		t.Errorf("the link's target has %d bytes, had %d: %v", len(after), len(before), err)
	}
}

// TestEventLogSize holds that a log keeps within its size, and loses its oldest events.
func TestEventLogSize(t *testing.T) {
	log := newLog(t, nil)
	key, err := registry.OpenKey(registry.LOCAL_MACHINE, `SYSTEM\CurrentControlSet\Services\EventLog\`+log, registry.SET_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	const most = 1088 << 10 // the least that there is
	if err := key.SetDWordValue("MaxSize", most); err != nil {
		t.Fatal(err)
	}

	l := source(t, log)
	text := strings.Repeat("x", 30000)
	for range 60 {
		if err := l.Info(1, text); err != nil {
			t.Fatal(err)
		}
	}

	var size int64
	for _, file := range logFiles(t, log) {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}

	if size > most || size < most/2 {
		t.Errorf("%d bytes, at most %d", size, most)
	}
	all := events(t, log, "*", 0)
	first, last := piece(all[0], "<EventRecordID>", "<"), piece(all[len(all)-1], "<EventRecordID>", "<")
	if last != "60" || first == "1" || first != fmt.Sprint(61-len(all)) {
		t.Errorf("events %s to %s, %d of them", first, last, len(all))
	}
}
