package component_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/component"
)

// grown returns a manager of two units that are ready, of which the second waits for the first.
func grown(t *testing.T, j *journal) *component.Manager {
	t.Helper()
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "base", j: j}), unit(&part{name: "list", j: j}, "base"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.add("grow")
	return m
}

// TestGrow gives a manager a unit, and another in the place of one that there is.
func TestGrow(t *testing.T) {
	testrun.Once(t, testrun.Order)
	j := &journal{}
	m := grown(t, j)
	renewed := &part{
		name:  "list",
		j:     j,
		start: func(context.Context) error { j.add("the new list"); return nil },
	}
	if err := m.Grow(t.Context(), []component.Unit{
		unit(&part{name: "more", j: j}, "base"), unit(renewed, "base", "more"),
	}); err != nil {
		t.Fatal(err)
	}

	got := strings.Join(j.lines, "\n")
	if want := "start base\nstart list\ngrow\nstart more\nstop list\nstart list\nthe new list"; got != want {
		t.Errorf("it went\n%s\nwant\n%s", got, want)
	}
	if m.State(component.Sole("more")) != component.Ready {
		t.Errorf("more is %s", m.State(component.Sole("more")))
	}

	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if base, more := j.index("stop base"), j.index("stop more"); base < more || more < 0 {
		t.Errorf("at the end:\n%s", strings.Join(j.lines, "\n"))
	}
}

// TestGrowFails: what does not start is forgotten, and what waited for it has not taken another's place, which goes on.
func TestGrowFails(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	j := &journal{}
	m := grown(t, j)
	bad := &part{
		name:  "more",
		j:     j,
		start: func(context.Context) error { return errors.New("no such disk") },
	}
	err := m.Grow(t.Context(), []component.Unit{unit(bad, "base"), unit(&part{name: "list", j: j}, "more")})
	if err == nil || !strings.Contains(err.Error(), "no such disk") {
		t.Errorf("it says %v", err)
	}

	got := strings.Join(j.lines, "\n")
	if want := "start base\nstart list\ngrow\nstart more\nstop more"; got != want {
		t.Errorf("it went\n%s\nwant\n%s", got, want)
	}
	if state := m.State(component.Sole("more")); state != "" {
		t.Errorf("more is %q", state)
	}
	if state := m.State(component.Sole("list")); state != component.Ready {
		t.Errorf("list is %q", state)
	}

	// The same again, mended.
	if err := m.Grow(t.Context(), []component.Unit{unit(&part{name: "more", j: j}, "base")}); err != nil {
		t.Error(err)
	}
}

// TestGrowFailsLater: what has taken another's place makes room for it again.
func TestGrowFailsLater(t *testing.T) {
	j := &journal{}
	m := grown(t, j)
	bad := &part{
		name:  "more",
		j:     j,
		start: func(context.Context) error { return errors.New("no such disk") },
	}
	renewed := &part{
		name:  "list",
		j:     j,
		start: func(context.Context) error { j.add("the new list"); return nil },
	}
	err := m.Grow(t.Context(), []component.Unit{unit(renewed, "base"), unit(bad, "list")})
	if err == nil || !strings.Contains(err.Error(), "no such disk") {
		t.Errorf("it says %v", err)
	}

	got := strings.Join(j.lines, "\n")
	want := "start base\nstart list\ngrow\nstop list\nstart list\nthe new list\nstart more\nstop more\nstop list\nstart list"
	if got != want {
		t.Errorf("it went\n%s\nwant\n%s", got, want)
	}
	if state := m.State(component.Sole("list")); state != component.Ready {
		t.Errorf("list is %q", state)
	}

	// What is there afterwards stops once.
	j.lines = nil
	if err := m.Stop(t.Context()); err != nil || strings.Join(j.lines, "\n") != "stop list\nstop base" {
		t.Errorf("at the end, %v:\n%s", err, strings.Join(j.lines, "\n"))
	}
}

// TestGrowRefused: units that cannot begin change nothing.
func TestGrowRefused(t *testing.T) {
	for name, more := range map[string][]component.Unit{
		"of nothing":  {unit(&part{name: "more"}, "nowhere")},
		"in a circle": {unit(&part{name: "more"}, "list"), unit(&part{name: "list"}, "more")},
	} {
		t.Run(name, func(t *testing.T) {
			j := &journal{}
			m := grown(t, j)
			if err := m.Grow(t.Context(), more); err == nil {
				t.Error("it was taken")
			}
			if last := j.lines[len(j.lines)-1]; last != "grow" {
				t.Errorf("then %s", last)
			}
		})
	}

	j := &journal{}
	m := grown(t, j)
	if err := m.StopUnits(t.Context(), component.Soles("list")); err != nil {
		t.Fatal(err)
	}
	if err := m.Grow(t.Context(), []component.Unit{unit(&part{name: "more", j: j}, "list")}); err == nil ||
		!strings.Contains(err.Error(), "stopped") {
		t.Errorf("of what is stopped: %v", err)
	}
}
