package admission

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// machine is a fake of what weighs pods. A pod uses processors all the time: as many as busy says, from the moment at
// which it is there.
type machine struct {
	mu    sync.Mutex
	busy  float64
	since time.Time
	gone  bool
	up    bool
	upAt  time.Time
	ahead time.Duration // for how long the pod went ahead of others
}

var errGone = errors.New("it is gone")

func (m *machine) Lift(_ string, up bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return errGone
	}
	if m.up && !up {
		m.ahead += time.Since(m.upAt)
	}
	if !m.up && up {
		m.upAt = time.Now()
	}
	m.up = up
	return nil
}

func (m *machine) Used(string) (time.Duration, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return 0, errGone
	}
	return time.Duration(m.busy * float64(time.Since(m.since))), nil
}

// is says whether the pod goes ahead of others.
func (m *machine) is(t *testing.T, want bool) {
	t.Helper()
	synctest.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.up != want {
		t.Errorf("the pod goes ahead: %t, want %t", m.up, want)
	}
}

func newLifts(m *machine) *Lifts {
	m.since = time.Now()
	return NewLifts(m, slog.New(slog.DiscardHandler))
}

// TestLift: a pod goes ahead while one of its programs has its turn, and no longer.
func TestLift(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{busy: 0.1}
		l := newLifts(m)
		first, second := l.Begin("pod"), l.Begin("pod")
		m.is(t, true)
		first()
		first()
		<-time.After(time.Second)
		m.is(t, true)
		second()
		m.is(t, false)
	})
}

// TestLiftIsBounded: what keeps its processors busy, and has probes all the time so that it goes ahead, uses no more
// ahead of others than its allowance, however many processors it has, and whatever it did before.
func TestLiftIsBounded(t *testing.T) {
	for _, busy := range []float64{0.5, 2, 64} {
		for _, turn := range []time.Duration{time.Hour, time.Second, 70 * time.Millisecond} {
			synctest.Test(t, func(t *testing.T) {
				m := &machine{busy: busy}
				l := newLifts(m)
				<-time.After(time.Minute) // in which it may save nothing up
				begin := time.Now()
				for time.Since(begin) < 4*time.Minute {
					end := l.Begin("pod")
					<-time.After(min(turn, 4*time.Minute))
					end()
				}

				m.is(t, false)
				used := time.Duration(busy * float64(m.ahead))
				most := mostAhead + time.Since(begin)/aheadEach + time.Duration(busy*float64(lookAhead))
				if used > most || used < most/2 {
					t.Errorf("busy on %g processors, turns of %s: it used %s ahead of others, at most %s is allowed", busy,
						turn, used, most)
				}
			})
		}
	}
}

// TestLiftComesBack: a pod that has used up its allowance has one again later.
func TestLiftComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{busy: 2}
		l := newLifts(m)
		end := l.Begin("pod")
		<-time.After(mostAhead)
		end()
		m.is(t, false)
		<-time.After(aheadEach * time.Second)
		end = l.Begin("pod")
		m.is(t, true)
		end()
	})
}

// TestLiftOfNothing: a pod without a container is lifted as soon as it has one, and one that has gone is no more.
func TestLiftOfNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &machine{gone: true}
		l := newLifts(m)
		end := l.Begin("pod")
		m.is(t, false)
		m.mu.Lock()
		m.gone = false
		m.mu.Unlock()
		<-time.After(2 * lookAhead)
		m.is(t, true)
		m.mu.Lock()
		m.gone = true
		m.mu.Unlock()
		end()
		if len(l.pods) > 0 {
			t.Errorf("it is still known: %v", l.pods)
		}
	})
}

// TestLiftRecovers: what an earlier process lifted and did not take back is as others again.
func TestLiftRecovers(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	synctest.Test(t, func(t *testing.T) {
		m := &machine{up: true}
		newLifts(m).Recover("pod")
		m.is(t, false)
	})
}

// TestLiftWithout: without weights nothing is lifted.
func TestLiftWithout(t *testing.T) {
	l := NewLifts(nil, slog.New(slog.DiscardHandler))
	l.Begin("pod")()
	l.Recover("pod")
	l.Forget("pod")
}
