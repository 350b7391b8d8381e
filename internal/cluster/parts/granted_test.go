package parts

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// worker is a component that notes what is done with it.
type worker struct {
	mu     sync.Mutex
	did    []string
	err    error // of Start
	probe  error
	during func(context.Context) // a start's work
}

func (w *worker) ID() component.ID { return component.Sole("worker") }

func (w *worker) Start(ctx context.Context) error {
	w.note("start")
	if w.during != nil {
		w.during(ctx)
	}
	return w.err
}

func (w *worker) Stop(context.Context) error { w.note("stop"); return nil }

func (w *worker) Probe(context.Context) error { return w.probe }

func (w *worker) State() proc.State { return proc.State{Phase: proc.Running, PID: 42} }

func (w *worker) note(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.did = append(w.did, what)
}

func (w *worker) times(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, d := range w.did {
		if d == what {
			n++
		}
	}
	return n
}

// rights are the answers to the question whether the rights are there: each is given once, the last for ever. Where
// there is a gate, the second answer waits until it is closed.
type rights struct {
	mu      sync.Mutex
	answers []error
	gate    chan struct{} // closed: the second answer may be given
	asked   int
}

func (r *rights) allowed(ctx context.Context) error {
	r.mu.Lock()
	r.asked++
	first := r.asked == 1
	r.mu.Unlock()
	if !first && r.gate != nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.gate:
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return next
}

var errLacks = &kubeadm.RightsError{Node: "win-1"}

// If the rights are there, Granted only passes calls to the component.
func TestGranted(t *testing.T) {
	w := &worker{probe: errors.New("it is ill")}
	g := &Granted{
		Component: w,
		Allowed:   (&rights{answers: []error{nil}}).allowed,
		Log:       (&journal{}).log(),
	}
	if err := g.Start(t.Context()); err != nil || w.times("start") != 1 {
		t.Errorf("Start = %v, and the component did %q", err, w.did)
	}

	err := g.Probe(t.Context())
	if !errors.Is(err, w.probe) || g.State().PID != 42 || g.ID() != component.Sole("worker") {
		t.Errorf("Probe = %v, state %+v", err, g.State())
	}

	if err := g.Stop(t.Context()); err != nil || w.times("stop") != 1 {
		t.Errorf("Stop = %v, and the component did %q", err, w.did)
	}
	w.err = errors.New("no such program")
	if err := g.Start(t.Context()); !errors.Is(err, w.err) {
		t.Errorf("a component that does not start: %v", err)
	}
}

// If the rights are missing, the node is brought up all the same, Probe says what is missing and what an administrator
// types, and the component starts as soon as the rights are there.
func TestGrantedLater(t *testing.T) {
	w, r := &worker{}, &rights{answers: []error{errLacks, nil}, gate: make(chan struct{})}
	g := &Granted{
		Component: w,
		Allowed:   r.allowed,
		Patience:  -time.Second,
		Log:       (&journal{}).log(),
	}

	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := g.Probe(t.Context())
	if lacks, ok := errors.AsType[*kubeadm.RightsError](err); !ok || lacks.Node != "win-1" {
		t.Errorf("Probe = %v", err)
	}

	says(t, err, "kubectl create clusterrolebinding", "system:node:win-1")
	if g.State().PID != 0 || g.State().Phase != proc.Running || w.times("start") != 0 {
		t.Errorf("before it may start its state is %+v, and it did %q", g.State(), w.did)
	}
	close(r.gate)
	eventually(t, "the component is started", func() bool { return g.Probe(t.Context()) == nil })
	if w.times("start") != 1 || g.State().PID != 42 {
		t.Errorf("it did %q, and its state is %+v", w.did, g.State())
	}

	if err := g.Stop(t.Context()); err != nil || w.times("stop") != 1 {
		t.Errorf("Stop = %v, and it did %q", err, w.did)
	}
}

// If an administrator is about to give the rights, Start waits, and the component is up when it returns.
func TestGrantedWithPatience(t *testing.T) {
	w, r := &worker{}, &rights{answers: []error{errLacks, nil}}
	g := &Granted{
		Component: w,
		Allowed:   r.allowed,
		Patience:  time.Minute,
		Log:       (&journal{}).log(),
	}
	if err := g.Start(t.Context()); err != nil || g.Probe(t.Context()) != nil || w.times("start") != 1 {
		t.Errorf("Start = %v, Probe = %v, it did %q", err, g.Probe(t.Context()), w.did)
	}
}

// If the API does not say whether the rights are there, the start fails and says why.
func TestGrantedThatIsNotTold(t *testing.T) {
	silent := errors.New("connection refused")
	w := &worker{}
	g := &Granted{
		Component: w,
		Allowed:   (&rights{answers: []error{silent}}).allowed,
		Patience:  -1,
	}

	if err := g.Start(t.Context()); !errors.Is(err, silent) || w.times("start") != 0 {
		t.Errorf("Start = %v, and it did %q", err, w.did)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	g.Patience = time.Minute
	if err := g.Start(over); !errors.Is(err, silent) || !errors.Is(err, context.Canceled) {
		t.Errorf("when nobody waits any more: %v", err)
	}
}

// If a component has its rights and does not start, Probe says why, and no longer speaks of rights.
func TestGrantedThatDoesNotStartLater(t *testing.T) {
	w := &worker{err: errors.New("no such program")}
	g := &Granted{
		Component: w,
		Allowed:   (&rights{answers: []error{errLacks, nil}}).allowed,
		Patience:  -1,
		Log:       (&journal{}).log(),
	}

	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "Probe says it", func() bool { return errors.Is(g.Probe(t.Context()), w.err) })
	if err := g.Stop(t.Context()); err != nil || w.times("stop") != 1 {
		t.Errorf("Stop = %v, and it did %q", err, w.did)
	}
}

// Stop first ends the wait for rights, and a start that is under way, then stops the component: nothing starts after
// it.
func TestGrantedStops(t *testing.T) {
	w, r := &worker{}, &rights{answers: []error{errLacks}, gate: make(chan struct{})}
	g := &Granted{
		Component: w,
		Allowed:   r.allowed,
		Patience:  -1,
		Log:       (&journal{}).log(),
	}

	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := g.Stop(t.Context()); err != nil || w.times("start") != 0 || w.times("stop") != 1 {
		t.Errorf("Stop while it waits: %v, and it did %q", err, w.did)
	}

	begun := make(chan struct{})
	w = &worker{}
	w.during = func(ctx context.Context) {
		close(begun)
		<-ctx.Done()
		w.note("start ends")
	}

	g = &Granted{
		Component: w,
		Allowed:   (&rights{answers: []error{errLacks, nil}}).allowed,
		Patience:  -1,
		Log:       (&journal{}).log(),
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}

	<-begun
	if err := g.Stop(t.Context()); err != nil || len(w.did) != 3 || w.did[1] != "start ends" || w.did[2] != "stop" {
		t.Errorf("Stop while it starts: %v, and it did %q", err, w.did)
	}
}

// Stop of a component that was never started stops what an earlier supervisor left, as every component's does.
func TestGrantedStopsWithoutStart(t *testing.T) {
	w := &worker{}
	var c component.Component = &Granted{Component: w}
	if err := c.Stop(t.Context()); err != nil || w.times("stop") != 1 {
		t.Errorf("Stop = %v, and it did %q", err, w.did)
	}
}
