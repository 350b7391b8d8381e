package proc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"mullion.dev/mullion/internal/process/component"
)

// Limits that no caller has had a reason to change.
const (
	drainTimeout = 250 * time.Millisecond // for the last output of a child that has ended
	killTimeout  = 10 * time.Second       // for a process to end after SIGKILL
)

// Process is one supervised child. It is a component.Component; make one with New.
type Process struct {
	spec Spec

	mu    sync.Mutex // guards what follows, and calls to spec.Notify
	state State
	run   *supervision // nil unless started
	child *child       // nil unless one runs
}

// supervision is what belongs to one Start of a Process, through all restarts of its child.
type supervision struct {
	out    *output
	cancel context.CancelFunc // asks the supervision to end the child and itself
	kill   chan struct{}      // closed: kill the child at once
	done   chan struct{}      // closed when the supervision has ended
	ready  chan error         // gets one value: nil at the first readiness, or why it was never reached
	// patient says that Start's context has an end, so a busy child is not given up before.
	patient bool
}

// New returns a process that is not started.
func New(spec Spec) *Process {
	return &Process{spec: spec.withDefaults(), state: State{Phase: Idle, Since: time.Now()}}
}

// ID implements component.Component.
func (p *Process) ID() component.ID { return p.spec.ID }

// State returns what is known of the process now.
func (p *Process) State() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.state
}

// Probe implements component.Prober: it asks Spec.Ready once.
func (p *Process) Probe(ctx context.Context) error {
	state := p.State()
	switch {
	case state.Phase != Running && state.Err != nil:
		return fmt.Errorf("it is %s: %w", state.Phase, state.Err)
	case state.Phase != Running:
		return fmt.Errorf("it is %s", state.Phase)
	case p.spec.Ready == nil:
		return nil
	}
	return p.spec.Ready(ctx)
}

// Done returns a channel that is closed when the process is no longer supervised: it was stopped, or it failed for
// good. It is nil before Start.
func (p *Process) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return nil
	}
	return p.run.done
}

// Start starts the child and returns when it is ready. A child that dies before it was ready once, or is not ready in
// time, is an error (which has its last lines of output), and is not started again. After that the child is kept
// alive as Spec.Restart says until Stop. Start of a process that runs already is an error.
func (p *Process) Start(ctx context.Context) error {
	out, err := openOutput(p.spec.LogPath, p.spec.LogSize)
	if err != nil {
		return fmt.Errorf("start process %q: %w", p.spec.ID, err)
	}

	superCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	_, patient := ctx.Deadline()
	run := &supervision{
		out:     out,
		cancel:  cancel,
		patient: patient,
		kill:    make(chan struct{}),
		done:    make(chan struct{}),
		ready:   make(chan error, 1),
	}
	if !p.adopt(run) {
		cancel()
		return errors.Join(fmt.Errorf("start process %q: it is running already", p.spec.ID), out.close())
	}

	go p.supervise(superCtx, run)
	select {
	case err := <-run.ready:
		return err
	case <-ctx.Done():
		stopErr := p.Stop(context.WithoutCancel(ctx))
		return errors.Join(p.runError(run.out, fmt.Errorf("not ready yet when the start was cancelled: %w", ctx.Err())),
			stopErr)
	}
}

// Stop asks the child to end, kills it if it does not within Spec.StopTimeout or when ctx is over, and returns when it
// is gone. It is no error if there is no child.
func (p *Process) Stop(ctx context.Context) error {
	p.mu.Lock()
	run := p.run
	p.mu.Unlock()
	if run == nil {
		p.set(func(s *State) { s.Phase = Stopped })
		return nil
	}

	run.cancel()
	select {
	case <-run.done:
	case <-ctx.Done():
		p.abandonPatience(run)
		<-run.done
	}

	state := p.State()
	if state.PID != 0 {
		return fmt.Errorf("stop process %q: pid %d does not end even after SIGKILL", p.spec.ID, state.PID)
	}
	p.set(func(s *State) { s.Phase = Stopped })
	return nil
}

