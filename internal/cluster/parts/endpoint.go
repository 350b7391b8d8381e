package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"syscall"

	"mullion.dev/mullion/internal/network/tcpbalancer"
	"mullion.dev/mullion/internal/process/component"
)

// EndpointUnit returns the unit that Endpoint is.
func EndpointUnit() component.ID { return component.Sole("control-plane-endpoint") }

// Endpoint is the component of the address behind which control planes on bare Linux hosts are.
type Endpoint struct {
	Address  string // host:port
	Balancer *tcpbalancer.Balancer
	// Listen listens at Address.
	Listen func() (net.Listener, error)
	Log    *slog.Logger

	cancel context.CancelFunc
	done   chan struct{}
}

// ID implements component.Component.
func (e *Endpoint) ID() component.ID { return EndpointUnit() }

// Start listens and serves until Stop.
func (e *Endpoint) Start(ctx context.Context) error {
	l, err := e.Listen()
	if err != nil {
		return fmt.Errorf("listen on %s for the control planes of bare hosts: %w", e.Address, err)
	}
	ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.done = make(chan struct{})
	go func() {
		defer close(e.done)
		if err := e.Balancer.Serve(ctx, l); err != nil {
			e.Log.Error("the address of the control planes of bare hosts", "error", err)
		}
	}()
	return nil
}

// Stop closes the listener and every connection.
func (e *Endpoint) Stop(context.Context) error {
	if e.cancel == nil {
		return nil
	}
	e.cancel()
	<-e.done
	e.cancel = nil
	return nil
}

// Describe implements component.Describer: it says which hosts answer.
func (e *Endpoint) Describe() string {
	var up, down []string
	for _, s := range e.Balancer.States() {
		switch {
		case s.Up:
			up = append(up, fmt.Sprintf("%s (%d)", s.Name, s.Connections))
		case errors.Is(s.Err, syscall.ECONNREFUSED):
			down = append(down, s.Name+": no API server")
		case s.Err != nil:
			down = append(down, fmt.Sprintf("%s: %v", s.Name, s.Err))
		}
	}
	if len(up) == 0 {
		return e.Address + ": no control plane of kubeadm's answers"
	}

	text := fmt.Sprintf("%s leads to %s", e.Address, strings.Join(up, ", "))
	if len(down) > 0 {
		text += "; not to " + strings.Join(down, "; ")
	}
	return text
}
