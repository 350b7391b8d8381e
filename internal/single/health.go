package single

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/image"
)

// HealthCheck says how a container is asked for its health, with Docker's names
// (https://github.com/moby/docker-image-spec/blob/v1.3.1/specs-go/v1/image.go). What is 0 is the image's, or Docker's.
type HealthCheck struct {
	// Test is the program and its arguments after CMD, a line for the shell after CMD-SHELL, or NONE.
	Test          []string      `json:",omitempty"`
	Interval      time.Duration `json:",omitempty"`
	Timeout       time.Duration `json:",omitempty"`
	StartPeriod   time.Duration `json:",omitempty"`
	StartInterval time.Duration `json:",omitempty"`
	Retries       int           `json:",omitempty"`
	// Shell is the image's, "" the usual one.
	Shell []string `json:"-"`
}

// The words with which a HealthCheck's Test begins.
const (
	healthNone  = "NONE"
	healthCmd   = "CMD"
	HealthShell = "CMD-SHELL"
)

// NoHealth is the check of a container that is not asked.
func NoHealth() *HealthCheck { return &HealthCheck{Test: []string{healthNone}} }

// Docker's values for what is not said, and bounds
// (https://github.com/moby/moby/blob/v27.5.1/daemon/health.go).
const (
	healthInterval      = 30 * time.Second
	healthTimeout       = 30 * time.Second
	healthStartInterval = 5 * time.Second
	healthRetries       = 3
	healthStarting      = 30 * time.Second // for the check's own start, which does not count against its Timeout
	healthLeast         = time.Millisecond
	mostHealthOutput    = 4096 // bytes
	mostHealthLog       = 5
)

// Check refuses times that no container has.
func (h *HealthCheck) Check() error {
	for _, one := range []struct {
		name string
		is   time.Duration
	}{
		{"Interval", h.Interval}, {"Timeout", h.Timeout}, {"StartPeriod", h.StartPeriod}, {"StartInterval", h.StartInterval},
	} {
		if one.is != 0 && one.is < healthLeast {
			return fmt.Errorf("%s in Healthcheck cannot be less than %v", one.name, healthLeast)
		}
	}
	if h.Retries < 0 {
		return errors.New("Retries in Healthcheck cannot be negative") //nolint:revive,staticcheck // Docker's words
	}
	return nil
}

// over returns a check with what another one, the image's, has of what it does not say.
func (h *HealthCheck) over(of HealthCheck) HealthCheck {
	if h == nil {
		return of
	}
	if len(h.Test) > 0 {
		of.Test = h.Test
	}
	of.Interval = cmp.Or(h.Interval, of.Interval)
	of.Timeout = cmp.Or(h.Timeout, of.Timeout)
	of.StartPeriod = cmp.Or(h.StartPeriod, of.StartPeriod)
	of.StartInterval = cmp.Or(h.StartInterval, of.StartInterval)
	of.Retries = cmp.Or(h.Retries, of.Retries)
	return of
}

// command returns the program that asks, with its arguments, or one command line (raw); none: nobody asks.
func (h *HealthCheck) command() (args []string, raw bool, err error) {
	if len(h.Test) < 2 {
		return nil, false, nil
	}
	switch h.Test[0] {
	case healthCmd:
		return h.Test[1:], false, nil
	case HealthShell:
		shell := "cmd /S /C"
		if len(h.Shell) > 0 {
			shell = strings.Join(h.Shell, " ")
		}
		return []string{shell + " " + strings.Join(h.Test[1:], " ")}, true, nil
	case healthNone:
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("the health check begins with %q, which is none of NONE, CMD and CMD-SHELL", h.Test[0])
}

// The words of Health.Status.
const (
	Starting  = "starting"
	Healthy   = "healthy"
	Unhealthy = "unhealthy"
)

// Health is what is known of a container's health, with Docker's names.
type Health struct {
	Status        string
	FailingStreak int
	Log           []HealthResult
}

// HealthResult is what one check has said. Its ExitCode is -1 if it did not end by itself.
type HealthResult struct {
	Start, End time.Time
	ExitCode   int
	Output     string
}

// with returns a container's health after another check. started is when its program began.
func (h Health) with(r HealthResult, check *HealthCheck, started time.Time) Health {
	log := append(append([]HealthResult{}, h.Log...), r) // who has the other one reads it
	h.Log = log[max(0, len(log)-mostHealthLog):]

	switch {
	case r.ExitCode == 0:
		h.FailingStreak, h.Status = 0, Healthy
	case h.Status == Starting && r.Start.Sub(started) < check.StartPeriod: // it does not count yet
	default:
		retries := check.Retries
		if retries <= 0 {
			retries = healthRetries
		}
		if h.FailingStreak++; h.FailingStreak >= retries {
			h.Status = Unhealthy
		}
	}

	return h
}

// pause returns how long nobody asks until the next check, of a container that has run for so long. As long as it may
// start and has not been healthy, it is asked more often, but not past the time that it has for its start.
func (h *HealthCheck) pause(status string, ran time.Duration) time.Duration {
	if left := h.StartPeriod - ran; status == Starting && left > 0 {
		return min(left, cmp.Or(h.StartInterval, healthStartInterval))
	}
	return cmp.Or(h.Interval, healthInterval)
}

// healthCheck returns how the container is to be asked for its health; nil: nobody asks.
func (k *container) healthCheck(ctx context.Context, img image.Info) (*HealthCheck, error) {
	own := k.ask.Health
	if k.ask.Layer != "" || (own != nil && len(own.Test) > 0 && own.Test[0] == healthNone) {
		return nil, nil //nolint:nilnil // none is asked for
	}
	var fields map[string]json.RawMessage
	var err error
	if k.ask.Image != "" {
		fields, err = k.fields(ctx, img)
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of image %q: %w", k.ask.Image, err)
	}

	check, err := own.ofImage(fields)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of image %q: %w", k.ask.Image, err)
	}
	args, _, err := check.command()
	if err != nil { // Docker says so in its log, too
		k.service.options.Log.Warn("a container is not asked for its health", "container", k.name, "error", err)
	}
	if len(args) == 0 {
		return nil, nil //nolint:nilnil // there is none
	}
	return &check, nil
}

