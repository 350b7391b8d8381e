package schedule

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// forever is as long as a task without a limit may run.
const forever = 100 * 365 * 24 * time.Hour

// Engine runs tasks when they are due.
type Engine struct {
	Store *Store
	// Booted is when this Windows was started.
	Booted time.Time
	// Run runs a program to its end.
	Run func(ctx context.Context, a Action) (code uint32, err error)
	// Every is how often it looks what is due.
	Every time.Duration

	mu      sync.Mutex
	running map[string]*running
	wg      sync.WaitGroup
}

// running are the runs of a task.
type running struct {
	count int
	stop  []context.CancelFunc
}

// Results of tasks that did not run to their end
// (https://learn.microsoft.com/windows/win32/taskschd/task-scheduler-error-and-success-constants).
const (
	resultEnded  = 0x41306
	resultAbsent = 0x80070002
)

// Serve runs tasks until the context ends, and ends then what runs.
func (e *Engine) Serve(ctx context.Context) error {
	e.running = map[string]*running{}
	tasks, err := e.Store.List()
	if err != nil {
		return err
	}

	start := time.Now()
	for _, t := range tasks {
		is := e.Store.StateOf(t)
		is.Running = false // the engine that ran it is gone
		due := e.atStart(t, &is, start)
		_ = e.Store.setState(t, is) // as in change; one task's note holds up no other task
		if due {
			e.start(ctx, t)
		}
	}

	ticker := time.NewTicker(e.Every)
	defer ticker.Stop()
	for last := start; ; {
		select {
		case <-ctx.Done():
			e.wg.Wait()
			return nil
		case <-ticker.C:
		}

		now := time.Now()
		tasks, err := e.Store.List()
		if err != nil {
			continue // it is looked for again
		}
		for _, t := range tasks {
			e.step(ctx, t, last, now)
		}
		last = now
	}
}

// atStart reports whether a task is due as the engine starts: it runs with Windows and has not done so since this
// start, or a start of it was missed and is to be made up for.
func (e *Engine) atStart(t Task, is *State, now time.Time) bool {
	if t.Disabled {
		return false
	}
	due := false
	if t.Registered.Before(e.Booted) && is.Booted.Before(e.Booted) {
		for _, one := range t.Triggers {
			due = due || (one.Kind == Startup && !one.Disabled)
		}
		is.Booted = e.Booted
	}
	if !t.Late {
		return due
	}

	since := is.LastRun
	if since.IsZero() {
		since = t.Registered
	}
	at, ok := t.Next(since, e.Booted)
	return due || (ok && at.Before(now))
}

// step does what is due for a task, and what is asked.
func (e *Engine) step(ctx context.Context, t Task, last, now time.Time) {
	if e.Store.asked(t, endEnding) {
		e.end(t)
	}
	at, due := t.Next(last, e.Booted)
	due = due && !at.After(now)
	if e.Store.asked(t, startEnding) || due {
		e.start(ctx, t)
	}
}

// end ends what runs of a task.
func (e *Engine) end(t Task) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.running[t.FullPath()]; r != nil {
		for _, stop := range r.stop {
			stop()
		}
	}
}

// start runs the programs of a task one after the other, beside what else runs.
func (e *Engine) start(ctx context.Context, t Task) {
	e.mu.Lock()
	r := e.running[t.FullPath()]
	if r == nil {
		r = &running{}
		e.running[t.FullPath()] = r
	}
	if r.count > 0 {
		switch t.Instances {
		case "Parallel":
		case "StopExisting":
			for _, stop := range r.stop {
				stop()
			}
		default:
			e.mu.Unlock()
			return
		}
	}

	ctx, stop := context.WithTimeout(ctx, cmp.Or(t.Limit, forever))
	r.count++
	r.stop = append(r.stop, stop)
	e.mu.Unlock()

	e.change(t, func(is *State) { is.LastRun, is.Running = time.Now(), true })
	e.wg.Go(func() {
		code := e.run(ctx, t)
		stop()
		e.mu.Lock()
		r.count--
		if r.count == 0 {
			r.stop = nil
		}
		still := r.count > 0
		e.mu.Unlock()
		e.change(t, func(is *State) { is.Result, is.Running = code, still })
	})
}

func (e *Engine) run(ctx context.Context, t Task) uint32 {
	var code uint32
	for _, a := range t.Actions {
		var err error
		for tries := 0; ; tries++ {
			if code, err = e.Run(ctx, a); err == nil {
				break
			}
			code = resultAbsent
			if tries >= t.Restarts || !waited(ctx, t.RestartAfter) {
				break
			}
		}
		if ctx.Err() != nil {
			return resultEnded
		}
	}
	return code
}

// waited waits; false if the context ends before.
func waited(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// change notes something about a task.
func (e *Engine) change(t Task, what func(is *State)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	is := e.Store.StateOf(t)
	what(&is)
	_ = e.Store.setState(t, is) // it runs whether that is noted or not
}

// RunProgram runs a program of a task to its end. Variables of the environment in its parts are filled in; set gives it
// its command line as it stands.
func RunProgram(ctx context.Context, a Action, set func(cmd *exec.Cmd, line string)) (uint32, error) {
	program := strings.Trim(getenv(a.Execute), `"`)
	cmd := exec.CommandContext(ctx, program)
	cmd.Dir = strings.Trim(getenv(a.Dir), `"`)
	set(cmd, strings.TrimSpace(`"`+program+`" `+getenv(a.Arguments)))
	err := cmd.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return uint32(ended.ExitCode()), nil //nolint:gosec // an exit code has 32 bits
	}
	return 0, err
}

// getenv fills in %NAME% from the environment; a name that is not there stays as it is.
func getenv(text string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "%")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "%")
		if !closed {
			b.WriteString("%" + rest)
			return b.String()
		}
		if value, ok := os.LookupEnv(name); ok && name != "" { //nolint:forbidigo // the engine's, which tasks inherit
			b.WriteString(value)
			text = after
			continue
		}
		b.WriteString("%" + name)
		text = "%" + after
	}
}
