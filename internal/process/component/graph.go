package component

import (
	"errors"
	"fmt"
	"strings"
)

// Order returns the names of units in an order in which each unit comes after those it waits for; units without such a
// constraint keep the given order. It is an error if a name is empty or used twice, if a unit waits for an unknown one,
// or if units wait for each other in a circle. Manager starts units in parallel as far as this order permits.
func Order(units []Unit) ([]string, error) {
	byName := make(map[string]Unit, len(units))
	var errs []error
	for _, u := range units {
		name := u.Name()
		if name == "" {
			errs = append(errs, errors.New("check units: a unit has no name"))
		}
		if _, twice := byName[name]; twice {
			errs = append(errs, fmt.Errorf("check unit %q: the name is used twice", name))
		}
		byName[name] = u
	}
	for _, u := range units {
		for _, after := range u.After {
			if _, ok := byName[after]; !ok {
				errs = append(errs, fmt.Errorf("check unit %q: it waits for %q, which is not a unit", u.Name(), after))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	w := walk{units: byName, mark: make(map[string]mark, len(units))}
	for _, u := range units {
		if err := w.visit(u.Name()); err != nil {
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
	units map[string]Unit
	mark  map[string]mark
	path  []string
	order []string
}

func (w *walk) visit(name string) error {
	w.path = append(w.path, name)
	switch w.mark[name] {
	case closed:
		w.path = w.path[:len(w.path)-1]
		return nil
	case open:
		start := 0
		for w.path[start] != name {
			start++
		}
		return fmt.Errorf("check unit %q: it waits for itself: %s", name, strings.Join(w.path[start:], " after "))
	}
	w.mark[name] = open
	for _, after := range w.units[name].After {
		if err := w.visit(after); err != nil {
			return err
		}
	}
	w.mark[name] = closed
	w.order = append(w.order, name)
	w.path = w.path[:len(w.path)-1]
	return nil
}
