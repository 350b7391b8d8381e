package parts

import (
	"context"
	"log/slog"
	"net/netip"

	"mullion.dev/mullion/internal/base/kubeclient"
	"mullion.dev/mullion/internal/machines"
	"mullion.dev/mullion/internal/process/component"
)

// Spanning is a network that spans machines, such as an underlay.Underlay.
type Spanning interface {
	// SetMachines makes these the machines that it spans.
	SetMachines(ctx context.Context, machines []netip.Addr) error
}

// Peers is the component that tells the underlay which other machines it spans.
type Peers struct {
	Client   func() (kubeclient.Interface, error)
	Underlay Spanning
	// Seen, unless nil, is told the machines' addresses too.
	Seen func(ctx context.Context, machines []netip.Addr) error
	Log  *slog.Logger

	cancel context.CancelFunc
	ended  <-chan struct{}
}

// ID implements component.Component.
func (p *Peers) ID() component.ID { return component.Sole("machines") }

// Start returns when the underlay spans the machines of the moment.
func (p *Peers) Start(ctx context.Context) error {
	client, err := p.Client()
	if err != nil {
		return err
	}

	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel = cancel
	p.ended, err = machines.Watch(ctx, run, client, func(ctx context.Context, all []machines.Machine) {
		var at []netip.Addr
		for _, m := range all {
			at = append(at, m.Address)
		}
		if err := p.Underlay.SetMachines(ctx, at); err != nil && ctx.Err() == nil {
			p.Log.Error("span the cluster's machines", "machines", at, "error", err)
		}
		p.tell(ctx, at)
	})

	return err
}

func (p *Peers) tell(ctx context.Context, at []netip.Addr) {
	if p.Seen == nil {
		return
	}
	if err := p.Seen(ctx, at); err != nil && ctx.Err() == nil {
		p.Log.Error("protect the addresses of the cluster's machines", "machines", at, "error", err)
	}
}

// Stop ends the watch; the tunnel stays.
func (p *Peers) Stop(context.Context) error {
	if p.cancel != nil {
		p.cancel()
		if p.ended != nil {
			<-p.ended
		}
	}
	return nil
}
