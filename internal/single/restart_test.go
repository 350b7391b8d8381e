package single

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/logging"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/windows/winver"
)

// TestRestarts: by itself, and with a new engine, each policy has those containers begin anew that Docker's does.
func TestRestarts(t *testing.T) {
	testrun.Once(t, testrun.Order)
	ended := Container{Started: time.Now(), Finished: time.Now()}
	for _, tt := range []struct {
		policy       string
		code         uint32
		stopped      bool
		restarts     int
		itself, anew bool
	}{
		{"no", 1, false, 0, false, false},
		{"always", 0, false, 9, true, true},
		{"always", 0, true, 0, false, true},
		{"unless-stopped", 0, false, 0, true, true},
		{"unless-stopped", 0, true, 0, false, false},
		{"on-failure", 0, false, 0, false, false},
		{"on-failure", 1, false, 99, true, true},
		{"on-failure", 1, true, 0, false, false},
		{"on-failure:2", 1, false, 1, true, true},
		{"on-failure:2", 1, false, 2, false, false},
	} {
		r, err := ParseRestart(tt.policy)
		if err != nil || r.String() != tt.policy {
			t.Errorf("%q: %v, %v", tt.policy, r, err)
		}
		c := ended
		c.Run.Restart = r
		c.End.Code = tt.code
		c.Stopped = tt.stopped
		c.Restarts = tt.restarts
		if c.restarts(false) != tt.itself || c.restarts(true) != tt.anew {
			t.Errorf("%+v: by itself %t, with a new engine %t", tt, c.restarts(false), c.restarts(true))
		}

		c.Finished = time.Time{}
		if c.restarts(false) || c.restarts(true) {
			t.Errorf("%+v: it runs", tt)
		}
	}
}

// TestRestartPauses doubles up to a minute, and forgets that after a long run.
func TestRestartPauses(t *testing.T) {
	testrun.Once(t, testrun.Order)
	last := time.Duration(0)
	for _, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600, 51200, 60000, 60000} {
		last = pauseAfter(last, time.Second)
		if last != want*time.Millisecond {
			t.Errorf("%v, want %v ms", last, int(want))
		}
	}
	if got := pauseAfter(last, longRun); got != firstPause {
		t.Error(got)
	}
}

// TestRegisterRestarts counts what begins by itself, and keeps a person's word over a restart of the engine.
func TestRegisterRestarts(t *testing.T) {
	testrun.Once(t, testrun.Order)
	p := At(t.TempDir(), "")
	r := opened(t, p)
	ask := Run{
		Name:    "web",
		Keep:    true,
		Detach:  true,
		Restart: Restart{Policy: RestartUnlessStopped},
	}

	k := begun(t, r, "aaaa", ask)
	if err := r.over(k, End{Code: 3}, ""); err != nil {
		t.Fatal(err)
	}

	again := &container{
		room:     aRoom(),
		id:       "aaaa",
		ask:      ask,
		byItself: true,
	}
	ended, _ := r.get("aaaa")
	if _, due := r.attempt("aaaa", ended.Finished); !due {
		t.Error("it is not to begin anew")
	}
	if err := errors.Join(r.again(again), r.begun(again)); err != nil {
		t.Fatal(err)
	}
	if _, due := r.attempt("aaaa", ended.Finished); due {
		t.Error("one that runs is to begin anew")
	}

	if c, _ := r.get("aaaa"); c.Restarts != 1 || c.Stopped || c.restarts(false) {
		t.Errorf("%+v", c)
	}

	r = opened(t, p) // the engine was killed
	c, _ := r.get("aaaa")
	if !c.restarts(true) {
		t.Errorf("%+v", c)
	}
	if err := r.stopped(c); err != nil {
		t.Fatal(err)
	}

	r = opened(t, p)
	if c, _ := r.get("aaaa"); c.restarts(true) || !c.Stopped {
		t.Errorf("%+v", c)
	}
}

// TestCannotRestart has containers that cannot begin anew: without Windows, and with a folder that is gone. Each is
// tried as often as its policy has it, what is tried is counted and said, and the engine is idle when none is tried any
// more.
func TestCannotRestart(t *testing.T) {
	testrun.Once(t, testrun.Order)
	for what, fault := range map[string]error{"no room": errors.New("no Windows"), "not made": nil} {
		t.Run(what, func(t *testing.T) {
			var log strings.Builder
			s := served(t)
			s.options.Log = logging.New(&log, logging.Info)
			idle, cancel := context.WithCancel(t.Context())
			s.idle = newIdle(time.Millisecond, cancel)

			made := make(chan struct{})
			close(made)
			s.rooms = map[string]*room{winver.Default(): {made: made, err: fault}}
			s.running = map[string]watched{}

			ends := func(id, policy string) {
				t.Helper()
				r, err := ParseRestart(policy)
				if err != nil {
					t.Fatal(err)
				}
				ask := Run{
					Name:    policy[:2] + id,
					Keep:    true,
					Network: None,
					Restart: r,
					Mounts:  []Mount{{Source: "/nowhere/at/all", Target: `C:\x`}},
				}
				if err := s.register.over(begun(t, s.register, id, ask), End{Code: 3}, ""); err != nil {
					t.Fatal(err)
				}
			}

			ends("aaaa", "on-failure:2")
			if got := refused(t, s, `{"Start":"aaaa"}`); got.Code != CodeFailed {
				t.Errorf("a person is told %+v", got)
			}
			s.background.Wait()
			if c, _ := s.register.get("aaaa"); c.Restarts != 0 || c.Why != "" {
				t.Errorf("after a person's start: %+v", c)
			}

			s.restartLeft()
			s.background.Wait()
			c, _ := s.register.get("aaaa")
			if c.Restarts != 2 || !strings.Contains(c.Why, "it did not begin anew: ") {
				t.Errorf("%d attempts, %q", c.Restarts, c.Why)
			}
			if n := strings.Count(log.String(), "does not begin anew"); n != 1 {
				t.Errorf("%d times that it does not begin:\n%s", n, &log)
			}

			select {
			case <-idle.Done():
			case <-time.After(20 * time.Second):
				t.Error("the engine is not idle")
			}

			ends("bbbb", "always")
			c, _ = s.register.get("bbbb")
			if err := s.register.stopped(c); err != nil {
				t.Fatal(err)
			}
			s.restartLeft()
			awaitAttempts(t, s, "bbbb", 3)
			status := func() string {
				all := s.register.list()
				return all[slices.IndexFunc(all, func(c Container) bool { return c.ID == "bbbb" })].Status()
			}
			if got := status(); got != Restarting {
				t.Errorf("while it is tried it is %s", got)
			}
			if got := asked(t, s, `{"Stop":{"Container":"bbbb"}}`); len(got) != 1 || !got[0].Done {
				t.Errorf("%+v", got)
			}
			s.background.Wait()
			if got := status(); got != Exited {
				t.Errorf("when it is not tried any more it is %s", got)
			}
		})
	}
}

// awaitAttempts waits until a container has been tried so often.
func awaitAttempts(t *testing.T, s *service, id string, attempts int) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; {
		c, _ := s.register.get(id)
		if c.Restarts >= attempts {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d attempts", c.Restarts)
		}
		<-time.After(5 * time.Millisecond)
	}
}
