package single

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/runtime/engine"
)

// served returns a service without an engine, whose containers a test makes.
func served(t *testing.T) *service {
	t.Helper()
	s := &service{
		options: Options{Paths: At(t.TempDir(), "/nowhere"), Log: logging.New(io.Discard, logging.Info)},
		life:    t.Context(),
		end:     func() {},
	}
	s.register = opened(t, s.options.Paths)
	return s
}

// asked sends a line to the service and returns what it says, until it hangs up.
func asked(t *testing.T, s *service, line string) (events []Event) {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	go func() {
		defer theirs.Close()
		s.serve(s.life, theirs)
	}()

	_ = ours.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(ours, line) // the service may hang up at half of it
	for d := json.NewDecoder(ours); ; {
		var e Event
		if err := d.Decode(&e); err != nil {
			return events
		}
		events = append(events, e)
	}
}

// refused returns what the service says that it does not do.
func refused(t *testing.T, s *service, line string) Refusal {
	t.Helper()
	events := asked(t, s, line)
	if len(events) != 1 || events[0].Refused == nil {
		t.Errorf("%s: %+v", line, events)
		return Refusal{}
	}
	return *events[0].Refused
}

// TestManageRefuses holds what is said to requests about containers that are not there, or in another state.
func TestManageRefuses(t *testing.T) {
	s := served(t)
	begun(t, s.register, "aa11", Run{Keep: true, Name: "runs"})
	ended := begun(t, s.register, "aa22", Run{Keep: true, Name: "ended"})
	if err := s.register.over(ended, End{Code: 3}, ""); err != nil {
		t.Fatal(err)
	}

	for line, want := range map[string]Refusal{
		`{"Stop":{"Container":"none"}}`:   {Code: 1, Message: "No such container: none"},
		`{"Tell":{"Container":"none"}}`:   {Code: 1, Message: "No such container: none"},
		`{"Remove":{"Container":"none"}}`: {Code: 1, Message: "No such container: none"},
		`{"Wait":"none"}`:                 {Code: 1, Message: "No such container: none"},
		`{"Wait":"aa"}`:                   {Code: 1, Message: "multiple IDs found with provided prefix: aa"},
		`{"Exec":{"Container":"ended","Streams":"s1","Args":["x"]}}`: {
			Code: 1, Message: "container aa22 is not running",
		},
		`{"Exec":{"Container":"runs","Streams":"../x"}}`: {
			Code: 125, Message: `connect streams: "../x" is no folder of streams`,
		},
		`{"Run":{"Streams":"/etc"}}`: {Code: 125, Message: `connect streams: "/etc" is no folder of streams`},
		`{"Run":{"Detach":true,"Name":"a b"}}`: {
			Code: 125, Message: "Invalid container name (a b), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed",
		},
		`{"Tell":{"Container":"ended","Signal":"kill"}}`: {
			Code: 1, Message: "cannot kill container: ended: container aa22 is not running",
		},
		`{"Remove":{"Container":"runs"}}`: {
			Code: 1,
			Message: `cannot remove container "/runs": container is running: stop the container before removing or force ` +
				`remove`,
		},
		`{"Start":"none"}`: {Code: 1, Message: "No such container: none"},
		`{"Rename":{"Container":"none","Name":"x1"}}`: {Code: 1, Message: "No such container: none"},
		`{"Rename":{"Container":"runs"}}`:             {Code: 1, Message: "Neither old nor new names may be empty"},
		`{"Rename":{"Container":"runs","Name":"a b"}}`: {
			Code: 125, Message: "Invalid container name (a b), only [a-zA-Z0-9][a-zA-Z0-9_.-] are allowed",
		},
		`{"Rename":{"Container":"runs","Name":"/runs"}}`: {
			Code: 1, Message: "Renaming a container with the same name as its current name",
		},
		`{"Rename":{"Container":"runs","Name":"ended"}}`: {
			Code: 1,
			Message: `Conflict. The container name "/ended" is already in use by container "aa22". You have to remove that ` +
				`container to be able to reuse that name.`,
			Remedy: "`mullion container rm ended` removes it",
		},
		`{"Sample":{"Containers":["none"]}}`: {Code: 1, Message: "No such container: none"},
		`{}`:                                 {Code: 125, Message: "the request asks for nothing that this engine knows"},
		`{"Restart":"runs"}`:                 {Code: 125, Message: "the request asks for nothing that this engine knows"},
	} {
		if got := refused(t, s, line); got != want {
			t.Errorf("%s: %+v; want %+v", line, got, want)
		}
	}

	for _, line := range []string{"[]", `{"Wait":3}`, `{"Stop":"x"}`, "\x00\xff", strings.Repeat("[", 20000)} {
		if events := asked(t, s, line+"\n"); len(events) > 0 {
			t.Errorf("%.20q is answered: %+v", line, events)
		}
	}
}

