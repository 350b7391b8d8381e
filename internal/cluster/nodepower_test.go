package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
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
	for ready := false; !ready; {
		status, err := power.client.Status(t.Context())
		ready = err == nil && status.Phase == supervisor.PhaseReady
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(10 * time.Millisecond):
		}
	}

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
