package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// probed is a container whose program the kubelet runs every five seconds, in a second, and that is Ready as the
// kubelet has it: after a success, until three in a row have failed.
type probed struct {
	name     string
	ready    bool
	was      bool
	failures int // in a row
	flaps    int // how often it was Ready no more
}

// crowded is a node with two places, on which a program takes so long.
type crowded struct {
	*Queue
	takes func() time.Duration

	mu  sync.Mutex
	all []*probed
}

// probe runs a container's probes until ctx ends.
func (c *crowded) probe(ctx context.Context, p *probed, first time.Duration) {
	for next := time.After(first); ; {
		select {
		case <-ctx.Done():
			return
		case <-next:
		}

		next = time.After(5 * time.Second)
		ok := c.once(ctx, p.name)
		c.mu.Lock()
		if ok {
			p.ready = true
			p.was = true
			p.failures = 0
		} else if p.failures++; p.failures == 3 && p.ready {
			p.ready = false
			p.flaps++
		}

		c.mu.Unlock()
	}
}

// once runs one probe. One that is not done in its time is ended a moment later.
func (c *crowded) once(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	place, err := c.Enter(ctx, Ask{Kind: c.KindOf(name), Container: name})
	if err != nil {
		return false
	}

	select {
	case <-time.After(c.takes()):
		place.Leave()
		c.Succeeded(name)
		return true
	case <-ctx.Done():
		c.Late(name)
		time.AfterFunc(300*time.Millisecond, place.Leave)
		return false
	}
}

// add makes so many containers with probes.
func (c *crowded) add(ctx context.Context, name string, count int, random *rand.Rand) {
	for i := range count {
		p := &probed{name: fmt.Sprint(name, i)}
		c.mu.Lock()
		c.all = append(c.all, p)
		c.mu.Unlock()
		go c.probe(ctx, p, time.Duration(random.Int64N(int64(5*time.Second))))
	}
}

// of counts the containers that are Ready now, those that ever were, and how often one was no more.
func (c *crowded) of(containers []*probed) (ready, were, flaps int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range containers {
		if p.ready {
			ready++
		}
		if p.was {
			were++
		}
		flaps += p.flaps
	}
	return ready, were, flaps
}

// TestCrowd: containers with probes come to a node that carries half of them. Those that were Ready before stay so, and
// some of the others become Ready.
func TestCrowd(t *testing.T) {
	const before, crowd = 4, 30
	lost := 0
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			random := rand.New(rand.NewPCG(seed, 0))
			c := &crowded{Queue: New(2)}
			c.takes = func() time.Duration {
				c.mu.Lock()
				defer c.mu.Unlock()
				return 300*time.Millisecond + time.Duration(random.Int64N(int64(500*time.Millisecond)))
			}
			c.add(ctx, "before", before, random)
			<-time.After(30 * time.Second)
			if ready, _, _ := c.of(c.all); ready != before {
				t.Fatalf("%d of %d are Ready", ready, before)
			}

			c.add(ctx, "crowd", crowd, random)
			<-time.After(10 * time.Minute)
			_, _, old := c.of(c.all[:before])
			ready, were, flaps := c.of(c.all[before:])
			t.Logf("seed %d: %d of %d Ready, %d were, %d times one was no more; before: %d times", seed, ready, crowd,
				were, flaps, old)
			if ready < crowd/3 {
				t.Errorf("%d of %d are Ready", ready, crowd)
			}

			lost += old
			cancel()
			<-time.After(time.Minute)
		})
	}

	if lost > 0 { // 18 times without seniors
		t.Errorf("%d times one of those that were Ready before was so no more", lost)
	}
}

// TestSeniorsDoNotWait: those that were proven first have a place though others hold all, one at a time.
func TestSeniorsDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := line{New(2), make(chan string, 20)}
		for i := range 10 {
			q.Succeeded(fmt.Sprint("c", i))
			<-time.After(time.Second)
		}

		for i := 9; i >= 0; i-- { // the last come first
			name := fmt.Sprint("c", i)
			hold := time.Second + time.Duration(i)*10*time.Millisecond
			q.enter(t.Context(), name, Ask{Kind: Proven, Container: name}, hold)
		}

		<-time.After(time.Minute)
		want := []string{"c9", "c8", "c3", "c0", "c1", "c2", "c4", "c5", "c6", "c7"}
		if got := all(q.told); !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}
