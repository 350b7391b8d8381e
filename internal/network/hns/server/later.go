package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"mullion.dev/mullion/internal/network/netplan"
)

// applyAfter is how long load balancers and peers wait for others, to go to the kernel together.
const applyAfter = 20 * time.Millisecond

// later holds load balancers and peers that the kernel does not have yet; nil for one to be removed.
type later struct {
	balancers map[string]*netplan.LoadBalancer
	peers     map[string]*netplan.Peer
}

func (l *later) empty() bool { return len(l.balancers)+len(l.peers) == 0 }

// add records the load balancers and peers of a change.
func (l *later) add(c netplan.Change) {
	note(&l.balancers, c.Set.LoadBalancers, c.Removed.LoadBalancers,
		func(x *netplan.LoadBalancer) string { return x.ID })
	note(&l.peers, c.Set.Peers, c.Removed.Peers, func(x *netplan.Peer) string { return x.ID })
}

func note[T any](to *map[string]*T, set []T, removed []string, id func(*T) string) {
	if *to == nil {
		*to = map[string]*T{}
	}
	for _, x := range removed {
		(*to)[x] = nil
	}
	for i := range set {
		(*to)[id(&set[i])] = &set[i]
	}
}

// take returns all that was recorded, as one change, and leaves nothing.
func (l *later) take() netplan.Change {
	var c netplan.Change
	c.Set.LoadBalancers, c.Removed.LoadBalancers = split(l.balancers)
	c.Set.Peers, c.Removed.Peers = split(l.peers)
	*l = later{}
	return c
}

func split[T any](noted map[string]*T) (set []T, removed []string) {
	for _, id := range slices.Sorted(maps.Keys(noted)) {
		if x := noted[id]; x != nil {
			set = append(set, *x)
		} else {
			removed = append(removed, id)
		}
	}
	return set, removed
}

// urgent returns the part of a change that concerns more than load balancers and peers.
func urgent(c netplan.Change) netplan.Change { return c.Without(netplan.LoadBalancers, netplan.Peers) }

func isUrgent(c netplan.Change) bool {
	now := urgent(c)
	return !now.Empty()
}

// applySoon carries out a change a moment later, together with those that follow by then. It requires s.mu.
func (s *Service) applySoon(ctx context.Context, change netplan.Change) {
	waiting := !s.later.empty()
	s.later.add(change)
	if waiting || s.later.empty() {
		return
	}
	ctx = context.WithoutCancel(ctx) // the call that asked is over by then
	time.AfterFunc(applyAfter, func() { s.Flush(ctx) })
}

// Flush carries out at once the changes that wait, and returns when the kernel has these and any that were under way
// before. It logs an error; Repair tries again.
func (s *Service) Flush(ctx context.Context) {
	s.mu.Lock()
	s.kernel.Lock()
	if s.behind || s.later.empty() {
		s.kernel.Unlock()
		s.mu.Unlock()
		return
	}

	change := s.later.take()
	s.mu.Unlock() // calls go on meanwhile
	err := s.cfg.DataPlane.ApplyChange(ctx, change)
	s.kernel.Unlock()
	if err != nil {
		s.mu.Lock()
		s.behind = true
		s.mu.Unlock()
		s.cfg.Log.Error("apply load balancers and peers", "error", err)
	}
}

// flush does what Flush does. It requires s.mu.
func (s *Service) flush(ctx context.Context) {
	if s.later.empty() {
		return
	}
	s.kernel.Lock()
	defer s.kernel.Unlock()
	if err := s.cfg.DataPlane.ApplyChange(ctx, s.later.take()); err != nil {
		s.behind = true
		s.cfg.Log.Error("apply load balancers and peers", "error", err)
	}
}
