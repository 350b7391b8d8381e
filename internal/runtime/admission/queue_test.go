package admission

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// line is a queue, and who had its turn.
type line struct {
	*Queue
	told chan string
}

// enter asks for a place in the background, and tells its name when it has one; who has one holds it for a while.
func (l line) enter(ctx context.Context, name string, a Ask, hold time.Duration) {
	go func() {
		p, err := l.Enter(ctx, a)
		if err != nil {
			l.told <- "not " + name
			return
		}
		l.told <- name
		<-time.After(hold)
		p.Leave()
	}()
	synctest.Wait()
}

// all reads what was told.
func all(told chan string) []string {
	synctest.Wait()
	close(told)
	var names []string
	for n := range told {
		names = append(names, n)
	}
	return names
}

// TestOrder: a person goes first, then probes of containers that were proven, the longest first, then other programs,
// then starts.
func TestOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	synctest.Test(t, func(t *testing.T) {
		q := line{New(2), make(chan string, 20)}
		q.Succeeded("old")
		<-time.After(time.Second)
		q.Succeeded("young")
		q.enter(t.Context(), "running 1", Ask{Kind: Probe}, time.Second)
		q.enter(t.Context(), "running 2", Ask{Kind: Proven, Container: "young"}, 1500*time.Millisecond)
		q.enter(t.Context(), "person 1", Ask{Kind: Person}, 3*time.Second) // has a place of its own
		for _, w := range []struct {
			name string
			ask  Ask
		}{
			{"start", Ask{Kind: Start}},
			{"probe", Ask{Kind: Probe, Container: "new"}},
			{"young", Ask{Kind: Proven, Container: "young"}},
			{"old", Ask{Kind: Proven, Container: "old"}},
			{"person 2", Ask{Kind: Person}},
		} {
			q.enter(t.Context(), w.name, w.ask, time.Second)
		}

		<-time.After(time.Minute)
		got := all(q.told)
		want := []string{"running 1", "running 2", "person 1", "person 2", "old", "young", "probe", "start"}
		if !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

// TestNobodyStarves: starts and first probes have their turns though proven containers ask without end.
func TestNobodyStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		ctx, cancel := context.WithCancel(t.Context())
		for i := range 10 {
			name := fmt.Sprint("c", i)
			q.Succeeded(name)
			go func() {
				for ctx.Err() == nil {
					p, err := q.Enter(ctx, Ask{Kind: Proven, Container: name})
					if err != nil {
						return
					}
					<-time.After(100 * time.Millisecond)
					p.Leave()
				}
			}()
		}

		for _, kind := range []Kind{Start, Probe} {
			begin := time.Now()
			p, err := q.Enter(t.Context(), Ask{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			p.Leave()
			if waited := time.Since(begin); waited > time.Second {
				t.Errorf("a %s waited %s", kind, waited)
			}
		}

		cancel()
		<-time.After(time.Second)
	})
}

// TestStartsLeaveOne: however many pods start, a probe has a place.
func TestStartsLeaveOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := line{New(3), make(chan string, 20)}
		for i := range 5 {
			q.enter(t.Context(), fmt.Sprint("start ", i), Ask{Kind: Start}, 2*time.Second)
		}

		q.enter(t.Context(), "probe", Ask{Kind: Probe}, time.Second)
		if l := q.Load(); l.Starting["start"] != 2 || l.Waiting["start"] != 3 || l.Starting["probe"] != 1 {
			t.Errorf("%+v", l)
		}
		<-time.After(time.Minute)
		if got := all(q.told); len(got) != 6 || got[2] != "probe" {
			t.Errorf("order %q", got)
		}
	})
}

// TestNewcomersLeaveOne: where a container is proven, its probe has a place though newcomers ask for all. Without one,
// they may have all.
func TestNewcomersLeaveOne(t *testing.T) {
	for _, proven := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			q := line{New(3), make(chan string, 20)}
			want := 3
			if proven {
				q.Succeeded("old")
				want = 2
			}
			for i := range 5 {
				q.enter(t.Context(), "newcomer", Ask{Kind: Probe, Container: fmt.Sprint("new", i)}, 3*time.Second)
			}

			if l := q.Load(); l.Starting["probe"] != want {
				t.Errorf("proven %t: %d newcomers at once, want %d", proven, l.Starting["probe"], want)
			}

			if proven {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				p, err := q.Enter(ctx, Ask{Kind: Proven, Container: "old"})
				if err != nil {
					t.Error(err)
				} else {
					p.Leave()
				}
			}

			<-time.After(time.Minute)
		})
	}
}

