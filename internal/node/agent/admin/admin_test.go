package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/hns"
	"mullion.dev/mullion/internal/network/netplan"
	"mullion.dev/mullion/internal/node/agent/admin"
)

type service struct {
	restarts int
	err      error
}

func (s *service) Plan() netplan.Plan { return netplan.Plan{Namespaces: []string{"one"}} }

func (s *service) Differences(context.Context) ([]string, error) {
	return []string{"bridge is missing"}, s.err
}

func (s *service) Own() hns.Own {
	return hns.Own{
		Repairs:  hns.Repairs{Count: 2, Found: []string{"missing: table"}},
		Withheld: []string{"load balancer one"},
	}
}

func (s *service) Restart(context.Context) error {
	s.restarts++
	return s.err
}

func (s *service) Trace(ctx context.Context) <-chan hns.TracedCall {
	calls := make(chan hns.TracedCall, 1)
	calls <- hns.TracedCall{Function: "HcnCreateEndpoint", Text: []string{"{}"}}
	context.AfterFunc(ctx, func() { close(calls) })
	return calls
}

// start serves until the test ends.
func start(t *testing.T, s *service) *admin.Client {
	t.Helper()
	return startAt(t, s, logging.NewDial(logging.Info))
}

// startAt is start with a log's level.
func startAt(t *testing.T, s *service, level *logging.Dial) *admin.Client {
	t.Helper()
	return admin.NewClient(serveAgent(t, admin.Agent{
		HNS:   s,
		Level: level,
		Log:   slog.New(slog.DiscardHandler),
	}))
}

// serveAt serves an agent whose log has a level, and returns its socket.
func serveAt(t *testing.T, level *logging.Dial) string {
	t.Helper()
	return serveAgent(t, admin.Agent{
		HNS:   &service{},
		Level: level,
		Log:   slog.New(slog.DiscardHandler),
	})
}

func serveAgent(t *testing.T, agent admin.Agent) (socket string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	socket = admin.Socket(t.TempDir())
	done := make(chan error, 1)
	go func() { done <- admin.Serve(ctx, socket, agent) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve() = %v, want nil when its context ends", err)
		}
	})

	for deadline := time.Now().Add(10 * time.Second); ; {
		info, err := os.Stat(socket)
		if err == nil && info.Mode().Perm() == 0o600 {
			return socket
		}
		if time.Now().After(deadline) {
			t.Fatalf("the socket is not there for its owner alone: %v, %v", info, err)
		}
		<-time.After(time.Millisecond)
	}
}

func TestDiagnoseAndRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	s := &service{}
	c := start(t, s)
	for range 2 {
		if err := c.RestartHNS(t.Context()); err != nil {
			t.Fatal(err)
		}
	}

	d, err := c.Diagnose(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if d.Repairs.Count != 2 || len(d.Withheld) != 1 {
		t.Errorf("it has done by itself %+v", d.Own)
	}

	if d.Restarts != 2 || s.restarts != 2 || len(d.Differences) != 1 || len(d.Plan.Namespaces) != 1 ||
		d.Started.IsZero() {
		t.Errorf("Diagnose() = %+v after 2 restarts, of which the service saw %d", d, s.restarts)
	}
}

func TestErrorsReachTheCaller(t *testing.T) {
	c := start(t, &service{err: errors.New("the disk is full")})
	if err := c.RestartHNS(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("RestartHNS() = %v, want what the service said", err)
	}
	if _, err := c.Diagnose(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("Diagnose() = %v, want what the service said", err)
	}
	if _, err := admin.NewClient(filepath.Join(t.TempDir(), "none.sock")).Diagnose(t.Context()); err == nil {
		t.Error("Diagnose() of an agent that is not there = nil")
	}
}

// TestTrace: calls are told as they come, and nobody is asked any more once the person has left.
func TestTrace(t *testing.T) {
	c := start(t, &service{})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	var told []hns.TracedCall
	err := c.Trace(ctx, func(call hns.TracedCall) error {
		told = append(told, call)
		cancel()
		return nil
	})
	if err != nil || len(told) != 1 || told[0].Function != "HcnCreateEndpoint" {
		t.Errorf("%+v, %v", told, err)
	}

	enough := errors.New("enough")
	if err := c.Trace(t.Context(), func(hns.TracedCall) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}
