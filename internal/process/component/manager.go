package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// State is where a unit is in its life; see the diagram in the package comment.
type State string

// States of a unit, in the order it passes them. Waiting is the state before Start is called.
const (
	Waiting  State = "waiting"
	Starting State = "starting"
	Ready    State = "ready"
	Failed   State = "failed"
	Stopping State = "stopping"
	Stopped  State = "stopped"
)

// Event says that a unit has come to a state. Err is set with Failed, and with Stopped if Stop returned an error.
// Elapsed is how long the step that ended took: zero for Starting and Stopping.
type Event struct {
	Unit    ID
	State   State
	Err     error
	Elapsed time.Duration
}

// rollbackTimeout bounds the stopping of started units when a start fails and its context is over already.
const rollbackTimeout = 30 * time.Second

// Manager starts units in the order their dependencies ask for and stops them in reverse. Its methods may be called
// from any goroutine, but Start and Stop each run alone: a Stop that comes during a Start waits for it, so cancel the
// Start's context first.
type Manager struct {
	notify func(Event)

	life  sync.Mutex // held by what starts or stops units
	units []Unit     // guarded by life

	mu    sync.Mutex // guards state and calls to notify
	state map[ID]State
}

// NewManager checks the graph of units (see Order) and returns a manager for it. notify, which may be nil, gets every
// event, one at a time; it must not call the manager and should return soon.
func NewManager(units []Unit, notify func(Event)) (*Manager, error) {
	if _, err := Order(units); err != nil {
		return nil, err
	}
	m := &Manager{
		units:  units,
		notify: notify,
		state:  make(map[ID]State, len(units)),
	}
	for _, u := range units {
		m.state[u.ID()] = Waiting
	}
	return m, nil
}

// State returns the state of a unit, and "" for what is not a unit.
func (m *Manager) State(id ID) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[id]
}

// Start starts every unit that is not ready yet, each when the units it waits for are ready, and returns when all are
// ready. If one fails, the starts under way are cancelled, everything this call started is stopped again in reverse
// order, and the error says which unit failed and why. ctx bounds the start only.
func (m *Manager) Start(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	return m.start(ctx, func(ID) bool { return true })
}

// StartUnits is Start for some units, of which those that are ready stay as they are. What they wait for has to be
// among them, or ready.
func (m *Manager) StartUnits(ctx context.Context, ids []ID) error {
	m.life.Lock()
	defer m.life.Unlock()
	if err := m.check("start", ids); err != nil {
		return err
	}
	for _, u := range m.units {
		for _, after := range u.After {
			if slices.Contains(ids, u.ID()) && !slices.Contains(ids, after) && m.State(after) != Ready {
				return fmt.Errorf("start %q: it waits for %q, which is %s", u.ID(), after, m.State(after))
			}
		}
	}
	return m.start(ctx, func(id ID) bool { return slices.Contains(ids, id) })
}

// StopUnits stops some units, each when those of them that wait for it have stopped. Other units that wait for them
// stay as they are.
func (m *Manager) StopUnits(ctx context.Context, ids []ID) error {
	m.life.Lock()
	defer m.life.Unlock()
	if err := m.check("stop", ids); err != nil {
		return err
	}
	return m.stop(ctx, func(id ID) bool { return slices.Contains(ids, id) })
}

// check refuses what is no unit.
func (m *Manager) check(verb string, ids []ID) error {
	for _, id := range ids {
		if m.State(id) == "" {
			return fmt.Errorf("%s %q: there is no such unit", verb, id)
		}
	}
	return nil
}

// start starts the units that chosen picks. The others that they wait for are ready.
func (m *Manager) start(ctx context.Context, chosen func(ID) bool) error {
	startCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(map[ID]chan struct{}, len(m.units))
	for _, u := range m.units {
		ready[u.ID()] = make(chan struct{})
	}

	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		begun = newIDSet()
	)

	for _, u := range m.units {
		if m.State(u.ID()) == Ready {
			close(ready[u.ID()])
			continue
		}
		if !chosen(u.ID()) {
			continue
		}

		wg.Go(func() {
			if !awaitAll(startCtx, ready, u.After) {
				return
			}
			begun.add(u.ID())
			if err := m.startOne(startCtx, u); err != nil {
				once.Do(func() { first = err })
				cancel()
				return
			}

			close(ready[u.ID()])
		})
	}

	wg.Wait()
	if first == nil {
		first = ctx.Err()
		if first == nil {
			return nil
		}
		first = fmt.Errorf("start units: %w", first)
	}

	stopCtx, cancelStop := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancelStop()
	return errors.Join(first, m.stop(stopCtx, begun.has))
}

