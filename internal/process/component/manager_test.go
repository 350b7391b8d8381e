package component_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/component"
)

// journal records what happens to parts, in order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf(format, args...))
}

func (j *journal) index(line string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, l := range j.lines {
		if l == line {
			return i
		}
	}
	return -1
}

// part is a component that records its calls.
type part struct {
	name  string
	j     *journal
	start func(ctx context.Context) error
	stop  func(ctx context.Context) error
}

func (p *part) ID() component.ID { return component.Sole(p.name) }

func (p *part) Start(ctx context.Context) error {
	p.j.add("start %s", p.name)
	if p.start != nil {
		return p.start(ctx)
	}
	return nil
}

func (p *part) Stop(ctx context.Context) error {
	p.j.add("stop %s", p.name)
	if p.stop != nil {
		return p.stop(ctx)
	}
	return nil
}

func unit(c component.Component, after ...string) component.Unit {
	return component.Unit{Component: c, After: component.Soles(after...)}
}

func TestOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	p := func(name string) *part { return &part{name: name, j: &journal{}} }
	tests := []struct {
		name    string
		units   []component.Unit
		want    []string
		wantErr string
	}{
		{name: "empty"},
		{
			name:  "given-order-kept",
			units: []component.Unit{unit(p("b")), unit(p("a"))},
			want:  []string{"b", "a"},
		},
		{
			name: "dependencies-first",
			units: []component.Unit{
				unit(p("top"), "left", "right"), unit(p("left"), "base"), unit(p("right"), "base"),
				unit(p("base")),
			},
			want: []string{"base", "left", "right", "top"},
		},
		{name: "no-name", units: []component.Unit{unit(p(""))}, wantErr: "no name"},
		{name: "twice", units: []component.Unit{unit(p("a")), unit(p("a"))}, wantErr: `"a": the name is used twice`},
		{
			name:    "unknown",
			units:   []component.Unit{unit(p("a"), "ghost")},
			wantErr: `waits for "ghost", which is not a unit`,
		},
		{name: "itself", units: []component.Unit{unit(p("a"), "a")}, wantErr: "a after a"},
		{
			name:    "circle",
			units:   []component.Unit{unit(p("x"), "a"), unit(p("a"), "b"), unit(p("b"), "c"), unit(p("c"), "a")},
			wantErr: "a after b after c after a",
		},
	}

	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := component.Order(tt.units)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("got error %v, want one with %q", err, tt.wantErr)
				}
				if _, err := component.NewManager(tt.units, nil); err == nil {
					t.Fatal("NewManager took a graph that Order refused")
				}
				return
			}

			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(component.Soles(tt.want...), got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartAndStopFollowTheGraph(t *testing.T) {
	j := &journal{}

	// left and right each wait for the other to have begun: only a parallel start gets through.
	leftBegun, rightBegun := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}) func(context.Context) error {
		return func(ctx context.Context) error {
			close(mine)
			select {
			case <-other:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}

	var events []string
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "top", j: j}, "left", "right"),
		unit(&part{
			name:  "left",
			j:     j,
			start: meet(leftBegun, rightBegun),
		}, "base"),
		unit(&part{
			name:  "right",
			j:     j,
			start: meet(rightBegun, leftBegun),
		}, "base"),
		unit(&part{name: "base", j: j}),
	}, func(e component.Event) { events = append(events, e.Unit.String()+" "+string(e.State)) })
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := m.Start(ctx); err != nil {
		t.Fatal(err)
	}
	if got := m.State(component.Sole("top")); got != component.Ready {
		t.Fatalf("state of top: got %q, want ready", got)
	}

	if err := m.Start(ctx); err != nil {
		t.Fatalf("second start: %v", err)
	}
	if err := m.Stop(ctx); err != nil {
		t.Fatal(err)
	}
	if err := m.Stop(ctx); err != nil {
		t.Fatalf("second stop: %v", err)
	}

	if got, want := len(j.lines), 8; got != want {
		t.Fatalf("got %d calls, want %d (each part started and stopped once): %q", got, want, j.lines)
	}

	for _, pair := range [][2]string{
		{"start base", "start left"},
		{"start base", "start right"},
		{"start left", "start top"},
		{"start right", "start top"},
		{"stop top", "stop left"},
		{"stop top", "stop right"},
		{"stop left", "stop base"},
		{"stop right", "stop base"},
	} {
		if j.index(pair[0]) > j.index(pair[1]) {
			t.Errorf("%q came after %q: %q", pair[0], pair[1], j.lines)
		}
	}

	if got, want := len(events), 16; got != want {
		t.Fatalf("got %d events, want %d: %q", got, want, events)
	}
	if diff := cmp.Diff([]string{"base starting", "base ready"}, events[:2]); diff != "" {
		t.Errorf("first events (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"base stopping", "base stopped"}, events[14:]); diff != "" {
		t.Errorf("last events (-want +got):\n%s", diff)
	}
}

