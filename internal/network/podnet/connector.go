package podnet

import (
	"context"
	"net/netip"

	"mullion.dev/mullion/internal/spec"
)

// connector is one way to connect pods. A pod has its HNS namespace before Add, and still has it while Del runs, unless
// it is lost. Calls may come from several goroutines.
type connector interface {
	// Ready returns nil when pods can be connected, else why not.
	Ready() error
	// SetRange gives the host its ranges of pod addresses. Setting the same ranges again repairs what is missing.
	SetRange(ctx context.Context, cidrs ...netip.Prefix) error
	// Range is the host's IPv4 range; the zero Prefix if there is none yet, or if others manage the ranges.
	Range() netip.Prefix
	// Add puts the pod's namespace on the network and returns the pod's addresses. If Add fails, Del removes what it
	// has left.
	Add(ctx context.Context, namespace string, pod Pod) ([]netip.Addr, error)
	// Del undoes Add, also one that failed halfway. there says that HNS has the pod's namespace. An unknown pod is no
	// error.
	Del(ctx context.Context, namespace string, pod Pod, there bool) error
}

// choose returns the connector for a configuration.
func choose(cfg Config) (connector, error) {
	switch {
	case cfg.Installed:
		return newInstalled(cfg), nil
	case cfg.DualStack, cfg.Mode == spec.ModeNAT, cfg.Mode == spec.ModeTransparent:
		return newDirect(cfg)
	}
	return newOwnPlugin(cfg)
}
