package component

import (
	"errors"
	"fmt"
	"strings"
)

// Order returns the IDs of units in an order in which each unit comes after those it waits for; units without such a
// constraint keep the given order. It is an error if an ID is empty or used twice, if a unit waits for an unknown one,
// or if units wait for each other in a circle. Manager starts units in parallel as far as this order permits.
func Order(units []Unit) ([]ID, error) {
	byID := make(map[ID]Unit, len(units))
	var errs []error
	for _, u := range units {
		id := u.ID()
		if id.Part == "" {
			errs = append(errs, errors.New("check units: a unit has no name"))
		}
		if _, twice := byID[id]; twice {
			errs = append(errs, fmt.Errorf("check unit %q: the name is used twice", id))
		}
		byID[id] = u
	}

	for _, u := range units {
		for _, after := range u.After {
			if _, ok := byID[after]; !ok {
				errs = append(errs, fmt.Errorf("check unit %q: it waits for %q, which is not a unit", u.ID(), after))
			}
		}
	}

	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	w := walk{units: byID, mark: make(map[ID]mark, len(units))}
	for _, u := range units {
		if err := w.visit(u.ID()); err != nil {
			return nil, err
		}
	}

	return w.order, nil
}

// mark says how far a walk has come with a unit.
type mark int

const (
	unseen mark = iota
	open        // on the path from the unit being visited: meeting it again is a circle
	closed      // it and all it waits for are in the order
)

// walk is a depth-first walk over the units.
type walk struct {
	units map[ID]Unit
	mark  map[ID]mark
	path  []ID
	order []ID
}

func (w *walk) visit(id ID) error {
	w.path = append(w.path, id)
	switch w.mark[id] {
	case closed:
		w.path = w.path[:len(w.path)-1]
		return nil
	case open:
		start := 0
		for w.path[start] != id {
			start++
		}
		return fmt.Errorf("check unit %q: it waits for itself: %s", id, strings.Join(Texts(w.path[start:]), " after "))
	}

	w.mark[id] = open
	for _, after := range w.units[id].After {
		if err := w.visit(after); err != nil {
			return err
		}
	}

	w.mark[id] = closed
	w.order = append(w.order, id)
	w.path = w.path[:len(w.path)-1]
	return nil
}
