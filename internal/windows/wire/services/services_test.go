package services_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mullion.dev/mullion/internal/windows/wire/services"
)

// life is a service that answers by the time since the test began.
type life struct {
	services.Life // what is asked beside the state is not there

	began time.Time
	is    func(since time.Duration) (services.Status, error)
	asked int
}

func (l *life) Status() (services.Status, error) {
	l.asked++
	return l.is(time.Since(l.began))
}

// TestAwait waits for services in a time that passes at once.
func TestAwait(t *testing.T) {
	starting := func(hint time.Duration, checkPoint uint32) (services.Status, error) {
		is := services.Status{State: services.StartPending, CheckPoint: checkPoint}
		is.WaitHint = uint32(hint.Milliseconds())

		return is, nil
	}

	for _, c := range []struct {
		name  string
		is    func(since time.Duration) (services.Status, error)
		state uint32
		took  time.Duration // at least, and a second more at most
		err   error
	}{
		{"at once", func(time.Duration) (services.Status, error) {
			return services.Status{State: services.Running}, nil
		}, services.Running, 0, nil},
		{"after 5 s", func(since time.Duration) (services.Status, error) {
			if since < 5*time.Second {
				return starting(0, 0)
			}
			return services.Status{State: services.Running}, nil
		}, services.Running, 5 * time.Second, nil},
		{"never", func(time.Duration) (services.Status, error) { return starting(0, 0) }, services.StartPending, 30 * time.Second, nil},
		{"never, though it wants a minute", func(time.Duration) (services.Status, error) {
			return starting(time.Minute, 0)
		}, services.StartPending, time.Minute, nil},
		{"a hint below the patience", func(time.Duration) (services.Status, error) {
			return starting(time.Second, 0)
		}, services.StartPending, 30 * time.Second, nil},
		{"progress for two minutes, then none", func(since time.Duration) (services.Status, error) {
			return starting(0, uint32(min(since, 2*time.Minute)/(20*time.Second)))
		}, services.StartPending, 150 * time.Second, nil},
		{"stopped", func(time.Duration) (services.Status, error) {
			return services.Status{State: services.Stopped}, nil
		}, services.Stopped, 0, nil},
		{"gone", func(time.Duration) (services.Status, error) {
			return services.Status{}, services.DoesNotExist
		}, 0, 0, services.DoesNotExist},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &life{began: time.Now(), is: c.is}

				is, err := services.Await(l, services.StartPending)
				took := time.Since(l.began)
				if is.State != c.state || !errors.Is(err, c.err) || took < c.took || took > c.took+time.Second {
					t.Errorf("state %d, %v, after %s; want %d, %v, %s", is.State, err, took, c.state, c.err, c.took)
				}
			})
		})
	}
}

// TestAwaitStop waits for a service that does not say at once that it stops.
func TestAwaitStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &life{began: time.Now(), is: func(since time.Duration) (services.Status, error) {
			switch {
			case since < time.Second:
				return services.Status{State: services.Running}, nil
			case since < 2*time.Second:
				return services.Status{State: services.StopPending}, nil
			}
			return services.Status{State: services.Stopped}, nil
		}}

		if is, err := services.AwaitStop(l); err != nil || is.State != services.Stopped || l.asked < 3 {
			t.Errorf("state %d, %v, asked %d times", is.State, err, l.asked)
		}
	})
}

func TestKnownAccount(t *testing.T) {
	for name, want := range map[string]bool{
		"LocalSystem":                  true,
		`.\LocalSystem`:                true,
		`NT AUTHORITY\System`:          true,
		`NT AUTHORITY\LocalService`:    true,
		`nt authority\Network Service`: true,
		`NT SERVICE\kubelet`:           true,
		`NT SERVICE\`:                  false,
		`NT AUTHORITY\Anybody`:         false,
		`.\Administrator`:              false,
		`CONTOSO\svc`:                  false,
		"":                             false,
	} {
		if got := services.KnownAccount(name); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}