func TestFailureUndoesTheStart(t *testing.T) {
	j := &journal{}
	boom := errors.New("boom")
	slowCancelled := false
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "base", j: j}),
		unit(&part{
			name:  "bad",
			j:     j,
			start: func(context.Context) error { return boom },
		}, "base"),
		unit(&part{
			name: "slow",
			j:    j,
			start: func(ctx context.Context) error {
				<-ctx.Done()
				slowCancelled = true
				return ctx.Err()
			},
		}, "base"),
		unit(&part{name: "never", j: j}, "bad"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	err = m.Start(t.Context())
	if !errors.Is(err, boom) || !strings.Contains(err.Error(), `start "bad"`) {
		t.Fatalf("got error %v, want boom of bad", err)
	}
	if strings.Contains(err.Error(), "slow") {
		t.Errorf("the error names a unit that was only cancelled: %v", err)
	}

	if j.index("start slow") >= 0 && !slowCancelled {
		t.Error("slow was not cancelled")
	}
	if j.index("start never") >= 0 || j.index("stop never") >= 0 {
		t.Errorf("a unit whose dependency failed was touched: %q", j.lines)
	}
	if j.index("stop bad") < 0 || j.index("stop base") < j.index("stop bad") {
		t.Errorf("not undone in reverse order: %q", j.lines)
	}

	if got := m.State(component.Sole("base")); got != component.Stopped {
		t.Errorf("state of base: got %q, want stopped", got)
	}
}

