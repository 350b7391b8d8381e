package parts

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"mullion.dev/mullion/internal/process/component"
)

// lookEvery is how often WayOut looks whether the machine has got IPv6 routes. A machine gets them seconds after it was
// started, or when it comes to another network.
const lookEvery = 10 * time.Second

// Router is a network whose hosts may get a way out by IPv6, such as an underlay.Underlay.
type Router interface {
	// FollowRoutes6 makes the way out, if the machine has IPv6 routes, and reports whether there is one.
	FollowRoutes6(ctx context.Context) (bool, error)
}

// WayOut is the component that gives a dual-stack cluster its way out by IPv6 as soon as the machine has one.
type WayOut struct {
	Router Router
	Log    *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// ID implements component.Component.
func (w *WayOut) ID() component.ID { return component.Sole("ipv6-way-out") }

// Start looks once, and then again and again.
func (w *WayOut) Start(ctx context.Context) error {
	out, err := w.Router.FollowRoutes6(ctx)
	if err != nil {
		return err
	}
	if !out {
		w.Log.Info("pods reach nothing beyond the cluster by IPv6: this machine has no IPv6 routes")
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	w.done.Go(func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()

		for {
			select {
			case <-run.Done():
				return
			case <-tick.C:
			}

			now, err := w.Router.FollowRoutes6(run)
			switch {
			case err != nil && run.Err() == nil:
				w.Log.Error("follow the machine's IPv6 routes", "error", err)
			case err == nil && now != out:
				w.Log.Info("the way out by IPv6 has changed", "open", now)
				out = now
			}
		}
	})

	return nil
}

// Stop ends the looking; the way out stays.
func (w *WayOut) Stop(context.Context) error {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
	return nil
}
