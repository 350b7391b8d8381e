package shim

import (
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
