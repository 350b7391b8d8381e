package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"

	"mullion.dev/mullion/internal/base/cleanup"
)

// StartExec runs a program in a container with FIFOs for its streams, which somebody else has at their other ends, and
// returns when it has started. Unlike with Exec, the program lives on when this process ends: WaitExec finds it again,
// by its name and the container's. Of x, the streams are not looked at.
func (e *Engine) StartExec(ctx context.Context, id string, x ExecSpec, stdio IO) (err error) {
	ctx = e.with(context.WithoutCancel(ctx)) // a program that is half started has no use
	process, err := e.encodeExec(ctx, id, x)
	if err != nil {
		return err
	}
	var undo cleanup.Stack
	defer func() { err = errors.Join(err, undo.Clean()) }()

	_, err = e.client.TaskService().Exec(ctx, &tasksapi.ExecProcessRequest{
		ContainerID: id,
		ExecID:      x.ID,
		Spec:        process,
		Stdin:       stdio.Stdin,
		Stdout:      stdio.Stdout,
		Stderr:      stdio.Stderr,
		Terminal:    stdio.Terminal,
	})
	if err != nil {
		return fmt.Errorf("add program to container %q: %w", id, errgrpc.ToNative(err))
	}

	undo.Add(func() error { return e.EndExec(ctx, id, x.ID) })
	if err := <-e.startExec(ctx, id, x.ID); err != nil {
		return fmt.Errorf("start program in container %q: %w", id, errgrpc.ToNative(err))
	}
	undo.Release()
	return nil
}

// WaitExec returns when a program that StartExec has started ends. It outlasts a restart of containerd. The error is
// errdefs.ErrNotFound if the program, or the container, is not there.
func (e *Engine) WaitExec(ctx context.Context, id, exec string) (Exit, error) {
	for {
		r, err := e.client.TaskService().Wait(e.with(ctx), &tasksapi.WaitRequest{ContainerID: id, ExecID: exec})
		if err == nil {
			return Exit{Code: r.ExitStatus, At: r.ExitedAt.AsTime()}, nil
		}
		err = errgrpc.ToNative(err)
		if ctx.Err() != nil || errdefs.IsNotFound(err) {
			return Exit{}, fmt.Errorf("wait for program in container %q: %w", id, err)
		}

		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// EndExec kills a program with all that it has started, and returns when none of them is left and containerd has
// forgotten it. One that is not there is no error.
func (e *Engine) EndExec(ctx context.Context, id, exec string) error {
	ctx = e.with(ctx)
	var err error
	for range killRounds {
		left, killErr := e.killExec(ctx, id, exec)
		if err = errors.Join(killErr, e.forgetExec(ctx, id, exec)); err == nil && left == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(killPause):
		}
	}

	return fmt.Errorf("end program in container %q: %w", id, err)
}

// KillExec kills a program with all that it has started; its end is told by WaitExec.
func (e *Engine) KillExec(ctx context.Context, id, exec string) error {
	_, err := e.killExec(e.with(ctx), id, exec)
	return err
}

// ForgetExec lets containerd forget a program that has ended, of which WaitExec has told. It waits for the output of
// what the program has left running, a while.
func (e *Engine) ForgetExec(ctx context.Context, id, exec string) error {
	return e.forgetExec(e.with(ctx), id, exec)
}

// CloseExecStdin tells a program that no more input will come.
func (e *Engine) CloseExecStdin(ctx context.Context, id, exec string) {
	e.closeExecStdin(e.with(ctx), id, exec)
}

// ResizeExec sets the size of the terminal of a program in characters.
func (e *Engine) ResizeExec(ctx context.Context, id, exec string, width, height uint16) error {
	return e.resize(e.with(ctx), id, exec, width, height)
}
