package admission

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// jam is a pod that keeps programs of its own from starting: containers in which the kubelet runs one each second, with
// a minute's time. They succeed until the pod jams, and none starts after that.
func (c *crowded) jam(ctx context.Context, containers int, from time.Time) {
	for i := range containers {
		name := fmt.Sprint("jammed", i)
		go func() {
			for ctx.Err() == nil {
				c.jammed(ctx, name, time.Now().After(from))
				<-time.After(time.Second)
			}
		}()
	}
}

func (c *crowded) jammed(ctx context.Context, name string, jams bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	place, err := c.Enter(ctx, Ask{
		Kind:      c.KindOf(name),
		Pod:       Pod{Name: "jammed"},
		Container: name,
	})
	if err != nil {
		return
	}

	if jams {
		<-ctx.Done() // it never starts
		c.Late(name)
		<-place.Left()
		return
	}
	<-time.After(c.takes())
	place.Leave()
	c.Succeeded(name)
}

// TestJammedPod: a pod whose programs never start, as one whose own Wine server stands still, takes no other's turn.
// The pods that were Ready stay so, a new one becomes so, and a start of a pod does not wait long.
func TestJammedPod(t *testing.T) {
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			random := rand.New(rand.NewPCG(seed, 0))
			c := &crowded{Queue: New(2)}
			c.takes = func() time.Duration {
				c.mu.Lock()
				defer c.mu.Unlock()
				return 50*time.Millisecond + time.Duration(random.Int64N(int64(100*time.Millisecond)))
			}
			c.jam(ctx, 10, time.Now().Add(time.Minute)) // it was first
			<-time.After(10 * time.Second)
			c.add(ctx, "before", 4, random)
			<-time.After(time.Minute)
			c.add(ctx, "after", 4, random)

			longest := time.Duration(0)
			for range 20 {
				begin := time.Now()
				place, err := c.Enter(ctx, Ask{Kind: Start, Pod: Pod{Name: "new"}})
				if err != nil {
					t.Fatal(err)
				}
				longest = max(longest, time.Since(begin))
				<-time.After(time.Second)
				place.Leave()
				<-time.After(10 * time.Second)
			}

			<-time.After(5 * time.Minute)

			_, _, flaps := c.of(c.all[:4])
			ready, _, _ := c.of(c.all)
			t.Logf("seed %d: %d of 8 Ready, %d times one was no more; a start waits %s at most", seed, ready, flaps, longest)
			if ready != 8 || flaps > 0 {
				t.Errorf("%d of 8 are Ready, %d times one that was Ready before was no more", ready, flaps)
			}
			if longest > 5*time.Second {
				t.Errorf("a start waits %s", longest)
			}

			cancel()
			<-time.After(2 * time.Minute)
		})
	}
}

// stuck has a program of a pod hold its place for a while, and not come up.
func stuck(t *testing.T, q *Queue, a Ask, hold time.Duration) {
	t.Helper()
	p, err := q.Enter(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(hold)
	p.GiveUp()
}

// typically has a queue learn how long programs take.
func typically(t *testing.T, q *Queue, took time.Duration) {
	t.Helper()
	for range 40 {
		p, err := q.Enter(t.Context(), Ask{Kind: Probe})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(took)
		p.Leave()
	}
}

// TestLateIsNotTypical: pods whose programs come up just in time do not make others believe that this is usual, after
// which no pod would count as jammed.
func TestLateIsNotTypical(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		run := func(pod string, took time.Duration) {
			t.Helper()
			p, err := q.Enter(t.Context(), Ask{Kind: Probe, Pod: Pod{Name: pod}})
			if err != nil {
				t.Fatal(err)
			}
			<-time.After(took)
			p.Leave()
		}

		for i := range 20 {
			run(fmt.Sprint("good", i%3), 100*time.Millisecond)
			run("late", HoldMost-100*time.Millisecond)
			run("late", HoldMost-100*time.Millisecond)
			run("later", HoldMost-time.Millisecond)
		}

		if got := q.Load().Typical; got != 100*time.Millisecond {
			t.Errorf("%s is typical", got)
		}

		stuck(t, q, Ask{Kind: Probe, Pod: Pod{Name: "stuck"}}, HoldMost)
		if got := q.Load().Jammed; got != 1 {
			t.Errorf("%d pods were jammed", got)
		}
	})
}

// TestJamEnds: a jammed pod's programs wait aside, a person's first, one at a time and after a pause, until one comes
// up.
func TestJamEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := line{New(2), make(chan string, 20)}
		typically(t, q.Queue, 100*time.Millisecond)
		pod := Pod{Name: "jammed"}
		stuck(t, q.Queue, Ask{Kind: Probe, Pod: pod}, jamAfter)
		begin := time.Now()
		for _, w := range []struct {
			name string
			ask  Ask
		}{
			{"probe 1", Ask{Kind: Probe, Pod: pod}},
			{"probe 2", Ask{Kind: Proven, Pod: pod}},
			{"person", Ask{Kind: Person, Pod: pod}},
			{"start", Ask{Kind: Start, Pod: pod}},
			{"other", Ask{Kind: Probe, Pod: Pod{Name: "other"}}},
		} {
			q.enter(t.Context(), w.name, w.ask, time.Second)
		}

		if l := q.Load(); l.Jammed != 1 || l.Waiting["probe"] != 1 || l.Waiting["proven"] != 1 || l.Starting["person"] != 0 {
			t.Errorf("%+v", l)
		}
		<-time.After(time.Minute)
		got := all(q.told)
		if want := []string{"start", "other", "person", "probe 1", "probe 2"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}

		if took := q.aside.last.Sub(begin); took != jamPause+time.Second {
			t.Errorf("the person's program is over after %s", took)
		}
	})
}

