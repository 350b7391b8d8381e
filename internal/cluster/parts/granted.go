package parts

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"mullion.dev/mullion/internal/machines/kubeadm"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// GrantTimeout is how long the start of a component waits for rights that an administrator is about to give.
const GrantTimeout = time.Minute

const (
	grantPause     = 300 * time.Millisecond
	latePause      = 5 * time.Second
	lateStartLimit = 3 * time.Minute
)

// Granted is a component that needs rights which an administrator may still have to give. If they are missing, Start
// returns all the same, and the component is started as soon as they are there; until then Probe says what is missing.
type Granted struct {
	component.Component
	// Allowed returns a kubeadm.RightsError while rights are missing.
	Allowed func(context.Context) error
	// Patience is how long Start waits for the rights.
	Patience time.Duration
	Log      *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	lacks  error // nil once the component was started
}

// Start implements component.Component.
func (g *Granted) Start(ctx context.Context) error {
	err := g.wait(ctx, g.Patience)
	if err == nil {
		return g.Component.Start(ctx)
	}
	if _, lacks := errors.AsType[*kubeadm.RightsError](err); !lacks {
		return err
	}
	g.set(err)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	g.cancel = cancel
	g.done.Go(func() { g.later(run) })
	return nil
}

// wait asks until the rights are there or patience is over.
func (g *Granted) wait(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		err := g.Allowed(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(grantPause):
		}
	}
}

// later starts the component as soon as the rights are there, and tries again if it does not start.
func (g *Granted) later(ctx context.Context) {
	for {
		err := g.Allowed(ctx)
		if err == nil {
			start, cancel := context.WithTimeout(ctx, lateStartLimit)
			err = g.Component.Start(start)
			cancel()
		}
		if g.set(err); err == nil {
			return
		}

		g.Log.Debug("wait for rights", "unit", g.ID(), "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(latePause):
		}
	}
}

func (g *Granted) set(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lacks = err
}

func (g *Granted) missing() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lacks
}

// Probe implements component.Prober.
func (g *Granted) Probe(ctx context.Context) error {
	if err := g.missing(); err != nil {
		return err
	}
	if p, ok := g.Component.(component.Prober); ok {
		return p.Probe(ctx)
	}
	return nil
}

// State returns the state of the component's process, for the supervisor; while the rights are missing, it is Running.
func (g *Granted) State() proc.State {
	if p, ok := g.Component.(interface{ State() proc.State }); ok && g.missing() == nil {
		return p.State()
	}
	return proc.State{Phase: proc.Running}
}

// Stop implements component.Component.
func (g *Granted) Stop(ctx context.Context) error {
	if g.cancel != nil {
		g.cancel()
		g.done.Wait()
	}
	return g.Component.Stop(ctx)
}
