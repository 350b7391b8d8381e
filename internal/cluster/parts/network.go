// Package parts has the components of a cluster that have no package of their own: one a file, each with what it needs
// in its fields. It knows neither the plan nor the order of the units.
package parts

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"syscall"

	"mullion.dev/mullion/internal/network/underlay"
	"mullion.dev/mullion/internal/process/proc"
)

// FabricUnit is the name of the unit that Fabric is.
const FabricUnit = "fabric"

// Fabric is the component of the network that control plane and nodes stand on. Its namespaces outlive a supervisor, so
// that pods keep running; taking the cluster down removes them.
type Fabric struct{ Underlay *underlay.Underlay }

// Name is the component's name.
func (f *Fabric) Name() string { return FabricUnit }

// Start makes or mends the network.
func (f *Fabric) Start(ctx context.Context) error { return f.Underlay.Up(ctx) }

// Stop leaves the network in place.
func (f *Fabric) Stop(context.Context) error { return nil }

// HostNetwork is the component of a host's place on the underlay. It outlives a supervisor.
type HostNetwork struct {
	Underlay *underlay.Underlay
	Host     string
	Address  netip.Addr
	Server   string // the API server's host:port
}

// Name is the component's name.
func (h *HostNetwork) Name() string { return "network/" + h.Host }

// Start makes or mends the host's namespace and link.
func (h *HostNetwork) Start(ctx context.Context) error {
	return h.Underlay.AddHost(ctx, h.Host, h.Address)
}

// Probe implements component.Prober: it sends a packet from the host to the API server and waits for an answer. A
// refused connection is an answer too.
func (h *HostNetwork) Probe(ctx context.Context) error {
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
