package single

import (
	"errors"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
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
		c.Run.Restart, c.End.Code, c.Stopped, c.Restarts = r, tt.code, tt.stopped, tt.restarts
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
		id:       "aaaa",
		ask:      ask,
		byItself: true,
	}
	if err := errors.Join(r.again(again), r.begun(again)); err != nil {
		t.Fatal(err)
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