// ofImage returns a check with what the configuration of an image says.
func (h *HealthCheck) ofImage(fields map[string]json.RawMessage) (HealthCheck, error) {
	var of HealthCheck
	for name, to := range map[string]any{"Healthcheck": &of, "Shell": &of.Shell} {
		text, has := fields[name]
		if !has {
			continue
		}
		if err := json.Unmarshal(text, to); err != nil {
			return of, fmt.Errorf("%s: %w", name, err)
		}
	}
	of = h.over(of)
	return of, of.Check()
}

// watchHealth asks a container whose program runs for its health, until the result is called, which returns when nobody
// asks any more.
func (k *container) watchHealth(ctx context.Context) (stop func()) {
	if k.check == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var asks sync.WaitGroup
	asks.Go(func() { k.askHealth(ctx, time.Now()) })
	return func() {
		cancel()
		asks.Wait()
	}
}

func (k *container) askHealth(ctx context.Context, started time.Time) {
	status := Starting
	for {
		timer := time.NewTimer(k.check.pause(status, time.Since(started)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}

		r := k.probe(ctx)
		if ctx.Err() != nil || closed(k.ended) { // what ended the container has ended the check
			return
		}
		now := k.service.register.asked(k.id, func(h Health) Health { return h.with(r, k.check, started) })
		if now != status {
			k.service.options.Log.Info("the health of a container has changed", "container", k.name, "health", now,
				"before", status)
		}
		status = now
	}
}

// probe asks once.
func (k *container) probe(ctx context.Context) HealthResult {
	r := HealthResult{Start: time.Now()}
	said := &limited{}
	code, err := k.runProbe(ctx, said)
	r.End = time.Now()
	r.ExitCode, r.Output = code, said.text()

	if err != nil {
		r.ExitCode = -1
		if errors.Is(err, errSlow) && r.Output != "" {
			r.Output = err.Error() + ": " + r.Output
		} else {
			r.Output = err.Error()
		}
	}
	return r
}

// errSlow says that a check took too long, as Docker does.
var errSlow = errors.New("Health check exceeded timeout") //nolint:revive,staticcheck // Docker's words

// runProbe runs the check's program, and returns its exit code.
func (k *container) runProbe(ctx context.Context, said *limited) (code int, err error) {
	dir, err := os.MkdirTemp(k.service.options.Paths.container(k.id), "health-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	pipes, err := openStreams(ctx, dir, false, false)
	if err != nil {
		return 0, err
	}
	defer pipes.close()
	drained, _ := pipes.copyOut(Streams{Out: said, Err: said})

	args, raw, err := k.check.command()
	if err != nil {
		return 0, err
	}
	l := k.newLater(Exec{Args: args})
	l.dir, l.raw = dir, raw
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }() // of a container that has ended meanwhile, nothing is left

	starting, cancel := context.WithTimeout(ctx, healthStarting)
	defer cancel()
	if err := l.start(starting, &undo); err != nil {
		return 0, err
	}
	k.service.background.Go(func() { l.hasEnded(k.engine.WaitExec(context.WithoutCancel(ctx), k.id, l.id)) })
	if err := l.awaitStart(starting); err != nil {
		return 0, err
	}

	timeout := cmp.Or(k.check.Timeout, healthTimeout)
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-l.ended:
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-timer.C:
		return 0, fmt.Errorf("%w (%v)", errSlow, timeout)
	}

	select {
	case <-drained:
	case <-time.After(time.Second): // something that it has started has its output
	}
	end, err := l.howEnded()
	return int(end.Code), err
}

// limited keeps the beginning of what a check says.
type limited struct {
	mu   sync.Mutex
	kept []byte
	more bool
}

// Write keeps what there is room for.
func (l *limited) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := min(len(text), mostHealthOutput-len(l.kept))
	l.kept = append(l.kept, text[:keep]...)
	l.more = l.more || keep < len(text)
	return len(text), nil
}

// text returns what was kept, and that there was more.
func (l *limited) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more {
		return string(l.kept) + "..."
	}
	return string(l.kept)
}

// asked notes what a check has changed of a container's health, as long as the container lives, and returns the status.
func (r *register) asked(id string, change func(Health) Health) string {
	r.waitingMu.Lock()
	defer r.waitingMu.Unlock()
	h := change(r.health[id])
	r.health[id] = h
	return h.Status
}

// healthBegins notes of a container whose program begins how it will be asked. What earlier checks have said stays.
func (r *register) healthBegins(c *Container, check *HealthCheck) {
	h := Health{Status: Starting, Log: []HealthResult{}}
	if c.Health != nil && len(c.Health.Log) > 0 {
		h.Log = c.Health.Log
	}
	c.Check, c.Health = check, nil
	if check == nil {
		return
	}
	c.Health = &h
	r.asked(c.ID, func(Health) Health { return h })
}

// healthEnds notes the health of a container that has ended, which is never healthy, as with Docker.
func (r *register) healthEnds(c *Container) {
	r.waitingMu.Lock()
	defer r.waitingMu.Unlock()
	h, asked := r.health[c.ID]
	delete(r.health, c.ID)
	if asked {
		h.Status = Unhealthy
		c.Health = &h
	}
}
