package server

import (
	"context"
	"maps"
	"slices"
	"time"

	"mullion.dev/mullion/internal/network/netplan"
)

const (
	// applyAfter is how long load balancers and peers wait for others, to go to the kernel together.
	applyAfter = 20 * time.Millisecond
	// removeAfter is how long a load balancer that was removed waits for one that is made, to go together with it.
	// Where HNS cannot modify load balancers, kube-proxy.exe removes one and then makes the next
	// (deleteExistingLoadBalancer in pkg/proxy/winkernel/proxier.go of Kubernetes 1.37). Between its two calls, which a
	// busy machine drives apart, connections to the address would find none.
	removeAfter = time.Second
)

// later holds load balancers and peers that the kernel does not have yet; nil for one to be removed.
type later struct {
	balancers map[string]*netplan.LoadBalancer
	peers     map[string]*netplan.Peer
	// lone are the load balancers that were removed after the last one was made, and when.
	lone map[string]time.Time
}

func (l *later) empty() bool { return len(l.balancers)+len(l.peers) == 0 }

// add records the load balancers and peers of a change.
func (l *later) add(c netplan.Change) {
	if len(c.Set.LoadBalancers) > 0 {
		clear(l.lone)
	}
	note(&l.balancers, c.Set.LoadBalancers, c.Removed.LoadBalancers,
		func(x *netplan.LoadBalancer) string { return x.ID })
	note(&l.peers, c.Set.Peers, c.Removed.Peers, func(x *netplan.Peer) string { return x.ID })
}

// leave makes the load balancers that a recorded change removes wait for one that is made.
func (l *later) leave(c netplan.Change) {
	if l.lone == nil {
		l.lone = map[string]time.Time{}
	}
	for _, id := range c.Removed.LoadBalancers {
		l.lone[id] = time.Now()
	}
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

// takeDue does what take does, and leaves what waits for a load balancer that is made.
func (l *later) takeDue() netplan.Change {
	rest := later{balancers: map[string]*netplan.LoadBalancer{}, lone: map[string]time.Time{}}
	for id, since := range l.lone {
		if time.Since(since) < removeAfter {
			rest.balancers[id], rest.lone[id] = nil, since
			delete(l.balancers, id)
		}
	}

	c := l.take()
	*l = rest
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
	if len(change.Set.LoadBalancers) == 0 {
		s.later.leave(change)
	}
	if !waiting {
		s.applyDue(ctx)
	}
}

// applyDue carries out what is due a moment later, and again until nothing waits. It requires s.mu.
func (s *Service) applyDue(ctx context.Context) {
	if s.later.empty() {
		return
	}
	ctx = context.WithoutCancel(ctx) // the call that asked is over by then
	time.AfterFunc(applyAfter, func() { s.apply(ctx, (*later).takeDue) })
}

// Flush carries out at once the changes that wait, and returns when the kernel has these and any that were under way
// before. It logs an error; Repair tries again.
func (s *Service) Flush(ctx context.Context) { s.apply(ctx, (*later).take) }

// apply carries out what take takes of the changes that wait. The rest is carried out when it is due.
func (s *Service) apply(ctx context.Context, take func(*later) netplan.Change) {
	s.mu.Lock()
	s.kernel.Lock()
	if s.behind || s.later.empty() {
		s.kernel.Unlock()
		s.mu.Unlock()
		return
	}

	change := take(&s.later)
	s.applyDue(ctx)
	s.mu.Unlock() // calls go on meanwhile

	var err error
	if !change.Empty() {
		err = s.cfg.DataPlane.ApplyChange(ctx, change)
	}
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
