// Package parts has the components of a cluster that have no package of their own: one a file, each with what it needs
// in its fields. It knows neither the plan nor the order of the units.
package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// FabricUnit returns the unit that Fabric is.
func FabricUnit() component.ID { return component.Sole("fabric") }

// Network is what a Fabric keeps; an underlay.Underlay is one.
type Network interface {
	// Up makes the network, or repairs it.
	Up(ctx context.Context) error
	// Watch calls look whenever something may have changed, until ctx ends.
	Watch(ctx context.Context, look func(), told func(error))
	// Faults says what is missing, and Mend makes it again and says what it was.
	Faults(ctx context.Context) ([]string, error)
	Mend(ctx context.Context) ([]string, error)
	// Note says what is to be known of it while nothing is missing, "" if there is nothing.
	Note() string
}

// Fabric is the component of the network that control plane and nodes stand on. While it is up, it makes again what
// others take away from it: a firewall that restarts, for example. Its namespaces outlive a supervisor, so that pods
// keep running; taking the cluster down removes them.
type Fabric struct {
	Network Network
	Log     *slog.Logger
	// Mended, unless nil, is told what was mended, too. It may take its time.
	Mended func(ctx context.Context, what []string) error

	cancel context.CancelFunc
	done   sync.WaitGroup

	mending sync.Mutex // held by Mend
	mu      sync.Mutex // guards what follows
	repairs int
	last    time.Time
	what    string
	failure string // why the last look did not mend, as it was logged
}

// ID implements component.Component.
func (f *Fabric) ID() component.ID { return FabricUnit() }

// Start makes or mends the network, and keeps it.
func (f *Fabric) Start(ctx context.Context) error {
	if err := f.Network.Up(ctx); err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.cancel = cancel
	f.done.Go(func() {
		f.Network.Watch(run, func() { _, _ = f.Mend(run) }, func(err error) {
			f.Log.Warn("the machine's network is looked at less often", "error", err)
		})
	})
	return nil
}

// Mend looks at the network now, makes again what is missing, and returns what that was. It logs that itself.
func (f *Fabric) Mend(ctx context.Context) ([]string, error) {
	f.mending.Lock()
	defer f.mending.Unlock()
	what, err := f.Network.Mend(ctx)
	if ctx.Err() != nil {
		return what, err
	}

	f.note(what, err)
	if len(what) > 0 && f.Mended != nil {
		f.done.Go(func() {
			tell, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellPatience)
			defer cancel()
			if err := f.Mended(tell, what); err != nil {
				f.Log.Warn("tell the cluster what was mended", "error", err)
			}
		})
	}

	return what, err
}

// tellPatience bounds what is told of a network that was mended: the API server may be away.
const tellPatience = 10 * time.Second

func (f *Fabric) note(what []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(what) > 0 {
		f.repairs++
		f.last, f.what = time.Now(), strings.Join(what, "; ")
		f.Log.Warn("mended the machine's network, which somebody had changed", "what", what, "repairs", f.repairs)
	}

	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != f.failure {
		f.Log.Error("look at the machine's network", "error", err)
	}
	f.failure = failure
}

// Repairs counts how often something was mended.
func (f *Fabric) Repairs() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.repairs
}

// Describe says what was mended last, and what is to be known of the network.
func (f *Fabric) Describe() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var said []string
	if f.repairs > 0 {
		said = append(said, fmt.Sprintf("mended at %s: %s", f.last.Format(time.TimeOnly), f.what))
	}
	if note := f.Network.Note(); note != "" {
		said = append(said, note)
	}
	return strings.Join(said, "; ")
}

// Probe implements component.Prober: it says what is missing now, or cannot be mended.
func (f *Fabric) Probe(ctx context.Context) error {
	f.mu.Lock()
	failure := f.failure
	f.mu.Unlock()
	missing, err := f.Network.Faults(ctx)
	switch {
	case err != nil:
		return err
	case len(missing) > 0 && failure != "":
		return errors.New(failure)
	case len(missing) > 0:
		return errors.New(strings.Join(missing, "; ") + "; it is being mended")
	}
	return nil
}

// Stop ends the looking, and leaves the network in place.
func (f *Fabric) Stop(context.Context) error {
	if f.cancel != nil {
		f.cancel()
		f.done.Wait()
	}
	return nil
}

// HostNetwork is the component of a host's place on the underlay. It outlives a supervisor.
type HostNetwork struct {
	Underlay *underlay.Underlay
	Host     string
	Address  netip.Addr
	Server   string // the API server's host:port; "": there is none
}

// ID implements component.Component.
func (h *HostNetwork) ID() component.ID { return component.OfNode("network", h.Host) }

// Start makes or mends the host's namespace and link.
func (h *HostNetwork) Start(ctx context.Context) error {
	return h.Underlay.AddHost(ctx, h.Host, h.Address)
}

// Probe implements component.Prober: it sends a packet from the host to the API server and waits for an answer. A
// refused connection is an answer too.
func (h *HostNetwork) Probe(ctx context.Context) error {
	if h.Server == "" {
		return nil
	}
	conn, err := proc.DialIn(h.Underlay.HostNetns(h.Host))(ctx, "tcp", h.Server)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the node does not reach the API server: %w", err)
	}
	return conn.Close()
}

// Stop leaves the network in place.
func (h *HostNetwork) Stop(context.Context) error { return nil }
