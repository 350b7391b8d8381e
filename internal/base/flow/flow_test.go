package flow

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

const patience = 10 * time.Second

// waited returns how long Await takes.
func waited(ctx context.Context, m *Meter, done <-chan struct{}) time.Duration {
	begun := time.Now()
	m.Await(ctx, done, patience)
	return time.Since(begun)
}

// TestAwait: what somebody takes is waited for as long as that lasts, what nobody adds to for a while.
func TestAwait(t *testing.T) {
	for name, c := range map[string]struct {
		// writes is what happens beside Await.
		writes func(w io.Writer, done func())
		want   time.Duration
	}{
		"nothing is written":      {func(io.Writer, func()) {}, patience},
		"the end":                 {func(_ io.Writer, done func()) { time.Sleep(time.Second); done() }, time.Second},
		"the end of a slow write": {func(w io.Writer, done func()) { w.Write(make([]byte, 60)); done() }, time.Minute},
		"the end of many":         {func(w io.Writer, done func()) { many(w, 60); done() }, time.Minute},
		"a slow write, no end":    {func(w io.Writer, _ func()) { w.Write(make([]byte, 60)) }, time.Minute + lull},
		"a write now and then": {func(w io.Writer, done func()) {
			for range 30 {
				time.Sleep(19 * time.Second / 10) // the fifth is half a second before patience ends
				w.Write(nil)
			}
			done()
		}, patience + lull/2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var m Meter
				done, written := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(written)
					c.writes(m.Writer(slow{}), func() { close(done) })
				}()
				synctest.Wait()
				if got := waited(t.Context(), &m, done); got != c.want {
					t.Errorf("it took %v, want %v", got, c.want)
				}
				<-written
			})
		})
	}
}

// TestAwaitUntilItIsOver: a reader that never takes what is written is waited for until ctx ends.
func TestAwaitUntilItIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var m Meter
		r, w := io.Pipe()
		defer r.Close()
		go m.Writer(w).Write([]byte("x"))
		synctest.Wait()
		if got := waited(ctx, &m, nil); got != time.Hour {
			t.Errorf("it took %v", got)
		}
	})
}

// slow takes a second for each byte.
type slow struct{}

func (slow) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p)) * time.Second)
	return len(p), nil
}

func many(w io.Writer, n int) {
	for range n {
		w.Write([]byte{0})
	}
}
