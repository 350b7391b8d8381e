package parts

import (
	"context"
	"log/slog"
	"net/netip"
	"slices"
	"sync"

	"mullion.dev/mullion/internal/process/component"
)

// OwnAddresses is the component that keeps Services from taking the machines' own addresses: those of this machine's
// interfaces, and those of machines that have joined. It follows both while they come and go.
type OwnAddresses struct {
	// Interfaces are the addresses of this machine's interfaces.
	Interfaces func() ([]netip.Addr, error)
	// Watch calls look whenever they may have changed, until ctx ends.
	Watch func(ctx context.Context, look func(), told func(error))
	// Protect makes these the addresses that no Service may take.
	Protect func(ctx context.Context, all []netip.Addr) error
	Log     *slog.Logger

	cancel context.CancelFunc
	done   sync.WaitGroup

	failure string // why the last look failed, as it was logged; only the watch has it

	mu        sync.Mutex // guards what follows
	machines  []netip.Addr
	protected []netip.Addr // nil: nothing yet, or the last try failed
}

// OwnAddressesUnit returns the unit that OwnAddresses is.
func OwnAddressesUnit() component.ID { return component.Sole("own-addresses") }

// ID implements component.Component.
func (o *OwnAddresses) ID() component.ID { return OwnAddressesUnit() }

// Start protects the addresses of the moment, and then follows them.
func (o *OwnAddresses) Start(ctx context.Context) error {
	if err := o.look(ctx); err != nil {
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	o.cancel = cancel
	o.done.Go(func() {
		o.Watch(run, func() { o.follow(run) }, func(err error) {
			o.Log.Warn("the machine's addresses are looked at less often", "error", err)
		})
	})
	return nil
}

// SetMachines protects the addresses by which the cluster's machines reach one another, beside this machine's.
func (o *OwnAddresses) SetMachines(ctx context.Context, machines []netip.Addr) error {
	o.mu.Lock()
	o.machines = slices.Clone(machines)
	o.mu.Unlock()
	return o.look(ctx)
}

// look protects the addresses, if they are others than before or were not protected.
func (o *OwnAddresses) look(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	all, err := o.Interfaces()
	if err != nil {
		return err
	}

	all = slices.Concat(all, o.machines)
	slices.SortFunc(all, netip.Addr.Compare)
	all = slices.Compact(all)
	if o.protected != nil && slices.Equal(all, o.protected) {
		return nil
	}

	o.protected = nil
	if err := o.Protect(ctx, all); err != nil {
		return err
	}
	o.protected = all
	return nil
}

// follow looks again; a failure is logged once, and the next look tries again.
func (o *OwnAddresses) follow(ctx context.Context) {
	err := o.look(ctx)
	if ctx.Err() != nil {
		return
	}
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure != "" && failure != o.failure {
		o.Log.Error("protect the machine's own addresses", "error", err)
	}
	o.failure = failure
}

// Stop ends the looking; what is protected stays so.
func (o *OwnAddresses) Stop(context.Context) error {
	if o.cancel != nil {
		o.cancel()
		o.done.Wait()
	}
	return nil
}
