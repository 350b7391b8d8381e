package component

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Grow gives the manager more units, and starts them. A unit whose ID is there already takes the place of that one,
// which is stopped first. All others stay as they are. If one of the new does not start, the units are as they were
// before: those that this call started are stopped and forgotten, and those whose place they took are started again.
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

	isReplaced := func(id ID) bool { return slices.Contains(replaced, id) }
	err := m.stop(ctx, isReplaced)
	if err == nil {
		m.units = units
		m.know(more)
		err = m.start(ctx, isNew)
	}
	if err == nil {
		return nil
	}

	back, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	m.units = before
	m.forget(more, isReplaced)
	return errors.Join(err, m.start(back, isReplaced))
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

// know has units wait that there were none of.
func (m *Manager) know(units []Unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		if _, known := m.state[u.ID()]; !known {
			m.state[u.ID()] = Waiting
		}
	}
}

// forget removes the states of units, but of those that keep reports.
func (m *Manager) forget(units []Unit, keep func(ID) bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		if !keep(u.ID()) {
			delete(m.state, u.ID())
		}
	}
}
