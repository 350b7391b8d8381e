package interrupt

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// watched is a process that is watched.
type watched struct {
	ctx     context.Context //nolint:containedctx // it is what the test is about
	signals chan os.Signal
	ended   chan os.Signal
}

func (w *watched) send(s os.Signal) {
	w.signals <- s
	synctest.Wait()
}

// alive fails the test if the process has ended.
func (w *watched) alive(t *testing.T, when string) {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-w.ended:
		t.Errorf("%s: %v ended the process", when, s)
	default:
	}
}

// gone fails the test if the process has not ended.
func (w *watched) gone(t *testing.T, by os.Signal, when string) {
	t.Helper()
	synctest.Wait()
	select {
	case s := <-w.ended:
		if s != by {
			t.Errorf("%s: %v ended the process, not %v", when, s, by)
		}
	default:
		t.Errorf("%s: the process goes on", when)
	}
}

func TestSignals(t *testing.T) {
	for name, try := range map[string]func(t *testing.T, w *watched){
		"the first ends the context, and the time the process": func(t *testing.T, w *watched) {
			w.alive(t, "at first")
			w.send(syscall.SIGTERM)
			if w.ctx.Err() == nil {
				t.Error("the context goes on after the first signal")
			}
			time.Sleep(Grace - time.Millisecond)
			w.alive(t, "just before the time is over")
			time.Sleep(time.Millisecond)
			w.gone(t, syscall.SIGTERM, "after the time")
		},
		"the second ends the process": func(t *testing.T, w *watched) {
			w.send(os.Interrupt)
			w.send(syscall.SIGTERM)
			w.gone(t, syscall.SIGTERM, "after the second signal")
		},
		"who finishes has the time": func(t *testing.T, w *watched) {
			first, second := Finishing(w.ctx), Finishing(w.ctx)
			w.send(os.Interrupt)
			first()
			first() // once more counts nothing
			time.Sleep(time.Hour)
			w.alive(t, "while one still finishes")
			second()
			time.Sleep(Grace)
			w.gone(t, os.Interrupt, "after all have finished")
		},
		"who begins to finish after the signal has it too": func(t *testing.T, w *watched) {
			w.send(os.Interrupt)
			time.Sleep(Grace / 2)
			done := Finishing(context.WithoutCancel(w.ctx))
			time.Sleep(time.Hour)
			w.alive(t, "while it finishes")
			done()
			time.Sleep(Grace)
			w.gone(t, os.Interrupt, "after it has finished")
		},
		"a second signal ends who finishes": func(t *testing.T, w *watched) {
			defer Finishing(w.ctx)()
			w.send(os.Interrupt)
			w.send(os.Interrupt)
			w.gone(t, os.Interrupt, "after the second signal")
		},
		"a service stops in its own time": func(t *testing.T, w *watched) {
			Serving(w.ctx)
			w.send(syscall.SIGTERM)
			w.send(syscall.SIGTERM)
			time.Sleep(time.Hour)
			w.alive(t, "after two signals and an hour")
			if w.ctx.Err() == nil {
				t.Error("the context goes on")
			}
		},
		"the next signal is for who asked": func(t *testing.T, w *watched) {
			defer Finishing(w.ctx)()
			w.send(os.Interrupt)
			next := Next(w.ctx)
			w.send(os.Interrupt)
			w.alive(t, "after the signal that was asked for")
			select {
			case <-next:
			default:
				t.Error("who asked was not told")
			}
			w.send(os.Interrupt)
			w.gone(t, os.Interrupt, "after one more")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &watched{signals: make(chan os.Signal), ended: make(chan os.Signal, 8)}
				ctx, stop := Watch(t.Context(), w.signals, func(s os.Signal) { w.ended <- s })
				defer stop()
				w.ctx = ctx
				try(t, w)
			})
		})
	}
}

// TestStopped: a command that ends in time is not ended again.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{signals: make(chan os.Signal), ended: make(chan os.Signal, 8)}
		ctx, stop := Watch(t.Context(), w.signals, func(s os.Signal) { w.ended <- s })
		w.send(os.Interrupt)
		stop()
		time.Sleep(time.Hour)
		w.alive(t, "after the watch")
		if ctx.Err() == nil {
			t.Error("the context goes on after the watch")
		}
	})
}

// TestUnwatched: a test, or a program without a watch, may say all the same.
func TestUnwatched(t *testing.T) {
	Finishing(t.Context())()
	Serving(t.Context())
	select {
	case <-Next(t.Context()):
		t.Error("a signal came")
	default:
	}
}

// TestReader: it has all that there is, and does not wait on when the command ends.
func TestReader(t *testing.T) {
	want := strings.Repeat("a line\n", 20_000)
	if got, err := io.ReadAll(Reader(t.Context(), strings.NewReader(want))); err != nil || string(got) != want {
		t.Errorf("read %d bytes of %d, %v", len(got), len(want), err)
	}
	broken := errors.New("broken")
	if _, err := io.ReadAll(Reader(t.Context(), io.MultiReader(strings.NewReader("x"), failing{broken}))); !errors.Is(err, broken) {
		t.Errorf("the error is %v, not %v", err, broken)
	}

	silent, say := io.Pipe()
	defer say.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := io.ReadAll(Reader(ctx, silent)); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, not %v", err, context.Canceled)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
