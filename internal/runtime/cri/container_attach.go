package cri

import (
	"context"
	"fmt"
	"io"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"

	"mullion.dev/mullion/internal/runtime/cri/stream"
)

// Attach prepares a container's streams to be reached at the returned address.
func (s *Server) Attach(_ context.Context, req *runtimeapi.AttachRequest) (*runtimeapi.AttachResponse, error) {
	if _, err := s.running(req.GetContainerId()); err != nil {
		return nil, fmt.Errorf("attach: %w", err)
	}
	return s.streams.GetAttach(req)
}

// Attach implements the streaming server's runtime: it connects a client to the streams of a container's main program.
//
//nolint:revive // The signature is that of streaming.Runtime.
func (r streamRuntime) Attach(ctx context.Context, id string, in io.Reader, out, errw io.WriteCloser, tty bool,
	resize <-chan remotecommand.TerminalSize,
) error {
	c, err := r.s.running(id)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	if tty {
		go func() {
			for size := range sizes(ctx, resize) {
				if err := r.s.cfg.Engine.Resize(ctx, c.ID, size[0], size[1]); err != nil {
					r.s.log.Debug("terminal not resized", "container", c.ID, "error", err)
				}
			}
		}()
	}

	a := stream.AttachSpec{Stdout: writer(out), Stderr: writer(errw)}
	if in != nil && c.Config.GetStdin() {
		a.Stdin = in
		// With stdinOnce, a container's input ends when the input of the first attached client ends.
		if c.Config.GetStdinOnce() && !c.Config.GetTty() {
			a.StdinEnd = func() {
				// containerd's shim and the keeper each have the container's input open. The keeper closes its own end.
				if err := r.s.cfg.Engine.CloseStdin(context.WithoutCancel(ctx), c.ID); err != nil {
					r.s.log.Warn("input not closed", "container", c.ID, "error", err)
				}
			}
		}
	}

	return r.s.keeper.Attach(ctx, c.ID, a)
}
