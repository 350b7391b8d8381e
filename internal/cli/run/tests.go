package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"mullion.dev/mullion/internal/base/interrupt"
	"mullion.dev/mullion/internal/cli/engine"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/single"
	"mullion.dev/mullion/internal/single/gotest"
)

// checkTests refuses what a test program cannot be called with.
func (o *options) checkTests(program string) error {
	switch {
	case o.detach:
		return engine.Failed(errors.New("--go-test with -d: who calls a test program waits for its end"), "leave one of them out")
	case o.terminal:
		return engine.Failed(errors.New("--go-test with -t: what a test program says is read by go"), "leave one of them out")
	case o.entrypoint != "":
		return engine.Failed(errors.New("--entrypoint replaces the program, and --go-test names one"), "leave one of them out")
	}
	return checkProgram(program)
}

// runTests runs a test program as `go test -exec` calls it, and ends as it does.
func (a *commands) runTests(
	ctx, outer context.Context, client *single.Client, ask single.Run, program string,
) (err error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return engine.Failed(err, "")
	}
	dir, err := filepath.Abs(".")
	if err != nil {
		return engine.Failed(err, "")
	}

	tests := gotest.Program{
		Path:    path,
		Dir:     dir,
		Args:    ask.Args,
		Environ: a.Env.Environ,
	}

	call, err := tests.Prepare(ctx, client, &ask)
	if err != nil {
		return engine.Failed(err, "")
	}
	defer func() { err = errors.Join(err, call.Close()) }()

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	go a.watchCaller(ctx, stop)
	end, err := engine.Console{Stdin: true}.Attach(ctx, outer, a.Env,
		func(ctx context.Context, streams single.Streams, _, _ uint16) (single.End, error) {
			return client.Run(ctx, ask, streams)
		})
	if errors.Is(err, errQuit) {
		return &exit.Error{Code: interrupt.Code(syscall.SIGQUIT), Err: err}
	}

	if err != nil {
		return engine.RefusedRun(err)
	}
	if err := call.Finish(); err != nil {
		return engine.Failed(err, "")
	}
	return engine.Ended(a.Env, end)
}

var (
	errQuit   = errors.New("the tests were ended by SIGQUIT, with which go ends those that take too long")
	errCaller = errors.New("the tests were ended, as the program that called them has")
)

// callerInterval is the time between two looks whether the caller lives.
const callerInterval = 200 * time.Millisecond

// watchCaller ends the tests when go does not wait for them any more: with SIGQUIT, or as it has ended itself.
func (a *commands) watchCaller(ctx context.Context, end context.CancelCauseFunc) {
	var quit <-chan struct{}
	if a.Env.Quit != nil {
		quit = a.Env.Quit(ctx)
	}
	tick := time.NewTicker(callerInterval)
	defer tick.Stop()

	for caller := os.Getppid(); ; {
		select {
		case <-ctx.Done():
			return
		case <-quit:
			end(errQuit)
			return

		case <-tick.C:
			if os.Getppid() != caller {
				end(errCaller)
				return
			}
		}
	}
}