func TestCancelledStartIsUndone(t *testing.T) {
	j := &journal{}
	ctx, cancel := context.WithCancel(t.Context())
	var stopErr error
	m, err := component.NewManager([]component.Unit{
		unit(&part{
			name: "base",
			j:    j,
			stop: func(ctx context.Context) error { stopErr = ctx.Err(); return nil },
		}),
		unit(&part{
			name: "slow",
			j:    j,
			start: func(ctx context.Context) error {
				cancel()
				<-ctx.Done()
				return ctx.Err()
			},
		}, "base"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := m.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got error %v, want cancelled", err)
	}
	if j.index("stop base") < 0 {
		t.Fatalf("base was left running: %q", j.lines)
	}
	if stopErr != nil {
		t.Fatalf("base was stopped with a context that was over: %v", stopErr)
	}
}

func TestStopGoesOnAfterAnError(t *testing.T) {
	j := &journal{}
	boom := errors.New("boom")
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "base", j: j}),
		unit(&part{
			name: "top",
			j:    j,
			stop: func(context.Context) error { return boom },
		}, "base"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	// Never started: Stop still visits both, as after a crash of an earlier supervisor.
	if err := m.Stop(t.Context()); !errors.Is(err, boom) || !strings.Contains(err.Error(), `stop "top"`) {
		t.Fatalf("got error %v, want boom of top", err)
	}
	if diff := cmp.Diff([]string{"stop top", "stop base"}, j.lines); diff != "" {
		t.Fatalf("calls (-want +got):\n%s", diff)
	}
}

// TestRestart stops and starts one unit, and leaves those that wait for it alone.
func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	j := &journal{}
	var startErr error
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "base", j: j}),
		unit(&part{
			name:  "middle",
			j:     j,
			start: func(context.Context) error { return startErr },
		}, "base"),
		unit(&part{name: "top", j: j}, "middle"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := m.Restart(t.Context(), component.Sole("middle")); err == nil || !strings.Contains(err.Error(), "it is waiting") {
		t.Errorf("before the start: %v", err)
	}
	if err := m.Restart(t.Context(), component.Sole("none")); err == nil || !strings.Contains(err.Error(), "no such unit") {
		t.Errorf("of no unit: %v", err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	j.lines = nil
	if err := m.Restart(t.Context(), component.Sole("middle")); err != nil {
		t.Errorf("of one that is ready: %v", err)
	}
	startErr = errors.New("boom")
	if err := m.Restart(t.Context(), component.Sole("middle")); !errors.Is(err, startErr) || m.State(component.Sole("middle")) != component.Failed {
		t.Errorf("of one that does not start: %v, and it is %s", err, m.State(component.Sole("middle")))
	}

	startErr = nil
	if err := m.Restart(t.Context(), component.Sole("middle")); err != nil || m.State(component.Sole("middle")) != component.Ready {
		t.Errorf("of one that failed: %v, and it is %s", err, m.State(component.Sole("middle")))
	}
	want := []string{"stop middle", "start middle", "stop middle", "start middle", "stop middle", "start middle"}
	if diff := cmp.Diff(want, j.lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	if err := m.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := m.Restart(t.Context(), component.Sole("middle")); err == nil || !strings.Contains(err.Error(), "it is stopped") {
		t.Errorf("after the stop: %v", err)
	}
}

// TestSomeUnits stops and starts some units, while those above and below stay as they are.
func TestSomeUnits(t *testing.T) {
	j := &journal{}
	var startErr error
	m, err := component.NewManager([]component.Unit{
		unit(&part{name: "base", j: j}),
		unit(&part{name: "host", j: j}, "base"),
		unit(&part{
			name:  "kubelet",
			j:     j,
			start: func(context.Context) error { return startErr },
		}, "host"),
		unit(&part{name: "above", j: j}, "kubelet"),
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	node := component.Soles("host", "kubelet")
	err = m.StartUnits(t.Context(), node)
	if err == nil || !strings.Contains(err.Error(), `"base", which is waiting`) {
		t.Errorf("before the start: %v", err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	for verb, f := range map[string]func(context.Context, []component.ID) error{
		"start": m.StartUnits, "stop": m.StopUnits,
	} {
		if err := f(t.Context(), component.Soles("none")); err == nil || !strings.Contains(err.Error(), verb+` "none": there is no`) {
			t.Errorf("%s of no unit: %v", verb, err)
		}
	}

	j.lines = nil
	states := func(want string) {
		t.Helper()
		got := ""
		for _, name := range []string{"base", "host", "kubelet", "above"} {
			got += string(m.State(component.Sole(name))) + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("they are %s, want %s", got, want)
		}
	}

	for range 2 { // the second time does nothing
		if err := m.StopUnits(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		states("ready stopped stopped ready")
	}

	startErr = errors.New("boom")
	if err := m.StartUnits(t.Context(), node); !errors.Is(err, startErr) {
		t.Errorf("of one that does not start: %v", err)
	}

	states("ready stopped stopped ready")
	startErr = nil
	for range 2 {
		if err := m.StartUnits(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		states("ready ready ready ready")
	}

	want := []string{
		"stop kubelet", "stop host", "start host", "start kubelet", "stop kubelet", "stop host", "start host", "start kubelet",
	}
	if diff := cmp.Diff(want, j.lines); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
