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
	Unit    string
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
	units  []Unit
	notify func(Event)

	life sync.Mutex // held by Start and Stop

	mu    sync.Mutex // guards state and calls to notify
	state map[string]State
}

// NewManager checks the graph of units (see Order) and returns a manager for it. notify, which may be nil, gets every
// event, one at a time; it must not call the manager and should return soon.
func NewManager(units []Unit, notify func(Event)) (*Manager, error) {
	if _, err := Order(units); err != nil {
		return nil, err
	}
	m := &Manager{units: units, notify: notify, state: make(map[string]State, len(units))}
	for _, u := range units {
		m.state[u.Name()] = Waiting
	}
	return m, nil
}

// State returns the state of the named unit, and "" for a name that is not a unit.
func (m *Manager) State(name string) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state[name]
}

// Start starts every unit that is not ready yet, each when the units it waits for are ready, and returns when all are
// ready. If one fails, the starts under way are cancelled, everything this call started is stopped again in reverse
// order, and the error says which unit failed and why. ctx bounds the start only.
func (m *Manager) Start(ctx context.Context) error {
	m.life.Lock()
	defer m.life.Unlock()
	return m.start(ctx, func(string) bool { return true })
}

// StartUnits is Start for some units, of which those that are ready stay as they are. What they wait for has to be
// among them, or ready.
func (m *Manager) StartUnits(ctx context.Context, names []string) error {
	m.life.Lock()
	defer m.life.Unlock()
	if err := m.check("start", names); err != nil {
		return err
	}
	for _, u := range m.units {
		for _, after := range u.After {
			if slices.Contains(names, u.Name()) && !slices.Contains(names, after) && m.State(after) != Ready {
				return fmt.Errorf("start %q: it waits for %q, which is %s", u.Name(), after, m.State(after))
			}
		}
	}
	return m.start(ctx, func(name string) bool { return slices.Contains(names, name) })
}

// StopUnits stops some units, each when those of them that wait for it have stopped. Other units that wait for them
// stay as they are.
func (m *Manager) StopUnits(ctx context.Context, names []string) error {
	m.life.Lock()
	defer m.life.Unlock()
	if err := m.check("stop", names); err != nil {
		return err
	}
	return m.stop(ctx, func(name string) bool { return slices.Contains(names, name) })
}

// check refuses names that are no units.
func (m *Manager) check(verb string, names []string) error {
	for _, name := range names {
		if m.State(name) == "" {
			return fmt.Errorf("%s %q: there is no such unit", verb, name)
		}
	}
	return nil
}

// start starts the units that chosen picks. The others that they wait for are ready.
func (m *Manager) start(ctx context.Context, chosen func(string) bool) error {
	startCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(map[string]chan struct{}, len(m.units))
	for _, u := range m.units {
		ready[u.Name()] = make(chan struct{})
	}
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		begun = newNameSet()
	)
	for _, u := range m.units {
		if m.State(u.Name()) == Ready {
			close(ready[u.Name()])
			continue
		}
		if !chosen(u.Name()) {
			continue
		}
		wg.Go(func() {
			if !awaitAll(startCtx, ready, u.After) {
				return
			}
			begun.add(u.Name())
			if err := m.startOne(startCtx, u); err != nil {
				once.Do(func() { first = err })
				cancel()
				return
			}
			close(ready[u.Name()])
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
	return m.stop(ctx, func(string) bool { return true })
}

// Restart stops one unit that is ready, or failed, and starts it again. Those that wait for it stay as they are. Where
// units are being started or stopped, it waits for the end of that. ctx bounds the stop and the start.
func (m *Manager) Restart(ctx context.Context, name string) error {
	m.life.Lock()
	defer m.life.Unlock()
	i := slices.IndexFunc(m.units, func(u Unit) bool { return u.Name() == name })
	if err := m.check("restart", []string{name}); err != nil {
		return err
	}
	if state := m.State(name); state != Ready && state != Failed {
		return fmt.Errorf("restart %q: it is %s", name, state)
	}
	if err := m.stopOne(ctx, m.units[i]); err != nil {
		return err
	}
	return m.startOne(ctx, m.units[i])
}

// stop stops the units that chosen picks, in reverse order of the dependencies.
func (m *Manager) stop(ctx context.Context, chosen func(string) bool) error {
	gone := make(map[string]chan struct{}, len(m.units))
	users := make(map[string][]string, len(m.units))
	for _, u := range m.units {
		gone[u.Name()] = make(chan struct{})
		for _, after := range u.After {
			users[after] = append(users[after], u.Name())
		}
	}
	var wg sync.WaitGroup
	errs := make([]error, len(m.units))
	for i, u := range m.units {
		wg.Go(func() {
			defer close(gone[u.Name()])
			// Not bounded by ctx, because each Stop is: a unit must stop after its users even when ctx is over.
			for _, user := range users[u.Name()] {
				<-gone[user]
			}
			if chosen(u.Name()) && m.State(u.Name()) != Stopped {
				errs[i] = m.stopOne(ctx, u)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (m *Manager) startOne(ctx context.Context, u Unit) error {
	begin := time.Now()
	m.emit(Event{Unit: u.Name(), State: Starting})
	if err := u.Start(ctx); err != nil {
		m.emit(Event{Unit: u.Name(), State: Failed, Err: err, Elapsed: time.Since(begin)})
		return fmt.Errorf("start %q: %w", u.Name(), err)
	}
	m.emit(Event{Unit: u.Name(), State: Ready, Elapsed: time.Since(begin)})
	return nil
}

func (m *Manager) stopOne(ctx context.Context, u Unit) error {
	begin := time.Now()
	m.emit(Event{Unit: u.Name(), State: Stopping})
	err := u.Stop(ctx)
	m.emit(Event{Unit: u.Name(), State: Stopped, Err: err, Elapsed: time.Since(begin)})
	if err != nil {
		return fmt.Errorf("stop %q: %w", u.Name(), err)
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

// awaitAll waits until the channels of all names are closed. It returns false if ctx ended first.
func awaitAll(ctx context.Context, ready map[string]chan struct{}, names []string) bool {
	for _, name := range names {
		select {
		case <-ready[name]:
		case <-ctx.Done():
			return false
		}
	}
	return ctx.Err() == nil
}

// nameSet is a set of names that goroutines share.
type nameSet struct {
	mu    sync.Mutex
	names map[string]bool
}

func newNameSet() *nameSet { return &nameSet{names: map[string]bool{}} }

func (s *nameSet) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = true
}

func (s *nameSet) has(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name]
}
