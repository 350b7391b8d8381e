package service_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/hostservices/service"
	"mullion.dev/mullion/internal/hostservices/service/servicetest"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
)

type request struct {
	Do     string `json:"do"`
	Secret string `json:"secret,omitempty"`
}

type answer struct {
	Done string `json:"done"`
}

// echo returns a service that answers with what it is asked for. Only the operator may ask it to "give"; it cannot
// "break".
func echo(log *slog.Logger) service.Of[request, answer] {
	return service.Of[request, answer]{
		Call: hostcall.Call[request, answer]{
			Name: "echo",
			Check: func(r *request) error {
				if r.Do == "" {
					return errors.New("nothing is asked for")
				}
				return nil
			},
			Operator: func(r request) bool { return r.Do == "give" },
			Invalid:  hostcall.Refusal{Words: "Invalid: ", Code: 5},
			Failed:   hostcall.Refusal{Words: "Failed: ", Code: 4},
		},
		Within: time.Minute,
		Answer: func(_ context.Context, r request) (answer, error) {
			switch r.Do {
			case "break":
				return answer{}, errors.New("it is broken")
			case "refuse":
				return answer{}, hostcall.Refusef(112, "no room")
			}
			return answer{Done: r.Do}, nil
		},
		Shown: func(r request) []any { return []any{"do", r.Do} },
		Log:   log,
	}
}

func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	s := echo(slog.New(slog.NewTextHandler(&log, nil)))
	end := servicetest.Start(t, dir, s)
	at := servicetest.Sockets(dir, s.Name())
	for _, tt := range []struct {
		socket, do, done string
		refusal          hostcall.Refusal
	}{
		{at.Host, "look", "look", hostcall.Refusal{}},
		{at.Host, "give", "", hostcall.Refusal{Words: "Invalid: only the machine's operator may do that", Code: 5}},
		{at.Operator, "give", "give", hostcall.Refusal{}},
		{at.Host, "", "", hostcall.Refusal{Words: "Invalid: nothing is asked for", Code: 5}},
		{at.Host, "break", "", hostcall.Refusal{Words: "Failed: it is broken", Code: 4}},
		{at.Host, "refuse", "", hostcall.Refusal{Words: "no room", Code: 112}},
	} {
		a, refusal := servicetest.Ask(t, tt.socket, s.Call, request{Do: tt.do, Secret: "hush"})
		if a.Done != tt.done || refusal != tt.refusal {
			t.Errorf("%s at %s: %+v, %+v", tt.do, filepath.Base(tt.socket), a, refusal)
		}
	}

	end()
	if said := log.String(); !strings.Contains(said, `do=break error="it is broken"`) || strings.Contains(said, "hush") {
		t.Errorf("the log says %s", said)
	}
	if _, err := net.Dial("unix", at.Host); err == nil {
		t.Error("it answers after its end")
	}
}

// TestHostile asks with what is no request, and goes away: who asks after that is answered.
func TestHostile(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	dir := t.TempDir()
	s := echo(slog.New(slog.DiscardHandler))
	defer servicetest.Start(t, dir, s)()

	at := servicetest.Sockets(dir, s.Name())
	for _, text := range []string{"", "{", "[]", `{"do":1}`, strings.Repeat("[", 1<<17), "\x00\xff\r\n"} {
		conn, err := unixsocket.Dialer(at.Host)(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = conn.Write([]byte(text)) // it may be answered before all of it is read
		_ = conn.Close()
	}

	if a, refusal := servicetest.Ask(t, at.Host, s.Call, request{Do: "look"}); a.Done != "look" {
		t.Errorf("%+v, %+v", a, refusal)
	}
}

// TestStart holds that nobody is answered before the service is open, that a socket which a killed agent has left is no
// hindrance, and that what watches ends with the service.
func TestStart(t *testing.T) {
	dir := t.TempDir()
	s := echo(slog.New(slog.DiscardHandler))
	at := servicetest.Sockets(dir, s.Name())
	s.Open = func(context.Context) error { return os.ErrPermission }
	if _, err := s.Start(t.Context(), at); !errors.Is(err, os.ErrPermission) {
		t.Errorf("start: %v", err)
	}

	if _, err := os.Stat(at.Host); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a service that is not open listens: %v", err)
	}

	for _, socket := range []string{at.Host, at.Operator} {
		if err := os.WriteFile(socket, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var opened, watching atomic.Bool
	s.Open = func(context.Context) error {
		opened.Store(true)
		return nil
	}

	s.Watch = func(ctx context.Context) {
		watching.Store(opened.Load())
		<-ctx.Done()
		watching.Store(false)
	}

	end := servicetest.Start(t, dir, s)
	for deadline := time.Now().Add(10 * time.Second); !watching.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing watches")
		}
	}

	end()
	if watching.Load() {
		t.Error("it watches after its end")
	}

	at.Operator = filepath.Join(dir, "none", "o.sock")
	if _, err := s.Start(t.Context(), at); err == nil {
		t.Error("it starts without the operator's socket")
	}
	if _, err := net.Dial("unix", at.Host); err == nil {
		t.Error("what has not started listens")
	}
}