// adopt makes run the current supervision, and returns false if another one is under way.
func (p *Process) adopt(run *supervision) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run != nil {
		select {
		case <-p.run.done:
		default:
			return false
		}
	}
	p.run = run
	return true
}

// abandonPatience closes run.kill once.
func (p *Process) abandonPatience(run *supervision) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-run.kill:
	default:
		close(run.kill)
	}
}

// hold sets the child that runs.
func (p *Process) hold(c *child) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.child = c
}

// set changes the state and calls spec.Notify.
func (p *Process) set(change func(*State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.state
	change(&p.state)
	if p.state.Phase != before.Phase {
		p.state.Since = time.Now()
	}
	if p.spec.Notify != nil && p.state != before {
		p.spec.Notify(p.state)
	}
}

// supervise runs the child again and again until ctx is over or a restart is of no use.
func (p *Process) supervise(ctx context.Context, run *supervision) {
	defer close(run.done)
	defer func() { _ = run.out.close() }() // the log is only appended to: there is nothing to lose

	p.set(func(s *State) { s.Restarts, s.Err = 0, nil })
	deaths, wasReady := 0, false
	for {
		run.out.forget()
		var readyAt time.Time
		err := p.runOnce(ctx, run, func() {
			readyAt = time.Now()
			if !wasReady {
				wasReady = true
				run.ready <- nil
			}
		})

		if ctx.Err() != nil {
			p.set(func(s *State) { s.Phase = Stopped })
		} else if !wasReady || p.spec.Restart.Never || IsNoRestart(err) {
			p.set(func(s *State) { s.Phase, s.Err = Failed, err })
		} else {
			if !readyAt.IsZero() && time.Since(readyAt) >= p.spec.Restart.Reset {
				deaths = 0
			}
			deaths++
			p.set(func(s *State) { s.Phase, s.Err = BackingOff, err })
			if pause(ctx, p.spec.Restart.delay(deaths)) {
				p.set(func(s *State) { s.Restarts++ })
				continue
			}

			p.set(func(s *State) { s.Phase = Stopped })
		}

		if !wasReady {
			run.ready <- err
		}
		return
	}
}

// runOnce starts the child, calls onReady when it is ready, and returns when it is gone, with the reason.
func (p *Process) runOnce(ctx context.Context, run *supervision, onReady func()) error {
	child, err := p.spawn(ctx, run.out)
	if err != nil {
		return p.runError(run.out, err)
	}
	defer child.release()
	p.hold(child)
	defer p.hold(nil)

	p.set(func(s *State) { s.Phase, s.PID = Starting, child.pid })
	probeCtx, cancel := context.WithCancel(ctx)
	defer cancel()

	ready := make(chan error, 1)
	go func() { ready <- p.awaitReady(probeCtx, child.pid, run.patient && p.State().Restarts == 0) }()
	for {
		select {
		case err := <-ready:
			ready = nil
			if err == nil {
				p.set(func(s *State) { s.Phase = Running })
				onReady()
				continue
			}

			if ctx.Err() == nil {
				p.end(child, run.kill)
				return p.runError(run.out, err)
			}

		case <-child.exited:
			p.set(func(s *State) { s.PID = 0 })
			child.drain(ctx)
			return p.runError(run.out, child.reason())
		case <-ctx.Done():
			p.end(child, run.kill)
			return p.runError(run.out, errors.New("it was stopped"))
		}
	}
}

// awaitReady asks Spec.Ready until it returns nil, ctx is over, or the child counts as not ready: it has stood still
// for Spec.ReadyTimeout or, unless patient, was busy for ten times as long.
func (p *Process) awaitReady(ctx context.Context, pid int, patient bool) error {
	if p.spec.Ready == nil {
		return nil
	}

	begin, patience := time.Now(), patience{limit: p.spec.ReadyTimeout, used: usageOf(pid)}
	const busy = 10
	for {
		probeCtx, cancel := context.WithTimeout(ctx, readyProbeTimeout)
		err := p.spec.Ready(probeCtx)
		cancel()
		if err == nil || IsNoRestart(err) {
			return err
		}

		since := time.Since(begin)
		if since-patience.last >= patience.lookInterval() {
			patience.look(since, usageOf(pid))
		}
		if patience.over() || (!patient && since >= busy*p.spec.ReadyTimeout) {
			return fmt.Errorf("it was not ready within %s, of which it stood still for %s: %w",
				since.Round(time.Millisecond), patience.idled.Round(time.Millisecond), err)
		}

		if !pause(ctx, Pace(p.spec.ReadyInterval, since)) {
			return fmt.Errorf("it was not ready when the wait was ended: %w", err)
		}
	}
}

// Pace returns the time to wait before the next check of a condition: least at first, later a fiftieth of the time
// since the start, because on a slow machine each check delays what is waited for.
func Pace(least, since time.Duration) time.Duration {
	const part = 50
	return max(least, since/part)
}

// end makes the child end: by the stop signal first, by SIGKILL after the stop timeout or when kill is closed. If even
// that does not help, the pid stays in the state.
func (p *Process) end(child *child, kill <-chan struct{}) {
	_ = child.cmd.Process.Signal(p.spec.StopSignal) // it may have ended by itself
	patience := time.NewTimer(p.spec.StopTimeout)
	defer patience.Stop()
	select {
	case <-child.exited:
	case <-patience.C:
	case <-kill:
	}

	_ = child.cmd.Process.Kill() // a no-op on one that has ended
	last := time.NewTimer(killTimeout)
	defer last.Stop()
	select {
	case <-child.exited:
		p.set(func(s *State) { s.PID = 0 })
	case <-last.C:
	}
}

// RunError says that a child died or was not ready: what was run, why it ended, and the last lines it wrote.
type RunError struct {
	ID      component.ID
	Command []string
	Err     error
	Output  []string
}

// Error implements error.
func (e *RunError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "run %s (%s): %v", e.ID, abridge(strings.Join(e.Command, " ")), e.Err)
	if len(e.Output) > 0 {
		b.WriteString("; its last lines:")
		for _, line := range e.Output {
			b.WriteString("\n  " + line)
		}
	}
	return b.String()
}

