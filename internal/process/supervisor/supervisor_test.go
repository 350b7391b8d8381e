package supervisor_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// part is a component that records its Stop.
type part struct {
	name    string
	err     error
	stopped chan struct{}
}

func (p *part) ID() component.ID            { return component.Sole(p.name) }
func (p *part) Start(context.Context) error { return p.err }
func (p *part) Stop(context.Context) error  { close(p.stopped); return nil }

func run(t *testing.T, parts ...*part) (*supervisor.Client, <-chan error) {
	t.Helper()
	var units []component.Unit
	for _, p := range parts {
		units = append(units, component.Unit{Component: p})
	}
	return runUnits(t, units)
}

func runUnits(t *testing.T, units []component.Unit) (*supervisor.Client, <-chan error) {
	t.Helper()
	return runAt(t, filepath.Join(t.TempDir(), "s.sock"), units)
}

func runAt(t *testing.T, socket string, units []component.Unit) (*supervisor.Client, <-chan error) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket:       socket,
			Units:        units,
			Log:          slog.New(slog.DiscardHandler),
			ProbeTimeout: 200 * time.Millisecond,
		})
	}()
	return supervisor.NewClient(socket), ended
}

// await asks until the supervisor is in the phase.
func await(t *testing.T, c *supervisor.Client, phase string) supervisor.Status {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		s, err := c.Status(t.Context())
		if err == nil && s.Phase == phase {
			return s
		}
		select {
		case <-deadline:
			t.Fatalf("not %s in time: %+v, %v", phase, s, err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func TestReadyThenStopped(t *testing.T) {
	p := &part{name: "one", stopped: make(chan struct{})}
	client, ended := run(t, p)
	s := await(t, client, supervisor.PhaseReady)
	if len(s.Units) != 1 || s.Units[0].ID != component.Sole("one") || s.Units[0].State != component.Ready {
		t.Errorf("units = %+v", s.Units)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
	<-p.stopped
	if _, err := client.Status(t.Context()); err == nil {
		t.Error("it still answers")
	}
}

// endless is a part whose start ends only with its context.
type endless struct{ part }

func (p *endless) Start(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func TestAStartHasALimit(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s.sock")
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket:     socket,
			Units:      []component.Unit{{Component: &endless{part{name: "slow", stopped: make(chan struct{})}}}},
			Log:        slog.New(slog.DiscardHandler),
			StartLimit: 50 * time.Millisecond,
		})
	}()

	client := supervisor.NewClient(socket)
	s := await(t, client, supervisor.PhaseFailed)
	if !strings.Contains(s.Error, "did not start within 50ms") || !strings.Contains(s.Error, "--wait") {
		t.Errorf("it says %q, which does not tell how long a part may take", s.Error)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// asked is a part that answers a probe with err, or not at all.
type asked struct {
	part
	err    error
	silent bool
}

func (p *asked) Probe(context.Context) error {
	if p.silent {
		select {}
	}
	return p.err
}

// noted is a part that has something to say of itself.
type noted struct{ part }

func (n *noted) Describe() string { return n.name + " leads to two" }

func TestStatusHasNotes(t *testing.T) {
	var units []component.Unit
	for _, c := range []component.Component{
		&noted{part{name: "balancer", stopped: make(chan struct{})}},
		&part{name: "files", stopped: make(chan struct{})},
	} {
		units = append(units, component.Unit{Component: c})
	}

	client, ended := runUnits(t, units)
	await(t, client, supervisor.PhaseReady)
	s, err := client.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Units[0].Note + "|" + s.Units[1].Note; got != "balancer leads to two|" {
		t.Errorf("notes %q", got)
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestHealthAsksEachUnit(t *testing.T) {
	var units []component.Unit
	for _, c := range []component.Component{
		&part{name: "files", stopped: make(chan struct{})},
		&asked{part: part{name: "good", stopped: make(chan struct{})}},
		&asked{part: part{name: "bad", stopped: make(chan struct{})}, err: errors.New("no route")},
		&asked{part: part{name: "halted", stopped: make(chan struct{})}, err: &component.ReasonError{
			Reason: component.Halted, Err: errors.New("by hand"),
		}},
		&asked{part: part{name: "silent", stopped: make(chan struct{})}, silent: true},
	} {
		units = append(units, component.Unit{Component: c})
	}

	client, ended := runUnits(t, units)
	await(t, client, supervisor.PhaseReady)
	s, err := client.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	for _, u := range s.Units {
		got = append(got, fmt.Sprintf("%s %v %s%s", u.ID, u.Probed, u.Reason, u.Problem))
	}

	want := []string{
		"files false ", "good true ", "bad true no route", "halted true haltedby hand",
		"silent true it has not answered within 200ms",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStatusTellsAfter checks that the answers say what each unit waits for, and that the answer of an older
// supervisor, which leaves it out, can be read.
func TestStatusTellsAfter(t *testing.T) {
	client, ended := runUnits(t, []component.Unit{
		{Component: &part{name: "etcd", stopped: make(chan struct{})}},
		{Component: &part{name: "kube-apiserver", stopped: make(chan struct{})}, After: component.Soles("etcd")},
	})
	await(t, client, supervisor.PhaseReady)
	type question func(context.Context) (supervisor.Status, error)
	for name, ask := range map[string]question{"status": client.Status, "health": client.Health} {
		s, err := ask(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][]string{}
		for _, u := range s.Units {
			got[u.ID.String()] = component.Texts(u.After)
		}

		if diff := cmp.Diff(map[string][]string{"etcd": {}, "kube-apiserver": {"etcd"}}, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}

	const older = `{"pid":7,"phase":"ready","units":[{"name":"etcd","state":"restarting","seconds":1.5}]}`
	want := supervisor.Status{
		PID:   7,
		Phase: supervisor.PhaseReady,
		Units: []supervisor.UnitStatus{{ID: component.Sole("etcd"), State: supervisor.Restarting, Seconds: 1.5}},
	}

	var got supervisor.Status
	if err := json.Unmarshal([]byte(older), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("an older answer: -want +got:\n%s", diff)
	}
}

func TestFailureIsToldAndKept(t *testing.T) {
	client, ended := run(t, &part{
		name:    "bad",
		err:     errors.New("no room"),
		stopped: make(chan struct{}),
	})
	s := await(t, client, supervisor.PhaseFailed)
	if s.Error == "" || s.Units[0].Error == "" {
		t.Errorf("status does not say why: %+v", s)
	}
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestLogLevel: the supervisor's level is in its status, can be changed while it runs, and to nothing that is no level.
func TestLogLevel(t *testing.T) {
	client, ended := run(t)
	if s := await(t, client, supervisor.PhaseReady); s.LogLevel != logging.Info {
		t.Errorf("at first: %s", s.LogLevel)
	}
	if err := client.SetLogLevel(t.Context(), logging.Debug); err != nil {
		t.Fatal(err)
	}

	err := client.SetLogLevel(t.Context(), logging.Level(2))
	if err == nil || !strings.Contains(err.Error(), "no log level") {
		t.Errorf("a level that there is not: %v", err)
	}
	if s, err := client.Status(t.Context()); err != nil || s.LogLevel != logging.Debug {
		t.Errorf("then: %s, %v", s.LogLevel, err)
	}
	if err := errors.Join(client.Stop(t.Context()), <-ended); err != nil {
		t.Error(err)
	}
}
