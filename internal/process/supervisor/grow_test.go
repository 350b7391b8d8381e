package supervisor_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/supervisor"
)

// restartable is a part that can be stopped and started again; if bad is set, it does not start.
type restartable struct {
	name string
	bad  error
}

func (p *restartable) ID() component.ID            { return component.Sole(p.name) }
func (p *restartable) Start(context.Context) error { return p.bad }
func (p *restartable) Stop(context.Context) error  { return nil }

// TestGrow makes a cluster larger, once by a part that does not start, and once by one that does.
func TestGrow(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	newPart := func(name string) component.Component { return &restartable{name: name} }
	socket := filepath.Join(t.TempDir(), "s.sock")
	var told []string
	ended := make(chan error, 1)
	go func() {
		ended <- supervisor.Run(t.Context(), supervisor.Config{
			Socket: socket,
			Units:  []component.Unit{{Component: newPart("one")}},
			Log:    slog.New(slog.DiscardHandler),
			Grow: func(_ context.Context, want []byte) (supervisor.Growth, error) {
				g := supervisor.Growth{Ended: func(_ context.Context, err error) error {
					if err != nil {
						told = append(told, err.Error())
					} else {
						told = append(told, "grown")
					}
					return nil
				}}

				switch string(want) {
				case "bad":
					g.Units = []component.Unit{
						{Component: newPart("one")},
						{Component: &restartable{"two", errors.New("no such disk")}, After: component.Soles("one")},
					}
				case "bad first":
					g.Units = []component.Unit{
						{Component: newPart("one"), After: component.Soles("two")},
						{Component: &restartable{"two", errors.New("no such disk")}},
					}
				case "good":
					g.Units = []component.Unit{{Component: newPart("two"), After: component.Soles("one")}}
				default:
					return g, errors.New("another command was first")
				}
				return g, nil
			},
		})
	}()

	client := supervisor.NewClient(socket)
	await(t, client, supervisor.PhaseReady)
	for want, says := range map[string]string{
		"bad":       "no such disk",
		"bad first": "no such disk",
		"other":     "another command was first",
	} {
		if err := client.Grow(t.Context(), []byte(want)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: it says %v, want %q", want, err, says)
		}
		s := await(t, client, supervisor.PhaseReady)
		if len(s.Units) != 1 || s.Units[0].State != component.Ready || s.Units[0].Error != "" {
			t.Errorf("%s: units %+v", want, s.Units)
		}
	}

	if err := client.Grow(t.Context(), []byte("good")); err != nil {
		t.Fatal(err)
	}
	s := await(t, client, supervisor.PhaseReady)
	if len(s.Units) != 2 || s.Units[1].ID != component.Sole("two") || s.Units[1].State != component.Ready ||
		len(s.Units[1].After) != 1 {
		t.Errorf("units %+v", s.Units)
	}
	if err := client.Restart(t.Context(), component.Sole("two")); err != nil {
		t.Errorf("restart of the new one: %v", err)
	}

	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if len(told) != 3 || !strings.Contains(told[0], "no such disk") || told[2] != "grown" {
		t.Errorf("the cluster was told %q", told)
	}
}

// TestDoesNotGrow: a supervisor without anybody who composes refuses.
func TestDoesNotGrow(t *testing.T) {
	client, _ := runUnits(t, []component.Unit{{Component: &restartable{name: "one"}}})
	await(t, client, supervisor.PhaseReady)
	if err := client.Grow(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "stay as they are") {
		t.Errorf("it says %v", err)
	}
}