// Unwrap returns the reason.
func (e *RunError) Unwrap() error { return e.Err }

// abridge keeps command lines (the API server's has forty flags) from drowning the message; the log has all.
func abridge(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + "…"
}

func (p *Process) runError(out *output, err error) error {
	return &RunError{
		ID:      p.spec.ID,
		Command: slices.Concat([]string{p.spec.Path}, p.spec.Args),
		Err:     err,
		Output:  out.lines(),
	}
}

// pause waits for d. It returns false if ctx was over before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// child is one run of the program.
type child struct {
	cmd     *exec.Cmd
	pid     int
	exited  chan struct{}
	waitErr error // valid when exited is closed
	reader  *os.File
	drained <-chan struct{}
}

// reason says how the child ended.
func (c *child) reason() error {
	if c.waitErr == nil {
		return errors.New("it ended by itself with exit status 0")
	}
	return fmt.Errorf("it ended by itself: %w", c.waitErr)
}

// drain waits a little for the output that is still in the pipe.
func (c *child) drain(ctx context.Context) {
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	select {
	case <-c.drained:
	case <-timer.C: // a grandchild holds the pipe
	case <-ctx.Done():
	}
}

// release closes the pipe if the child did not die. Otherwise the pipe stays open until the last grandchild that
// outlives the child has ended.
func (c *child) release() {
	select {
	case <-c.exited:
	default:
		_ = c.reader.Close() // the child does not die: stop reading its output
	}
}
