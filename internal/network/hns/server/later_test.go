package server

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"

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
