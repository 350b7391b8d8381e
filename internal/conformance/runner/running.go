package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/conformance/ginkgo"
	"mullion.dev/mullion/internal/conformance/result"
)

// running is a run under way.
type running struct {
	config  Config
	cluster *cluster
	folder  *result.Folder

	mu      sync.Mutex
	run     result.Run
	results result.Results
	begun   time.Time // of this part of the run
	done    int       // the specs that have ended in this part
	todo    int       // the specs to run in this part
	failed  int       // the failed specs of the whole run
	fault   error     // why results cannot be stored any more
	suite   string    // why the work before all specs failed
	stop    context.CancelCauseFunc
}

// all runs the specs that are not done yet, tidies up, and writes how the run ended.
func (r *running) all(ctx context.Context) (err error) {
	r.begun = time.Now()
	r.todo = len(r.run.Planned) - len(r.results.Done())
	r.failed = result.Count(r.results.All())[result.Failed]
	before, err := r.cluster.testNamespaces(ctx)
	if err != nil {
		return err
	}

	if r.config.TaintLinux {
		defer func() { err = errors.Join(err, r.cluster.taint(context.WithoutCancel(ctx), r.cluster.linux, false)) }()
		if err := r.cluster.taint(ctx, r.cluster.linux, true); err != nil {
			return err
		}
	}

	why := r.processes(ctx)
	if err := r.finish(why); err != nil {
		return err
	}
	if err := r.cluster.removeNamespaces(context.WithoutCancel(ctx), before); err != nil && r.run.Reason == "" {
		return err
	}

	if why != nil {
		return fmt.Errorf("%s, %d of %d specs are done: %w", r.run.ID, len(r.results.Done()), len(r.run.Planned), why)
	}
	return nil
}

// finish writes how the run ended.
func (r *running) finish(why error) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.run.EndTime = time.Now().UTC().Truncate(time.Second)
	r.run.Busy += time.Since(r.begun)
	r.run.End, r.run.Reason = result.Complete, ""
	r.results.Run = r.run
	if why == nil && len(r.results.Done()) < len(r.run.Planned) {
		why = errors.New("the test processes ended early")
	}
	if why != nil {
		r.run.End, r.run.Reason = result.Partial, why.Error()
	}

	r.results.Run = r.run
	return r.folder.Save(r.run)
}

// Reasons for which a run stops before its end.
var (
	errStopped = errors.New("stopped by the user")
	errGone    = errors.New("the cluster does not answer any more")
)

// processes runs e2e.test until all specs are done or the run is to stop, and says why it stopped.
func (r *running) processes(ctx context.Context) error {
	ctx, r.stop = context.WithCancelCause(ctx)
	defer r.stop(nil)

	server, err := ginkgo.Listen(context.WithoutCancel(ctx), r.run.Processes, ginkgo.Events{
		Begin:  func(ginkgo.Suite) {},
		Ran:    r.ran,
		Output: r.output,
	})
	if err != nil {
		return err
	}
	defer server.Close()
	watch, endWatch := context.WithCancel(ctx)
	defer endWatch()

	go r.watch(watch)

	dir, err := os.MkdirTemp("", "mullion-conformance-")
	if err != nil {
		return fmt.Errorf("make folder for the tests: %w", err)
	}

	args := r.config.e2eArgs(r.run, r.cluster.windows, r.results.Done())
	errs := make([]error, r.run.Processes)
	var wg sync.WaitGroup
	for i := range r.run.Processes {
		wg.Go(func() {
			defer server.Ended(i + 1)
			errs[i] = r.process(ctx, i+1, dir, slices.Concat(args, server.Args(i+1)))
		})
	}

	wg.Wait()
	err = os.RemoveAll(dir)
	r.mu.Lock()
	defer r.mu.Unlock()

	switch cause := context.Cause(ctx); {
	case r.fault != nil:
		return r.fault
	case r.suite != "":
		return fmt.Errorf("the setup before all specs failed: %s", shorten(r.suite))
	case errors.Is(cause, errGone):
		return cause
	case cause != nil:
		return errStopped
	case len((result.Results{Run: r.run, Specs: r.results.Specs}).Done()) < len(r.run.Planned):
		return errors.Join(
			append(
				errs, errors.New(
					"the test processes ended early; process-N.log in the folder of results says more"))...)
	}

	return err
}

// graceTime is how long the tests may tidy up after the first signal.
const graceTime = 3 * time.Minute

// process runs one e2e.test. When ctx ends, the process is told to tidy up and end; when the user asks again, or
// graceTime is over, it is killed.
func (r *running) process(ctx context.Context, n int, dir string, args []string) error {
	log, err := os.OpenFile(filepath.Join(r.folder.Path, fmt.Sprintf("process-%d.log", n)),
		os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("open log of test process: %w", err)
	}
	defer log.Close()

	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.config.Program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, r.config.Environ...), ginkgo.ProtocolEnv, "KUBECONFIG="+r.config.Kubeconfig,
		"TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the terminal's Ctrl-C reaches only this program
	if err := cmd.Start(); err != nil {
		return missing(r.config.Program, fmt.Errorf("start test process %d: %w", n, err))
	}

	ended := make(chan struct{})
	go r.endProcess(ctx, cmd.Process, ended)
	err = cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() { // a spec failed; its report says so
		return nil
	}

	if err != nil {
		return fmt.Errorf("test process %d: %w", n, err)
	}
	return nil
}

// endProcess ends a process when ctx has ended.
func (r *running) endProcess(ctx context.Context, p *os.Process, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}

	_ = p.Signal(os.Interrupt) // a process that has just ended needs no signal
	grace := time.NewTimer(graceTime)
	defer grace.Stop()
	var hurry <-chan struct{}
	if r.config.Hurry != nil {
		hurry = r.config.Hurry()
	}

	select {
	case <-ended:
	case <-hurry:
	case <-grace.C:
	}

	_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // with everything that it has started; an error means that it has ended
}

// watch stops the run if the cluster does not answer for too long.
func (r *running) watch(ctx context.Context) {
	limit := r.config.limit()
	tick := time.NewTicker(limit.ask)
	defer tick.Stop()

	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}

		_, err := r.cluster.api.ServerVersion(ctx)
		switch {
		case err == nil:
			last = time.Now()
		case time.Since(last) > limit.gone:
			r.stop(fmt.Errorf("%w: %w", errGone, err))
			return
		}
	}
}
