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
	t       *testing.T
	ctx     context.Context //nolint:containedctx // it is what the test is about
	signals chan os.Signal
	ended   chan os.Signal
}

func (w *watched) send(s os.Signal) {
	w.signals <- s
	synctest.Wait()
}

// alive fails the test if the process has ended.
func (w *watched) alive(when string) {
	w.t.Helper()
	synctest.Wait()
	select {
	case s := <-w.ended:
		w.t.Errorf("%s: %v ended the process", when, s)
	default:
	}
}

// gone fails the test if the process has not ended.
func (w *watched) gone(by os.Signal, when string) {
	w.t.Helper()
	synctest.Wait()
	select {
	case s := <-w.ended:
		if s != by {
			w.t.Errorf("%s: %v ended the process, not %v", when, s, by)
		}
	default:
		w.t.Errorf("%s: the process goes on", when)
	}
}

func TestSignals(t *testing.T) {
	for name, try := range map[string]func(w *watched){
		"the first ends the context, and the time the process": func(w *watched) {
			w.alive("at first")
			w.send(syscall.SIGTERM)
			if w.ctx.Err() == nil {
				w.t.Error("the context goes on after the first signal")
			}
			time.Sleep(Grace - time.Millisecond)
			w.alive("just before the time is over")
			time.Sleep(time.Millisecond)
			w.gone(syscall.SIGTERM, "after the time")
		},
		"the second ends the process": func(w *watched) {
			w.send(os.Interrupt)
			w.send(syscall.SIGTERM)
			w.gone(syscall.SIGTERM, "after the second signal")
		},
		"who finishes has the time": func(w *watched) {
			first, second := Finishing(w.ctx), Finishing(w.ctx)
			w.send(os.Interrupt)
			first()
			first() // once more counts nothing
			time.Sleep(time.Hour)
			w.alive("while one still finishes")
			second()
			time.Sleep(Grace)
			w.gone(os.Interrupt, "after all have finished")
		},
		"who begins to finish after the signal has it too": func(w *watched) {
			w.send(os.Interrupt)
			time.Sleep(Grace / 2)
			done := Finishing(context.WithoutCancel(w.ctx))
			time.Sleep(time.Hour)
			w.alive("while it finishes")
			done()
			time.Sleep(Grace)
			w.gone(os.Interrupt, "after it has finished")
		},
		"a second signal ends who finishes": func(w *watched) {
			defer Finishing(w.ctx)()
			w.send(os.Interrupt)
			w.send(os.Interrupt)
			w.gone(os.Interrupt, "after the second signal")
		},
		"a service stops in its own time": func(w *watched) {
			Serving(w.ctx)
			w.send(syscall.SIGTERM)
			w.send(syscall.SIGTERM)
			time.Sleep(time.Hour)
			w.alive("after two signals and an hour")
			if w.ctx.Err() == nil {
				w.t.Error("the context goes on")
			}
		},
		"the next signal is for who asked": func(w *watched) {
			defer Finishing(w.ctx)()
			w.send(os.Interrupt)
			next := Next(w.ctx)
			w.send(os.Interrupt)
			w.alive("after the signal that was asked for")
			select {
			case <-next:
			default:
				w.t.Error("who asked was not told")
			}

			w.send(os.Interrupt)
			w.gone(os.Interrupt, "after one more")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &watched{
					t:       t,
					signals: make(chan os.Signal),
					ended:   make(chan os.Signal, 8),
				}
				ctx, stop := Watch(t.Context(), w.signals, func(s os.Signal) { w.ended <- s })
				defer stop()
				w.ctx = ctx
				try(w)
			})
		})
	}
}

// TestStopped: a command that ends in time is not ended again.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &watched{
			t:       t,
			signals: make(chan os.Signal),
			ended:   make(chan os.Signal, 8),
		}

		ctx, stop := Watch(t.Context(), w.signals, func(s os.Signal) { w.ended <- s })
		w.send(os.Interrupt)
		stop()
		time.Sleep(time.Hour)
		w.alive("after the watch")
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
	fails := Reader(t.Context(), io.MultiReader(strings.NewReader("x"), failing{broken}))
	if _, err := io.ReadAll(fails); !errors.Is(err, broken) {
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
