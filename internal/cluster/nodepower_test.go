package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
	"mullion.dev/mullion/internal/windows/wire/hostpower"
)

// service is a part of a node that counts its starts, and is told to be as fault says until it is started again.
type service struct {
	id    component.ID
	fault error

	mu     sync.Mutex
	starts int
}

func (s *service) ID() component.ID           { return s.id }
func (s *service) Stop(context.Context) error { return nil }

func (s *service) Start(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++

	return nil
}

func (s *service) Probe(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starts > 1 {
		return nil
	}

	return s.fault
}

// TestStartHalted starts the services of one node that somebody has stopped by hand, whatever their errors' words are,
// and no others.
func TestStartHalted(t *testing.T) {
	halted := &component.ReasonError{Reason: component.Halted, Err: errors.New("in other words")}
	services := []*service{
		{id: component.OfNode("kubelet", "win-1"), fault: fmt.Errorf("probe it: %w", halted)},
		{id: component.OfNode("kube-proxy", "win-1"), fault: errors.New("it was stopped by hand: not by its reason")},
		{id: component.OfNode("agent", "win-1")},
		{id: component.OfNode("kubelet", "win-2"), fault: halted},
	}

	var units []component.Unit
	for _, s := range services {
		units = append(units, component.Unit{Component: s})
	}

	socket := filepath.Join(t.TempDir(), "s")
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket: socket, Units: units, Log: slog.New(slog.DiscardHandler),
		})
	}()

	power := NodePower{client: supervisor.NewClient(socket)}
	awaitPhase(t, power.client, supervisor.PhaseReady)

	if err := power.startHalted(t.Context(), "win-1"); err != nil {
		t.Fatal(err)
	}
	var got []int
	for _, s := range services {
		got = append(got, s.starts)
	}

	if want := []int{2, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("they were started %d times, want %d", got, want)
	}
	if err := errors.Join(power.client.Stop(t.Context()), <-ended); err != nil {
		t.Error(err)
	}
}

// TestObeyWhileGrowing: a program asks for its host's end while the cluster becomes larger. The host ends when that is
// over; the request is not lost.
func TestObeyWhileGrowing(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	paths := layout.Paths{Data: t.TempDir()}
	if err := paths.SaveSpec(load(t, "nodes: [{name: win-1, windowsVersion: ltsc2022}]")); err != nil {
		t.Fatal(err)
	}

	grows, goOn := make(chan struct{}), make(chan struct{})
	socket := filepath.Join(t.TempDir(), "s")
	id := component.OfNode("kubelet", "win-1")
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket: socket,
			Units:  []component.Unit{{Component: &service{id: id}}},
			Log:    slog.New(slog.DiscardHandler),
			Grow: func(context.Context, []byte) (supervisor.Growth, error) {
				close(grows)
				<-goOn
				return supervisor.Growth{}, errors.New("no more nodes")
			},
		})
	}()

	power := NodePower{paths: paths, client: supervisor.NewClient(socket)}
	awaitPhase(t, power.client, supervisor.PhaseReady)
	grown := make(chan error, 1)
	go func() { grown <- power.client.Grow(t.Context(), nil) }()
	<-grows

	drive := t.TempDir()
	file := filepath.Join(drive, hostpower.Path)
	if err := hostpower.Ask(file, hostpower.Request{At: time.Now()}); err != nil {
		t.Fatal(err)
	}
	obeyed := make(chan error, 1)
	go func() { obeyed <- power.obey(t.Context(), "win-1", drive, slog.New(slog.DiscardHandler)) }()

	for _, err := os.Stat(file); err == nil; _, err = os.Stat(file) { // until it has taken the request
		select {
		case <-t.Context().Done():
			t.Fatal("nobody has read the request")
		case <-time.After(10 * time.Millisecond):
		}
	}
	select {
	case err := <-obeyed:
		t.Fatalf("the host does not end: %v", err)
	case <-time.After(100 * time.Millisecond):
	}

	close(goOn)
	if err := <-grown; err == nil {
		t.Error("the cluster has become larger")
	}
	if err := <-obeyed; err != nil {
		t.Error(err)
	}
	status, err := power.client.Status(t.Context())
	if err != nil || len(status.Units) != 1 || status.Units[0].State != component.Stopped {
		t.Errorf("units %+v, %v", status.Units, err)
	}
	if err := errors.Join(power.client.Stop(t.Context()), <-ended); err != nil {
		t.Error(err)
	}
}

// awaitPhase returns when a supervisor is in a phase.
func awaitPhase(t *testing.T, client *supervisor.Client, phase string) {
	t.Helper()
	for {
		status, err := client.Status(t.Context())
		if err == nil && status.Phase == phase {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
