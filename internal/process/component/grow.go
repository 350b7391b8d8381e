package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Grow gives the manager more units, and starts them. A unit whose ID is there already takes the place of that one,
// which is stopped when the new one begins, and works until then. All others stay as they are. If one of the new does
// not start, the units are as they were before: those that this call started are stopped and forgotten, and those whose
// place they took are started again.
//
// What a new unit waits for has to be among the new, or ready.
func (m *Manager) Grow(ctx context.Context, more []Unit) error {
	m.life.Lock()
	defer m.life.Unlock()
	before := m.units
	units, replaced := merge(before, more)
	if _, err := Order(units); err != nil {
		return err
	}

	isNew := func(id ID) bool { return slices.ContainsFunc(more, func(u Unit) bool { return u.ID() == id }) }
	for _, u := range more {
		for _, after := range u.After {
			if !isNew(after) && m.State(after) != Ready {
				return fmt.Errorf("start %q: it waits for %q, which is %s", u.ID(), after, m.State(after))
			}
		}
	}

	m.units = m.succeed(units, before, replaced)
	was := m.know(more, replaced)
	err := m.start(ctx, isNew)
	if err == nil {
		m.units = units
		return nil
	}

	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	m.units = before
	m.forget(more, was)
	return errors.Join(err, m.start(back, func(id ID) bool { return slices.Contains(replaced, id) }))
}

// succeed returns the units with those that take another's place as successors of it.
func (m *Manager) succeed(units, before []Unit, replaced []ID) []Unit {
	all := slices.Clone(units)
	for i, u := range all[:len(before)] {
		if slices.Contains(replaced, u.ID()) {
			all[i].Component = successor{Component: u.Component, stop: before[i].Stop}
		}
	}
	return all
}

// successor is a component that stops another one when it begins.
type successor struct {
	Component

	stop func(context.Context) error
}

func (s successor) Start(ctx context.Context) error {
	if err := s.stop(ctx); err != nil {
		return err
	}
	return s.Component.Start(ctx)
}

// merge puts units in the places of those with their IDs, or behind all others. It returns whose places were taken.
func merge(units, more []Unit) (all []Unit, replaced []ID) {
	all = slices.Clone(units)
	for _, u := range more {
		i := slices.IndexFunc(all, func(there Unit) bool { return there.ID() == u.ID() })
		if i < 0 {
			all = append(all, u)
			continue
		}
		all[i] = u
		replaced = append(replaced, u.ID())
	}
	return all, replaced
}

// know has units wait that there were none of, and those that take another's place. It returns what those others were.
func (m *Manager) know(units []Unit, replaced []ID) (was map[ID]State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	was = map[ID]State{}
	for _, u := range units {
		state, known := m.state[u.ID()]
		if known && slices.Contains(replaced, u.ID()) {
			was[u.ID()] = state
		}
		if !known || slices.Contains(replaced, u.ID()) {
			m.state[u.ID()] = Waiting
		}
	}
	return was
}

// forget removes the states of units, but of those that took another's place: while such a one still waits, the other
// is what it was.
func (m *Manager) forget(units []Unit, was map[ID]State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		state, replaces := was[u.ID()]
		switch {
		case !replaces:
			delete(m.state, u.ID())
		case m.state[u.ID()] == Waiting:
			m.state[u.ID()] = state
		}
	}
}
