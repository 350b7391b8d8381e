package cri

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// Why a container ended, in the words that the kubelet and people know from containerd's CRI
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/helpers.go).
const (
	reasonCompleted  = "Completed"
	reasonError      = "Error"
	reasonOOMKilled  = "OOMKilled"
	reasonStartError = "StartError"
	reasonUnknown    = "Unknown"

	exitStartError = 128
)

// StartContainer starts a container and returns when its program runs. A program that Windows would not start is an
// error with Windows' own words.
func (s *Server) StartContainer(ctx context.Context,
	req *runtimeapi.StartContainerRequest,
) (*runtimeapi.StartContainerResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("start container: %w", err)
	}
	// Before the lock, which whoever stops the container must get.
	place, err := s.enter(ctx, admission.Start, c)
	if err != nil {
		return nil, fmt.Errorf("start container %q: %w", c.ID, err)
	}

	defer place.Leave()
	defer s.locks.lock(c.ID)()
	if c, err = s.containers.Get(c.ID); err != nil {
		return nil, fmt.Errorf("start container: %w", err)
	}
	if c.State() != runtimeapi.ContainerState_CONTAINER_CREATED {
		return nil, fmt.Errorf("start container %q: it is in state %v: %w", c.ID, c.State(),
			errdefs.ErrFailedPrecondition)
	}

	if err := s.checkPodRuns(c); err != nil {
		return nil, fmt.Errorf("start container %q: %w", c.ID, err)
	}
	if started, err := s.startContainer(ctx, c); err != nil {
		if !started {
			s.recordEnd(context.WithoutCancel(ctx), c.ID, startError(err))
		}
		return nil, fmt.Errorf("start container %q: %w", c.ID, err)
	}

	s.emit(c.ID, c.SandboxID, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &runtimeapi.StartContainerResponse{}, nil
}

// checkPodRuns returns an error if a container's pod is stopped or gone.
func (s *Server) checkPodRuns(c store.Container) error {
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil || sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return fmt.Errorf("sandbox %q is not running: %w", c.SandboxID, errdefs.ErrFailedPrecondition)
	}
	return nil
}

// startError returns the end of a container that did not start.
func startError(err error) end {
	return end{
		at:      time.Now(),
		code:    exitStartError,
		reason:  reasonStartError,
		message: err.Error(),
	}
}

// startContainer returns when the program runs. started says that the engine has started the container, whatever came
// of it: then its watch records its end.
func (s *Server) startContainer(ctx context.Context, c store.Container) (started bool, err error) {
	if _, err := s.kindOf(c.SandboxID).user(c); err != nil {
		return false, err
	}
	if err := s.foreseen(c); err != nil {
		return false, err
	}
	if err := s.logon(ctx, c); err != nil {
		return false, err
	}

	streams := s.streamsOf(c)
	if err := s.ensureKeeper(ctx); err != nil {
		return false, err
	}
	if err := s.keeper.Open(ctx, streams); err != nil {
		return false, err
	}

	stdio := engine.IO{
		Stdin:    streams.Stdin,
		Stdout:   streams.Stdout,
		Stderr:   streams.Stderr,
		Terminal: c.Config.GetTty(),
	}
	if err := s.openPipes(c); err != nil { //nolint:contextcheck // They outlive the call.
		return false, errors.Join(err, s.keeper.Forget(context.WithoutCancel(ctx), c.ID))
	}

	if _, err := s.cfg.Engine.Start(ctx, c.ID, stdio); err != nil {
		s.closePipes(c.ID)
		return false, errors.Join(err, s.keeper.Forget(context.WithoutCancel(ctx), c.ID))
	}

	// From here the container has a life of its own: its start is recorded even if this call is given up.
	at := time.Now()
	ctx = context.WithoutCancel(ctx)
	if _, err := s.containers.Update(c.ID, func(c store.Container) (store.Container, error) {
		c.StartedAt = at
		return c, nil
	}); err != nil {
		return false, errors.Join(err, s.cfg.Engine.Remove(ctx, c.ID))
	}

	ended := s.watch(c.ID)  //nolint:contextcheck // The watch outlives the call.
	err = s.checkPodRuns(c) // The pod may have been stopped since the first check.
	if err == nil {
		err = s.awaitVerdict(ctx, c, ended)
	}
	if err != nil {
		return true, errors.Join(err, s.endRefused(ctx, c.ID, err, ended))
	}

	s.share(ctx, c, true)
	select {
	case <-ended:
		s.share(ctx, c, false) // its end may have been recorded before
	default:
	}

	return true, nil
}

// foreseen is the error of a container whose program Windows does not start.
func (s *Server) foreseen(c store.Container) error {
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil {
		return err
	}
	return refusalOf(c.ID, s.cfg.Launch.foresee(s.initArgs(sb, c)))
}

// share records in the pod's network that a container runs, or no longer does.
func (s *Server) share(ctx context.Context, c store.Container, runs bool) {
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil {
		return
	}
	if err := s.kindOf(sb.ID).network().Share(ctx, podOf(sb), c.ID, runs); err != nil {
		s.log.Warn("container not recorded in its pod's network", "container", c.ID, "runs", runs, "error", err)
	}
}

// endRefused kills everything in a container whose start has failed, and returns when it has ended: nobody would look
// for it any more. Its end is the start's error, and not the signal. A container that cannot be killed is still said to
// run.
func (s *Server) endRefused(ctx context.Context, id string, why error, ended <-chan struct{}) error {
	s.mu.Lock()
	if s.ended[id] != nil { // or its end is recorded
		s.refused[id] = why
	}
	s.mu.Unlock()
	return s.kill(ctx, id, ended)
}

// verdictTimeout is how long a program may take to start before it is believed to run: a loaded machine is slow, and a
// program that is being started can be stopped like a running one.
const verdictTimeout = 20 * time.Second

// awaitVerdict waits until mullion-run.exe has said whether the program started. An image's program that is not there,
// or is no Windows program, makes the start fail, as it does on Windows, where the runtime creates the process.
func (s *Server) awaitVerdict(ctx context.Context, c store.Container, ended <-chan struct{}) error {
	if s.cfg.Launch.Run == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, verdictTimeout)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()

	for {
		if spoken, err := s.verdict(c); spoken {
			return err
		}

		select {
		case <-ended:
			_, err := s.verdict(c) // The verdict may have come since.
			return err
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// verdict reads from the report whether mullion-run.exe could start a container's program. spoken is false if the
// report does not say yet.
func (s *Server) verdict(c store.Container) (spoken bool, err error) {
	r, err := readReport(filepath.Join(s.runDir(c), reportName))
	switch {
	case err != nil:
		return true, err
	case r.failed:
		return true, r.refusal(c.ID)
	}
	return r.started || r.exited, nil
}