// Stop stops every unit, each when all units that wait for it have stopped, and returns when all have stopped. An error
// of one unit does not keep the others from being stopped. Units that were never started are stopped too (their Stop
// clears what an earlier supervisor may have left behind); units that are stopped already are left alone.
func (m *Manager) Stop(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	return m.stop(ctx, func(ID) bool { return true })
}

// Restart stops one unit that is ready, or failed, and starts it again. Those that wait for it stay as they are. Where
// units are being started or stopped, it waits for the end of that. ctx bounds the stop and the start.
func (m *Manager) Restart(ctx context.Context, id ID) error {
	m.life.Lock()
	defer m.life.Unlock()
	i := slices.IndexFunc(m.units, func(u Unit) bool { return u.ID() == id })
	if err := m.check("restart", []ID{id}); err != nil {
		return err
	}
	if state := m.State(id); state != Ready && state != Failed {
		return fmt.Errorf("restart %q: it is %s", id, state)
	}
	if err := m.stopOne(ctx, m.units[i]); err != nil {
		return err
	}
	return m.startOne(ctx, m.units[i])
}

// stop stops the units that chosen picks, in reverse order of the dependencies.
func (m *Manager) stop(ctx context.Context, chosen func(ID) bool) error {
	gone := make(map[ID]chan struct{}, len(m.units))
	users := make(map[ID][]ID, len(m.units))
	for _, u := range m.units {
		gone[u.ID()] = make(chan struct{})
		for _, after := range u.After {
			users[after] = append(users[after], u.ID())
		}
	}

	var wg sync.WaitGroup
	errs := make([]error, len(m.units))
	for i, u := range m.units {
		wg.Go(func() {
			defer close(gone[u.ID()])
			// Not bounded by ctx, because each Stop is: a unit must stop after its users even when ctx is over.
			for _, user := range users[u.ID()] {
				<-gone[user]
			}
			if chosen(u.ID()) && m.State(u.ID()) != Stopped {
				errs[i] = m.stopOne(ctx, u)
			}
		})
	}

	wg.Wait()
	return errors.Join(errs...)
}

func (m *Manager) startOne(ctx context.Context, u Unit) error {
	begin := time.Now()
	m.emit(Event{Unit: u.ID(), State: Starting})
	if err := u.Start(ctx); err != nil {
		m.emit(Event{
			Unit:    u.ID(),
			State:   Failed,
			Err:     err,
			Elapsed: time.Since(begin),
		})
		return fmt.Errorf("start %q: %w", u.ID(), err)
	}

	m.emit(Event{
		Unit:    u.ID(),
		State:   Ready,
		Elapsed: time.Since(begin),
	})

	return nil
}

func (m *Manager) stopOne(ctx context.Context, u Unit) error {
	begin := time.Now()
	m.emit(Event{Unit: u.ID(), State: Stopping})
	err := u.Stop(ctx)
	m.emit(Event{
		Unit:    u.ID(),
		State:   Stopped,
		Err:     err,
		Elapsed: time.Since(begin),
	})
	if err != nil {
		return fmt.Errorf("stop %q: %w", u.ID(), err)
	}
	return nil
}

func (m *Manager) emit(e Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state[e.Unit] = e.State
	if m.notify != nil {
		m.notify(e)
	}
}

// awaitAll waits until the channels of all units are closed. It returns false if ctx ended first.
func awaitAll(ctx context.Context, ready map[ID]chan struct{}, ids []ID) bool {
	for _, id := range ids {
		select {
		case <-ready[id]:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// idSet is a set of units that goroutines share.
type idSet struct {
	mu  sync.Mutex
	ids map[ID]bool
}

func newIDSet() *idSet { return &idSet{ids: map[ID]bool{}} }

func (s *idSet) add(id ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ids[id] = true
}

func (s *idSet) has(id ID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ids[id]
}
