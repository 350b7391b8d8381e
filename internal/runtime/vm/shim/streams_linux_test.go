package shim

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestDrain: the output of an ended process is waited for as long as somebody takes some of it.
func TestDrain(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for name, c := range map[string]struct {
		takes int // as many parts, one every nine seconds
		ends  bool
		want  time.Duration
	}{
		"the end":            {0, true, 9 * time.Second},
		"a slow reader":      {20, true, 21 * 9 * time.Second},
		"nobody":             {0, false, drainTimeout},
		"one who then stops": {2, false, 2*drainTimeout + drainTimeout},
		"no end":             {70, false, longestDrain},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, copied := &streams{}, make(chan struct{})
				go func() {
					for range c.takes {
						time.Sleep(9 * time.Second)
						s.copied.Add(1)
					}
					if time.Sleep(9 * time.Second); c.ends {
						close(copied)
					}
				}()

				begun := time.Now()
				s.drain(copied)
				if took := time.Since(begun); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				time.Sleep(time.Minute) // the other one ends
			})
		})
	}
}

// few takes at most a page at a time, as a FIFO with a slow reader does, and notes what had been counted by then.
type few struct {
	counted *atomic.Int64
	seen    []int64
}

func (f *few) Write(p []byte) (int, error) {
	f.seen = append(f.seen, f.counted.Load())
	if len(p) > littleAtATime {
		return 0, errors.New("more than a page at a time")
	}
	return len(p), nil
}

// TestCounted: what a slow reader takes is counted while it takes it, and not when it has taken all.
func TestCounted(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	var all atomic.Int64
	to := few{counted: &all}
	const size = 3*littleAtATime + 7
	n, err := counted{&to, &all}.Write(make([]byte, size))
	if n != size || err != nil || all.Load() != size {
		t.Fatalf("%d, %v; %d are counted", n, err, all.Load())
	}
	if want := []int64{0, littleAtATime, 2 * littleAtATime, 3 * littleAtATime}; !slices.Equal(to.seen, want) {
		t.Errorf("counted before each part: %v, want %v", to.seen, want)
	}
}