// TestJamEndsLate: a jammed pod's program needs longer than it has a place, and comes up: the pod is jammed no more.
func TestJamEndsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		typically(t, q, 100*time.Millisecond)
		pod := Pod{Name: "jammed"}
		stuck(t, q, Ask{Kind: Probe, Pod: pod}, jamAfter)
		p, err := q.Enter(t.Context(), Ask{Kind: Probe, Pod: pod})
		if err != nil {
			t.Fatal(err)
		}

		<-p.Left()
		if !q.isJammed(pod) {
			t.Error("it is not jammed before the program came up")
		}
		<-time.After(time.Second)
		p.Leave()
		if q.isJammed(pod) {
			t.Error("it is jammed after one came up")
		}
	})
}

// TestNoJam: what comes up late is no jam where others take as long, nor what holds its place for a moment, nor a
// start, nor the first program of all.
func TestNoJam(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pod := Pod{Name: "slow"}
		for _, tt := range []struct {
			name          string
			typical, hold time.Duration
			kind          Kind
		}{
			{"a slow machine", 2 * time.Second, 7 * time.Second, Probe},
			{"a moment", 100 * time.Millisecond, 2 * time.Second, Proven},
			{"a start", 100 * time.Millisecond, 9 * time.Second, Start},
			{"the first", 0, 9 * time.Second, Person},
		} {
			q := New(2)
			if tt.typical > 0 {
				typically(t, q, tt.typical)
			}
			stuck(t, q, Ask{Kind: tt.kind, Pod: pod}, tt.hold)
			if q.isJammed(pod) {
				t.Errorf("%s: it is jammed", tt.name)
			}
		}
	})
}

// TestJammedPodHasATurn: a jammed pod's programs have a turn now and then also where others always wait.
func TestJammedPodHasATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		q := New(2)
		typically(t, q, 100*time.Millisecond)
		pod := Pod{Name: "jammed"}
		stuck(t, q, Ask{Kind: Probe, Pod: pod}, jamAfter)
		soon, over := context.WithTimeout(t.Context(), time.Second)
		_, err := q.Enter(soon, Ask{Kind: Probe, Pod: pod})
		over()
		var late *NotStartedError
		if l := q.Load(); !errors.As(err, &late) || !late.Jammed || len(l.Pods) != 1 || !l.Pods[0].Jammed {
			t.Errorf("%v, %+v", err, l.Pods)
		}

		for i := range 10 {
			go func() {
				for ctx.Err() == nil {
					if p, err := q.Enter(ctx, Ask{Kind: Probe, Container: fmt.Sprint(i)}); err == nil {
						<-time.After(200 * time.Millisecond)
						p.Leave()
					}
				}
			}()
		}

		begin := time.Now()
		p, err := q.Enter(t.Context(), Ask{Kind: Probe, Pod: pod})
		if err != nil || time.Since(begin) > jamMost+time.Second {
			t.Errorf("its turn after %s, %v", time.Since(begin), err)
		}
		p.Leave()
		if q.isJammed(pod) {
			t.Error("it is jammed after one came up")
		}

		cancel()
		<-time.After(time.Minute)
	})
}

// TestJamForgotten: a pod is forgotten while programs of it wait aside behind those of many others. Each of them has
// one turn, and the queue goes on.
func TestJamForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const pods = 120 // turns of half of them take longer than jamForget
		q := line{New(2), make(chan string, 2*pods)}
		typically(t, q.Queue, 100*time.Millisecond)
		for i := range pods {
			pod := Pod{Name: fmt.Sprint("jammed", i)}
			stuck(t, q.Queue, Ask{Kind: Probe, Pod: pod}, jamAfter)
			go func() {
				p, err := q.Enter(t.Context(), Ask{Kind: Probe, Pod: pod})
				if err != nil {
					t.Error(err)
					return
				}
				q.told <- pod.Name
				<-time.After(jamAfter)
				p.GiveUp()
			}()
			synctest.Wait()
		}

		<-time.After(jamForget)
		stuck(t, q.Queue, Ask{Kind: Probe, Pod: Pod{Name: "late"}}, jamAfter) // the others are forgotten
		<-time.After(pods * (jamAfter + jamPause))

		if told := all(q.told); len(told) != pods {
			t.Errorf("%d programs of %d had a turn", len(told), pods)
		}
		p, err := q.Enter(t.Context(), Ask{Kind: Probe})
		if err != nil {
			t.Fatal(err)
		}

		p.Leave()
		if l := q.Load(); l.Starting["probe"] != 0 || l.Waiting["probe"] != 0 {
			t.Errorf("a turn is of nobody: %+v", l)
		}
	})
}
