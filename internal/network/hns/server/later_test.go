package server

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/network/netplan"
)

// slow is a data plane that waits in each change until the test lets it go on.
type slow struct {
	nothing
	begun, let chan struct{}
	done       atomic.Int32
}

func (s *slow) ApplyChange(_ context.Context, c netplan.Change) error {
	if len(c.Set.LoadBalancers) > 0 {
		close(s.begun)
		<-s.let
		s.done.Add(int32(len(c.Set.LoadBalancers)))
	}
	return nil
}

// Flush waits for a change that another goroutine has begun to carry out.
func TestFlushWaits(t *testing.T) {
	s, _ := open(t, filepath.Join(t.TempDir(), "state.json"))
	plane := &slow{begun: make(chan struct{}), let: make(chan struct{})}
	s.cfg.DataPlane = plane
	ep := call(t, s, "HcnCreateEndpoint", call(t, s, "HcnCreateNetwork", "", l2bridge).Object, remote(1)).Object
	call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 1000))
	<-plane.begun // the timer has begun to carry it out
	flushed := make(chan int32)
	go func() {
		s.Flush(t.Context())
		flushed <- plane.done.Load()
	}()

	close(plane.let)
	if n := <-flushed; n != 1 {
		t.Errorf("Flush returned when the kernel had %d load balancers of 1", n)
	}
}

// changes is a data plane that notes the changes that it gets.
type changes struct {
	nothing
	got chan netplan.Change
}

func (c *changes) ApplyChange(_ context.Context, change netplan.Change) error {
	c.got <- change
	return nil
}

// TestBalancerGoesWithTheNext: between the removal of a load balancer and the making of the next, which are two calls,
// the kernel has the former, also if a pod is made meanwhile; and one that has no successor goes after a while.
func TestBalancerGoesWithTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // the seconds of a busy machine are no part of it
		s, _ := open(t, filepath.Join(t.TempDir(), "state.json"))
		plane := &changes{got: make(chan netplan.Change, 20)}
		ep := call(t, s, "HcnCreateEndpoint", call(t, s, "HcnCreateNetwork", "", l2bridge).Object, remote(1)).Object
		s.cfg.DataPlane = plane
		next := func(wantSet, wantRemoved int) {
			t.Helper()
			c := <-plane.got
			if len(c.Set.LoadBalancers) != wantSet || len(c.Removed.LoadBalancers) != wantRemoved {
				t.Errorf("a change sets %d load balancers and removes %d, want %d and %d", len(c.Set.LoadBalancers),
					len(c.Removed.LoadBalancers), wantSet, wantRemoved)
			}
		}

		first := call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 1000)).Object
		next(1, 0)
		call(t, s, "HcnDeleteLoadBalancer", first)
		<-time.After(10 * applyAfter)
		call(t, s, "HcnCreateNamespace", "", `{"SchemaVersion":{"Major":2,"Minor":0}}`)
		next(0, 0)
		second := call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 1000)).Object
		next(1, 1)

		removed := time.Now()
		call(t, s, "HcnDeleteLoadBalancer", second)
		next(0, 1)
		if took := time.Since(removed); took < removeAfter {
			t.Errorf("a load balancer without a successor goes after %s", took)
		}

		third := call(t, s, "HcnCreateLoadBalancer", "", balancer(ep, 1000)).Object
		next(1, 0)
		call(t, s, "HcnDeleteLoadBalancer", third)
		s.Flush(t.Context()) // at once
		if took := time.Since(removed); len(plane.got) != 1 {
			t.Errorf("Flush has left a removal, after %s", took)
		}
	})
}
