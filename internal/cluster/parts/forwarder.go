package parts

import (
	"context"
	"log/slog"
	"net"

	"mullion.dev/mullion/internal/process/component"
)

// APIForwarder returns the unit of the Forwarder by which the machine reaches the API server.
func APIForwarder() component.ID { return component.Sole("api-forwarder") }

// Forwarder is a component that lets the machine reach a server in another network namespace: it listens in the
// machine's own and copies bytes. It does not see what is in them.
type Forwarder struct {
	Unit component.ID
	// Listen makes the listener, in the machine's namespace.
	Listen func(context.Context) (net.Listener, error)
	// Dial connects to the server.
	Dial func(context.Context) (net.Conn, error)
	Log  *slog.Logger

	relay *relay
}

// ID implements component.Component.
func (f *Forwarder) ID() component.ID { return f.Unit }

// Start listens and serves until Stop.
func (f *Forwarder) Start(ctx context.Context) error {
	l, err := f.Listen(ctx)
	if err != nil {
		return err
	}
	f.relay = startRelay(ctx, l, f.Dial, f.Log)
	return nil
}

// Stop closes the listener and every connection.
func (f *Forwarder) Stop(context.Context) error {
	if f.relay == nil {
		return nil
	}
	err := f.relay.close()
	f.relay = nil
	return err
}