// TestPlaceComesBack: who never gives its place back holds it for a while only, and giving back twice is once.
func TestPlaceComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		var places []*Place
		for range 2 {
			p, err := q.Enter(t.Context(), Ask{Kind: Probe})
			if err != nil {
				t.Fatal(err)
			}
			places = append(places, p)
		}

		begin := time.Now()
		p, err := q.Enter(t.Context(), Ask{Kind: Probe})
		if err != nil || time.Since(begin) != HoldMost {
			t.Errorf("a place after %s, want %s (%v)", time.Since(begin), HoldMost, err)
		}
		for _, p := range append(places, p, p) {
			p.Leave()
		}

		if l := q.Load(); l.Starting["probe"] != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// TestNotStarted: what was not its turn in time is said with figures, and is out of the queue.
func TestNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := line{New(2), make(chan string, 20)}
		for range 2 {
			q.enter(t.Context(), "running", Ask{Kind: Start}, 3*time.Second)
			q.enter(t.Context(), "running", Ask{Kind: Probe}, 3*time.Second)
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		pod := Pod{
			Namespace: "default",
			Name:      "web",
			UID:       "1",
		}

		p, err := q.Enter(ctx, Ask{
			Kind:      Probe,
			Pod:       pod,
			Container: "c",
		})

		var late *NotStartedError
		if p != nil || !errors.As(err, &late) || !errors.Is(err, context.DeadlineExceeded) ||
			late.Waited != time.Second || late.Places != 2 {
			t.Fatalf("%v, %+v", err, late)
		}

		l := q.Load()
		if len(l.Pods) != 1 || l.Pods[0].Pod != pod || l.Pods[0].NotStarted != 1 || l.NotStarted != 1 ||
			l.Longest != time.Second || l.Waiting["probe"] != 1 {
			t.Errorf("%+v", l)
		}
		if _, err := q.Enter(ctx, Ask{Kind: Person}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a place for one whose time is over: %v", err)
		}

		<-time.After(2 * window)
		if l := q.Load(); len(l.Pods) != 0 {
			t.Errorf("after a while it is told still: %+v", l.Pods)
		}
	})
}

// TestDeadWait: who cannot be done in time any more does not take the place of one that can.
func TestDeadWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := line{New(2), make(chan string, 20)}
		for range 30 { // learns that a program takes a second
			p, err := q.Enter(t.Context(), Ask{Kind: Probe})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(time.Second)
			p.Leave()
		}

		for _, name := range []string{"running 1", "running 2"} {
			q.enter(t.Context(), name, Ask{Kind: Probe}, time.Second)
		}

		first, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		q.enter(first, "hopeless", Ask{Kind: Probe}, time.Second)
		second, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		for _, name := range []string{"hopeful 1", "hopeful 2"} {
			q.enter(second, name, Ask{Kind: Probe}, time.Second)
		}

		<-time.After(time.Minute)
		got := all(q.told)
		if want := []string{"running 1", "running 2", "hopeful 1", "hopeful 2", "not hopeless"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

// TestChance: where nobody has as much time as others needed, one is tried all the same: the machine may be quiet now.
func TestChance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		q.typical = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := q.Enter(ctx, Ask{Kind: Probe}); err != nil {
			t.Error(err)
		}
	})
}

// TestProof: a container is proven by a success, and no longer when its probe is late again and again.
func TestProof(t *testing.T) {
	q := New(2)
	is := func(want Kind) {
		t.Helper()
		if got := q.KindOf("c"); got != want {
			t.Errorf("a %s, want a %s", got, want)
		}
	}

	is(Probe)
	q.Succeeded("c")
	is(Proven)

	q.Late("c")
	q.Late("c")
	q.Succeeded("c")
	q.Late("c")
	q.Late("c")
	is(Proven)
	q.Late("c")
	is(Probe)

	q.Succeeded("c")
	q.Forget("c")
	is(Probe)

	q.Ended(3)
	if l := q.Load(); l.Late != 5 || l.Orphans != 3 {
		t.Errorf("%+v", l)
	}
}

func TestPlaces(t *testing.T) {
	for _, tt := range []struct{ processors, nodes, want int }{
		{1, 1, 2}, {2, 1, 3}, {2, 2, 2}, {2, 0, 3}, {16, 2, 12}, {64, 1, 96},
	} {
		if got := Places(tt.processors, tt.nodes); got != tt.want {
			t.Errorf("Places(%d, %d) = %d, want %d", tt.processors, tt.nodes, got, tt.want)
		}
	}
}
