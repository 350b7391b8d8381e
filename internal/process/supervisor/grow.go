package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"mullion.dev/mullion/internal/process/component"
)

// Growth is what makes a cluster that is up larger.
type Growth struct {
	// Units are the new ones. One whose ID is there already takes that one's place.
	Units []component.Unit
	// Ended is called with nil when all are ready, else with why they are not; then the units are as they were before.
	Ended func(ctx context.Context, err error) error
}

// mostWanted is the most bytes of what a cluster is to become.
const mostWanted = 16 << 20

// grow makes the cluster larger. One request at a time is carried out.
func (s *server) grow(ctx context.Context, r *http.Request) error {
	want, err := io.ReadAll(io.LimitReader(r.Body, mostWanted))
	if err != nil {
		return fmt.Errorf("read what the cluster is to become: %w", err)
	}
	if s.cfg.Grow == nil {
		return errors.New("its parts stay as they are")
	}

	s.growing.Lock()
	defer s.growing.Unlock()
	if !s.pass(PhaseReady, PhaseStarting) {
		return fmt.Errorf("its parts are %s", s.now().Phase)
	}
	defer s.pass(PhaseStarting, PhaseReady)

	growth, err := s.cfg.Grow(ctx, want)
	if err != nil {
		return err
	}

	putBack := s.know(growth.Units)
	err = s.manager.Grow(ctx, s.bounded(growth.Units))
	if err != nil {
		putBack()
	}
	return errors.Join(err, growth.Ended(context.WithoutCancel(ctx), err))
}

// pass leads from one phase to another, and reports whether the first was there.
func (s *server) pass(from, to string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Phase != from {
		return false
	}
	s.status.Phase = to
	return true
}

// know has units told of in the status, and returns what has those told of again that were before.
func (s *server) know(units []component.Unit) (putBack func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	beforeUnits, beforeStatus := s.units, s.status.Units
	s.units, s.status.Units = slices.Clone(s.units), slices.Clone(s.status.Units)

	for _, u := range units {
		told := UnitStatus{
			ID:    u.ID(),
			State: component.Waiting,
			After: u.After,
		}
		if i, there := s.index[u.ID()]; there {
			s.units[i] = u
			unit := &s.status.Units[i]
			unit.State, unit.After = component.Waiting, u.After // it is not asked before it begins
			continue
		}
		s.index[u.ID()] = len(s.units)
		s.units, s.status.Units = append(s.units, u), append(s.status.Units, told)
	}

	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, u := range s.units[len(beforeUnits):] {
			delete(s.index, u.ID())
		}
		now := s.status.Units[:len(beforeStatus)]
		for i := range now { // those that took another's place have gone through states since
			now[i].After = beforeStatus[i].After
			if now[i].State == component.Waiting { // or have not begun
				now[i].State = beforeStatus[i].State
			}
		}
		s.units, s.status.Units = beforeUnits, slices.Clip(now)
	}
}

// Grow has the supervisor make the cluster what want says, and returns when all parts are ready: an error says why they
// are not, and then the cluster is as it was. An older supervisor does not know the request.
func (c *Client) Grow(ctx context.Context, want []byte) error {
	return c.changeBy(ctx, "/v1/grow", bytes.NewReader(want))
}
