package single

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// Restart says when a container that has ended begins anew by itself.
type Restart struct {
	// Policy is one of Docker's words; "" is RestartNo.
	Policy string `json:",omitempty"`
	// Most is how often at most, with RestartOnFailure; 0: as often as it fails.
	Most int `json:",omitempty"`
}

// The policies, Docker's (https://docs.docker.com/engine/containers/start-containers-automatically/).
const (
	RestartNo            = "no"
	RestartAlways        = "always"
	RestartUnlessStopped = "unless-stopped"
	RestartOnFailure     = "on-failure"
)

// ParseRestart reads a policy as `docker run --restart` does.
func ParseRestart(text string) (Restart, error) {
	policy, most, counted := strings.Cut(text, ":")
	r := Restart{Policy: policy}
	switch policy {
	case "", RestartNo:
		r.Policy = ""
	case RestartAlways, RestartUnlessStopped, RestartOnFailure:
	default:
		return r, fmt.Errorf("invalid restart policy: unknown policy '%s'; use one of 'no', 'always', 'on-failure', or "+
			"'unless-stopped'", policy)
	}

	if !counted {
		return r, nil
	}

	if policy != RestartOnFailure {
		return r, errors.New("invalid restart policy: maximum retry count can only be used with 'on-failure'")
	}
	var err error
	if r.Most, err = strconv.Atoi(most); err != nil || r.Most < 0 {
		return r, errors.New("invalid restart policy: maximum retry count must be a number, and not negative")
	}
	return r, nil
}

// String returns the policy as it is written.
func (r Restart) String() string {
	switch {
	case r.Policy == "":
		return RestartNo
	case r.Most > 0:
		return fmt.Sprintf("%s:%d", r.Policy, r.Most)
	}
	return r.Policy
}

// restarts reports whether a container that has ended is to begin anew: with an engine that begins, or by itself.
// Nobody has stopped it since, but for `always`, which a new engine carries out all the same, as Docker does.
func (c Container) restarts(newEngine bool) bool {
	if c.State() != Exited {
		return false
	}
	r := c.Run.Restart
	switch r.Policy {
	case RestartAlways:
		return newEngine || !c.Stopped
	case RestartUnlessStopped:
		return !c.Stopped
	case RestartOnFailure:
		return !c.Stopped && c.End != (End{}) && (r.Most == 0 || c.Restarts < r.Most)
	}
	return false
}

// The time until a container begins anew doubles with each end, up to a minute; one that ran for a while begins with
// the first again, as in Docker (https://github.com/moby/moby/blob/v27.5.1/restartmanager/restartmanager.go).
const (
	firstPause = 100 * time.Millisecond
	mostPause  = time.Minute
	longRun    = 10 * time.Second
)

// pauseAfter returns the time until a container begins anew that ran for so long, by that of the last time.
func pauseAfter(last, ran time.Duration) time.Duration {
	if last == 0 || ran >= longRun {
		return firstPause
	}
	return min(2*last, mostPause)
}

// nobody returns the client of what begins by itself.
func nobody() *client {
	return &client{
		read:  json.NewDecoder(strings.NewReader("")),
		write: json.NewEncoder(io.Discard),
	}
}

// restart has a container that has ended begin anew after a pause, and tries again if it cannot, each time after a
// longer one. It returns when the container has begun, or when it is not to be tried any more. A run that has begun
// calls it at its end; one that a person asked for and that cannot begin is not tried again.
func (s *service) restart(id string, pause time.Duration) {
	c, known := s.register.get(id)
	if !known || !c.restarts(false) {
		return
	}

	defer s.register.waits(id)()
	for ended := c.Finished; s.rests(pause); pause = pauseAfter(pause, 0) {
		c, due := s.register.attempt(id, ended)
		if !due {
			return
		}
		err := s.beginAgain(c, pause)
		if err == nil || s.life.Err() != nil {
			return
		}

		c = s.register.notBegun(id, err)
		if !c.restarts(false) {
			if c.State() == Exited && !c.Stopped { // else somebody has it run, or does not want it any more
				s.options.Log.Warn("a container does not begin anew", "container", c.Name, "error", err)
			}
			return
		}
		s.options.Log.Warn("a container has not begun anew, and is tried again", "container", c.Name, "error", err,
			"after", pauseAfter(pause, 0))
	}
}

// rests lets a time pass. It reports whether the engine still lives.
func (s *service) rests(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.life.Done():
		return false
	}
}

// beginAgain has a container that has ended begin anew by itself, after a pause. It returns when its program runs.
func (s *service) beginAgain(c Container, pause time.Duration) error {
	ask, err := askedAgain(c)
	if err != nil {
		return err
	}
	return s.begin(s.life, func() {}, nobody(), beginning{
		ask: ask,
		id:  c.ID,
		enter: func(k *container) error {
			k.byItself, k.pause = true, pause
			return s.register.again(k)
		},
	})
}

// restartLeft has those containers begin anew that have ended with an earlier engine.
func (s *service) restartLeft() {
	for _, c := range s.register.list() {
		if !c.restarts(true) {
			continue
		}
		s.register.revive(c.ID)
		leave := s.idle.enter()
		s.background.Go(func() {
			defer leave()
			s.restart(c.ID, 0)
		})
	}
}