// TestManage asks for containers that have ended, and for one that ends meanwhile.
func TestManage(t *testing.T) {
	s := served(t)
	ended := begun(t, s.register, "aa22", Run{Keep: true, Name: "ended"})
	if err := s.register.over(ended, End{Code: 3}, ""); err != nil {
		t.Fatal(err)
	}
	runs := begun(t, s.register, "bb33", Run{Name: "runs"})

	if e := asked(t, s, `{"List":true}`); len(e) != 1 || len(e[0].Containers) != 2 || e[0].Containers[0].Name != "runs" {
		t.Errorf("list: %+v", e)
	}
	if e := asked(t, s, `{"Stop":{"Container":"ended"}}`); len(e) != 1 || !e[0].Done {
		t.Errorf("stop one that has ended: %+v", e)
	}
	if e := asked(t, s, `{"Wait":"ended"}`); len(e) != 1 || e[0].Ended == nil || e[0].Ended.Code != 3 {
		t.Errorf("wait for one that has ended: %+v", e)
	}

	time.AfterFunc(50*time.Millisecond, func() {
		runs.end, runs.service = End{Code: 300}, s
		if err := runs.finish(); err != nil {
			t.Error(err)
		}
		close(runs.over)
	})

	if e := asked(t, s, `{"Wait":"runs"}`); len(e) != 1 || e[0].Ended == nil || e[0].Ended.Code != 300 {
		t.Errorf("wait for one that runs, and is removed at its end: %+v", e)
	}
	if e := asked(t, s, `{"Prune":true}`); len(e) != 1 || len(e[0].Containers) != 1 || e[0].Freed != 5 {
		t.Errorf("prune: %+v", e)
	}
	if e := asked(t, s, `{"List":true}`); len(e) != 1 || len(e[0].Containers) != 0 {
		t.Errorf("list of none: %+v", e)
	}
}

// TestStartWaits: a start waits for another one, and for the end of what is ending.
func TestStartWaits(t *testing.T) {
	s := served(t)
	const line = `{"Start":"web"}`
	ends := func(k *container) {
		k.service = s
		if err := k.finish(); err != nil {
			t.Error(err)
		}
		close(k.over)
	}

	k := begun(t, s.register, "aa11", Run{
		Keep: true,
		Name: "web",
		Once: true,
	})
	k.program = newProgram("")
	if e := asked(t, s, line); len(e) != 1 || !e[0].Done {
		t.Errorf("start of one that runs: %+v", e)
	}

	k.hasEnded(engine.Exit{}, nil)
	time.AfterFunc(50*time.Millisecond, func() { ends(k) })
	const anew = "cannot start container: web: its image was made for its first run alone"
	if got := refused(t, s, line); got.Message != anew {
		t.Errorf("start of one that is ending: %+v", got)
	}
	if err := s.register.forget(k.id); err != nil {
		t.Fatal(err)
	}

	added := func() *container {
		k := &container{
			id:    "bb22",
			ask:   Run{Name: "web"},
			begun: make(chan struct{}),
			over:  make(chan struct{}),
		}
		if err := s.register.add(k); err != nil {
			t.Fatal(err)
		}

		return k
	}

	k = added()
	time.AfterFunc(50*time.Millisecond, func() { ends(k) })
	if got := refused(t, s, line); got.Message != "No such container: bb22" {
		t.Errorf("start of one that does not come up: %+v", got)
	}

	k = added()
	time.AfterFunc(50*time.Millisecond, func() { close(k.begun) })
	if e := asked(t, s, line); len(e) != 1 || !e[0].Done {
		t.Errorf("start of one that is being started: %+v", e)
	}
}

// TestWaiterLeaves: who does not wait any more holds nothing up.
func TestWaiterLeaves(t *testing.T) {
	s := served(t)
	begun(t, s.register, "bb33", Run{Name: "runs"})
	ours, theirs := net.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer theirs.Close()
		s.serve(s.life, theirs)
	}()

	if _, err := io.WriteString(ours, `{"Wait":"runs"}`); err != nil {
		t.Fatal(err)
	}
	_ = ours.Close()
	select {
	case <-over:
	case <-time.After(20 * time.Second):
		t.Error("the service still waits")
	}
}

// TestIdle: the engine does not end while a container runs, and does when none has for a while.
func TestIdle(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	i := newIdle(30*time.Millisecond, cancel)
	request, container := i.enter(), i.enter()
	request()
	select {
	case <-ended.Done():
		t.Fatal("it has ended while a container ran")
	case <-time.After(200 * time.Millisecond):
	}

	container()
	select {
	case <-ended.Done():
	case <-time.After(20 * time.Second):
		t.Error("it does not end")
	}
}

// crowded is a listener of a process that has no file left for a while.
type crowded struct {
	net.Listener
	fails int
	last  error
	conns chan net.Conn
}

func (f *crowded) Accept() (net.Conn, error) {
	if f.fails--; f.fails >= 0 {
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", unix.EMFILE)}
	}
	if c, ok := <-f.conns; ok {
		return c, nil
	}
	return nil, f.last
}

func (f *crowded) Close() error { return nil }

// TestAccept: that no client can be let in for a while does not end the engine, with all containers.
func TestAccept(t *testing.T) {
	s := served(t)
	s.idle = newIdle(time.Hour, func() {})
	ours, theirs := net.Pipe()
	defer ours.Close()
	l := &crowded{
		fails: 2,
		last:  net.ErrClosed,
		conns: make(chan net.Conn, 1),
	}

	l.conns <- theirs
	ended := make(chan error, 1)
	go func() { ended <- s.accept(t.Context(), l) }()

	_ = ours.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(ours, `{"List":true}`); err != nil {
		t.Fatal(err)
	}
	var e Event
	if err := json.NewDecoder(ours).Decode(&e); err != nil || !e.Done {
		t.Errorf("%+v, %v", e, err)
	}

	close(l.conns)
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Errorf("of a listener that is closed: %v", err)
	}
}
