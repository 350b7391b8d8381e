package podnet

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"mullion.dev/mullion/internal/spec"
)

// ranges are a host's ranges of pod addresses, one of each family. six is valid only with dual stack.
type ranges struct{ four, six netip.Prefix }

// String returns the form of the ranges in errors and files.
func (r ranges) String() string { return spec.JoinSubnets(r.four, r.six) }

// pick returns the first range of each family; without dual stack it ignores IPv6.
func pick(cidrs []netip.Prefix, dualStack bool) (ranges, error) {
	var r ranges
	for _, p := range cidrs {
		switch {
		case p.Addr().Is4() && !r.four.IsValid():
			r.four = p.Masked()
		case p.Addr().Is6() && dualStack && !r.six.IsValid():
			r.six = p.Masked()
		}
	}

	switch {
	case !r.four.IsValid() || r.four.Bits() > 29:
		return r, errors.New("not an IPv4 network of at least 8 addresses")
	case dualStack && (!r.six.IsValid() || r.six.Bits() > 125):
		return r, errors.New("no IPv6 network of at least 8 addresses beside it, which a dual-stack node needs")
	}

	return r, nil
}

// ranged holds the host's ranges of pod addresses, for those connectors whose HNS network Mullion makes.
type ranged struct {
	cfg  Config
	mu   sync.RWMutex
	held ranges // not valid until they are set
}

// Ready implements connector.
func (n *ranged) Ready() error {
	if !n.Range().IsValid() {
		return ErrNoPodCIDR
	}
	return nil
}

// Range implements connector.
func (n *ranged) Range() netip.Prefix {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.held.four
}

// set makes the HNS network for the ranges, and calls remember, which stores them for later processes.
func (n *ranged) set(ctx context.Context, cidrs []netip.Prefix, remember func(context.Context, ranges) error) error {
	r, err := pick(cidrs, n.cfg.DualStack)
	if err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", spec.JoinSubnets(cidrs...), err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()

	if err := n.ensureNetwork(ctx, r); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", r, err)
	}
	if err := remember(ctx, r); err != nil {
		return fmt.Errorf("set pod CIDR %s: %w", r, err)
	}
	n.held = r
	return nil
}
