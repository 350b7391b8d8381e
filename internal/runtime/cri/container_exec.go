package cri

import (
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"

	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// Exec prepares to run a program in a container. A client that connects to the returned address gets the streams.
func (s *Server) Exec(_ context.Context, req *runtimeapi.ExecRequest) (*runtimeapi.ExecResponse, error) {
	if _, err := s.running(req.GetContainerId()); err != nil {
		return nil, fmt.Errorf("exec: %w", err)
	}
	return s.streams.GetExec(req)
}

// running returns the container of id, or an error unless it runs.
func (s *Server) running(id string) (store.Container, error) {
	c, err := s.containers.Get(id)
	if err != nil {
		return c, err
	}
	if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return c, fmt.Errorf("container %q is in state %v: %w", c.ID, c.State(), errdefs.ErrFailedPrecondition)
	}
	return c, nil
}

// execStreams are the streams of a program that is run in a container; each may be nil.
type execStreams struct {
	in       io.Reader
	out, err io.Writer
	tty      bool
	resize   <-chan [2]uint16
}

// exec runs a Windows program in a container, when it is its turn, and returns its 32-bit exit code.
func (s *Server) exec(ctx context.Context, c store.Container, kind admission.Kind, cmd []string,
	streams execStreams,
) (uint32, error) {
	if len(cmd) == 0 || cmd[0] == "" {
		return 0, fmt.Errorf("exec in container %q: no command: %w", c.ID, errdefs.ErrInvalidArgument)
	}
	k := s.kindOf(c.SandboxID)
	uid, err := k.user(c)
	if err != nil {
		return 0, err
	}

	id := newID()[:16]
	name := "exec-" + id
	env := s.loaderEnv(c)
	if streams.tty && !c.Config.GetTty() {
		env = append(env, "TERM=xterm")
	}

	x := engine.ExecSpec{
		ID:      id,
		UID:     uid,
		Dir:     s.driveOf(c),
		Env:     env,
		FIFODir: s.fifoDir(),
		Inside:  s.runDir(c),
		Args: s.cfg.Launch.programArgs(runSpec{
			report: path.Join(s.workTarget(c), name),
			env:    path.Join(s.workTarget(c), envFileName),
			dir:    c.Dir,
			args:   k.arguments(c, cmd),
		}),
		Stdin:    streams.in,
		Stdout:   streams.out,
		Stderr:   streams.err,
		Terminal: streams.tty,
		Resize:   streams.resize,
	}

	// containerd's words, which people look for (internal/cri/server/container_execsync.go of v2.4.2)
	const refused = "failed to exec in container: failed to start exec %q: %w: unknown"
	if err := refusalOf(c.ID, s.cfg.Launch.foresee(x.Args)); err != nil {
		return 0, fmt.Errorf(refused, id, err)
	}

	file := filepath.Join(s.runDir(c), name)
	defer os.Remove(file)
	place, err := s.enter(ctx, kind, c)
	if err != nil {
		return 0, fmt.Errorf("exec in container %q: %w", c.ID, err)
	}

	x.Over = s.leaveWhenStarted(place, file)
	exit, err := s.cfg.Engine.Exec(ctx, c.ID, x)
	if err != nil {
		return 0, err
	}

	r, err := readReport(file)
	switch {
	case err != nil:
		return 0, err
	case r.failed:
		return 0, fmt.Errorf(refused, id, r.refusal(c.ID))
	case r.exited:
		return r.code, nil
	}

	return exit.Code, nil
}

// Exec implements the streaming server's runtime: it runs a program with streams connected to a client.
//
//nolint:revive // The signature is that of streaming.Runtime.
func (r streamRuntime) Exec(ctx context.Context, id string, cmd []string, in io.Reader, out, errw io.WriteCloser,
	tty bool, resize <-chan remotecommand.TerminalSize,
) error {
	c, err := r.s.running(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	code, err := r.s.exec(ctx, c, admission.Person, cmd, execStreams{
		in:     in,
		out:    writer(out),
		err:    writer(errw),
		tty:    tty,
		resize: sizes(ctx, resize),
	})
	if err != nil {
		return err
	}

	if code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("command terminated with exit code %d", code), Code: int(code)}
	}
	return nil
}

// writer turns a nil WriteCloser into a nil Writer.
func writer(w io.WriteCloser) io.Writer {
	if w == nil {
		return nil
	}
	return w
}

// sizes passes terminal sizes on as pairs of width and height until ctx ends.
func sizes(ctx context.Context, resize <-chan remotecommand.TerminalSize) <-chan [2]uint16 {
	if resize == nil {
		return nil
	}

	out := make(chan [2]uint16)
	go func() {
		defer close(out)

		for {
			select {
			case size, ok := <-resize:
				if !ok {
					return
				}
				select {
				case out <- [2]uint16{size.Width, size.Height}:
				case <-ctx.Done():
					return
				}

			case <-ctx.Done():
				return
			}
		}
	}()

	return out
}
