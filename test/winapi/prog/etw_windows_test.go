package prog

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	winio "github.com/Microsoft/go-winio/pkg/etw"
	"golang.org/x/sys/windows"

	"mullion.dev/mullion/guest/etw"
)

// etwChild has the test program write events in a process of its own.
const etwChild = "WINAPI_ETW_PROVIDER"

// newProvider registers a provider of TraceLogging, with a name that there was not before.
func newProvider(t *testing.T) *winio.Provider {
	t.Helper()
	p, err := winio.NewProvider(fmt.Sprintf("%s-%x", t.Name(), time.Now().UnixNano()), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A callback that comes while go-winio closes a provider finds none, and panics.
		for end := time.Now().Add(10 * time.Second); p.IsEnabled() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		_ = p.Close()
	})
	return p
}

// newSession starts a session that asks for providers.
func newSession(t *testing.T, providers ...etw.Provider) *etw.Session {
	t.Helper()
	s, err := etw.Start(fmt.Sprintf("%s-%x", t.Name(), time.Now().UnixNano()), providers)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = s.Close() })
	return s
}

// nextRecord returns the next event of a session.
func nextRecord(t *testing.T, s *etw.Session) etw.Record {
	t.Helper()
	select {
	case r, ok := <-s.Records():
		if !ok {
			t.Fatal("the session has ended")
		}
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("no event came")
	}
	return etw.Record{}
}

func TestEtwTraceLogging(t *testing.T) {
	p := newProvider(t)
	if p.IsEnabled() {
		t.Error("the provider is enabled, and nobody listens")
	}
	s := newSession(t, etw.Provider{
		ID:    p.ID,
		Level: byte(winio.LevelInfo),
		Any:   0x6,
	})

	if !p.IsEnabledForLevelAndKeywords(winio.LevelInfo, 2) || p.IsEnabledForLevel(winio.LevelVerbose) ||
		p.IsEnabledForLevelAndKeywords(winio.LevelInfo, 8) {
		t.Error("the provider does not know what the session asks for")
	}

	write := func(name string, level winio.Level, keyword uint64) {
		t.Helper()
		err := p.WriteEvent(name, winio.WithEventOpts(winio.WithLevel(level), winio.WithKeyword(keyword)),
			winio.WithFields(winio.StringField("text", "grüße"), winio.Int32Field("number", -5)))
		if err != nil {
			t.Error(err)
		}
	}

	before := time.Now()
	write("verbose", winio.LevelVerbose, 2)
	write("other", winio.LevelError, 8)
	write("first", winio.LevelError, 4)
	write("second", winio.LevelInfo, 0)
	first, second := nextRecord(t, s), nextRecord(t, s)
	if string(first.Schema[3:9]) != "first\x00" || string(second.Schema[3:10]) != "second\x00" {
		t.Errorf("schemas %q, %q", first.Schema, second.Schema)
	}

	if want := "grüße\x00\xfb\xff\xff\xff"; string(first.Data) != want {
		t.Errorf("data %q, want %q", first.Data, want)
	}
	if first.Provider != p.ID || first.Level != 2 || first.Keyword != 4 || first.Channel != 11 ||
		first.Process != windows.GetCurrentProcessId() || first.Thread == 0 {
		t.Errorf("%+v", first)
	}

	if off := first.Time.Sub(before); off < -time.Second || off > 10*time.Second {
		t.Errorf("its time is %v, written at %v", first.Time, before)
	}
	if _, err := s.Close(); err != nil {
		t.Error(err)
	}
	if r, ok := <-s.Records(); ok {
		t.Errorf("another event: %+v", r)
	}

	for end := time.Now().Add(10 * time.Second); p.IsEnabled(); {
		if time.Now().After(end) {
			t.Fatal("the provider is enabled after the session has stopped")
		}
		time.Sleep(time.Millisecond)
	}
}

// TestEtwOtherProcess has a process write that knows nothing of the session.
func TestEtwOtherProcess(t *testing.T) {
	name := os.Getenv(etwChild)
	if name != "" {
		p, err := winio.NewProvider(name, nil)
		if err != nil || !p.IsEnabled() {
			t.Fatalf("enabled %v, %v", err == nil && p.IsEnabled(), err)
		}
		for i := range 100 {
			if err := p.WriteEvent("of the child", nil, winio.WithFields(winio.Uint16Field("i", uint16(i)))); err != nil {
				t.Error(err)
			}
		}

		return
	}

	name = fmt.Sprintf("child-%x", time.Now().UnixNano())
	known, err := winio.NewProvider(name, nil) // only for its identifier
	if err != nil {
		t.Fatal(err)
	}

	s := newSession(t, etw.Provider{ID: known.ID})
	child := exec.Command(os.Args[0], "-test.run=^TestEtwOtherProcess$", "-test.count=1")
	child.Env = append(os.Environ(), etwChild+"="+name)
	if out, err := child.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for i := range 100 {
		r := nextRecord(t, s)
		if string(r.Data) != string([]byte{byte(i), 0}) || r.Process != uint32(child.Process.Pid) {
			t.Fatalf("event %d: %+v", i, r)
		}
	}
}

// TestEtwNoReader writes more than a session has room for, of which nobody reads anything.
func TestEtwNoReader(t *testing.T) {
	p := newProvider(t)
	s := newSession(t, etw.Provider{ID: p.ID})
	const events, size = 1000, 32 << 10
	text := winio.WithFields(winio.StringField("text", string(make([]byte, size))))
	begin := time.Now()
	for range events {
		_ = p.WriteEvent("long", nil, text)
	}

	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("writing took %v", took)
	}

	lost := make(chan uint32)
	go func() {
		n, err := s.Close()
		if err != nil {
			t.Error(err)
		}
		lost <- n
	}()

	n := <-lost
	var got uint32
	for range s.Records() {
		got++
	}

	if n == 0 || got == 0 || got+n != events {
		t.Errorf("%d events came, %d were lost, %d were written", got, n, events)
	}
}

func TestEtwRefused(t *testing.T) {
	if err := etw.Stop("no such session"); err != etw.NoSuchSession {
		t.Errorf("stop: %v", err)
	}
	if _, err := etw.Start("NT Kernel Logger", nil); err == nil {
		t.Error("the kernel's logger was started")
	}
}
