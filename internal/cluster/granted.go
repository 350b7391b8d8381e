package cluster

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

// How long a component waits for rights before it goes on without, where they are on their way, and how often they are
// asked for.
const (
	grantTimeout   = time.Minute
	grantPause     = 300 * time.Millisecond
	latePause      = 5 * time.Second
	lateStartLimit = 3 * time.Minute
)

// granted is a component that needs rights which an administrator may still have to give. Start returns without them,
// and what it would have started is started when they are there; until then Probe says what is missing.
type granted struct {
	component.Component
	allowed  func(context.Context) error
	patience time.Duration
	log      *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	lacks  error // nil once the component was started
}

// Start implements component.Component.
func (g *granted) Start(ctx context.Context) error {
	err := g.wait(ctx, g.patience)
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
func (g *granted) wait(ctx context.Context, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		err := g.allowed(ctx)
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

// later starts the component when it can be.
func (g *granted) later(ctx context.Context) {
	for {
		err := g.allowed(ctx)
		if err == nil {
			start, cancel := context.WithTimeout(ctx, lateStartLimit)
			err = g.Component.Start(start)
			cancel()
		}
		if g.set(err); err == nil {
			return
		}
		g.log.Debug("wait for rights", "unit", g.Name(), "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(latePause):
		}
	}
}

func (g *granted) set(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.lacks = err
}

func (g *granted) missing() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lacks
}

// Probe implements component.Prober.
func (g *granted) Probe(ctx context.Context) error {
	if err := g.missing(); err != nil {
		return err
	}
	if p, ok := g.Component.(component.Prober); ok {
		return p.Probe(ctx)
	}
	return nil
}

// State is that of the process, as the supervisor asks for it.
func (g *granted) State() proc.State {
	if p, ok := g.Component.(interface{ State() proc.State }); ok && g.missing() == nil {
		return p.State()
	}
	return proc.State{Phase: proc.Running}
}

// Stop implements component.Component.
func (g *granted) Stop(ctx context.Context) error {
	if g.cancel != nil {
		g.cancel()
		g.done.Wait()
	}
	return g.Component.Stop(ctx)
}
