package parts_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/cluster/parts"
)

// router says what a test's machine has.
type router struct {
	out  bool
	err  error
	asks int
}

func (r *router) FollowRoutes6(context.Context) (bool, error) {
	r.asks++
	return r.out, r.err
}

// A machine that gets IPv6 later is noticed; one whose routes cannot be read at first does not start.
func TestWayOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &router{}
		w := &parts.WayOut{Router: r, Log: slog.New(slog.DiscardHandler)}
		if err := w.Start(t.Context()); err != nil {
			t.Fatal(err)
		}

		r.out, r.err = true, errors.New("for a moment")
		time.Sleep(15 * time.Second)
		r.err = nil
		time.Sleep(10 * time.Second)
		if r.asks != 3 {
			t.Errorf("looked %d times in 25 s", r.asks)
		}

		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if r.asks != 3 {
			t.Error("it looks after Stop")
		}
	})

	broken := &parts.WayOut{Router: &router{err: errors.New("broken")}, Log: slog.New(slog.DiscardHandler)}
	if err := broken.Start(t.Context()); err == nil {
		t.Error("it starts without knowing the routes")
	}
	if err := broken.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
