package cri

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// StopContainer asks a container's first program to end with CTRL_SHUTDOWN, as Windows containers are stopped, and
// kills all of them when it has ended or the grace period is over. It is idempotent: a container that has ended or is
// gone is no error (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L69-L74).
func (s *Server) StopContainer(ctx context.Context,
	req *runtimeapi.StopContainerRequest,
) (*runtimeapi.StopContainerResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if errors.Is(err, store.ErrNotFound) {
		return &runtimeapi.StopContainerResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.stopContainer(ctx, c, time.Duration(req.GetTimeout())*time.Second); err != nil {
		return nil, fmt.Errorf("stop container %q: %w", c.ID, err)
	}
	return &runtimeapi.StopContainerResponse{}, nil
}

// killTimeout is how long the kernel may take to end what was killed.
const killTimeout = 30 * time.Second

// stopContainer returns when the container has ended. Without grace it is killed at once.
func (s *Server) stopContainer(ctx context.Context, c store.Container, grace time.Duration) error {
	if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil
	}

	ended := s.watch(c.ID) //nolint:contextcheck // The watch outlives the call.
	if grace > 0 {
		graceCtx, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		s.askToEnd(graceCtx, c)
		select {
		case <-ended:
			s.sayLeft(c)
			return nil
		case <-graceCtx.Done():
		}

		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for its end: %w", err)
		}
	}

	return s.kill(ctx, c.ID, ended)
}

// kill ends everything in a container and returns when the end is recorded.
func (s *Server) kill(ctx context.Context, id string, ended <-chan struct{}) error {
	if err := s.cfg.Engine.Signal(ctx, id, unix.SIGKILL, true); err != nil {
		return err
	}
	killed := time.NewTimer(killTimeout)
	defer killed.Stop()

	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for its end: %w", ctx.Err())
	case <-s.life().Done():
		return fmt.Errorf("wait for its end: %w", s.life().Err())
	case <-killed.C:
		return fmt.Errorf("wait for its end: still there %v after it was killed", killTimeout)
	}
}

// shutdownArgs returns the command that delivers CTRL_SHUTDOWN to a container's first program, and to no other:
// containerd's shim signals that process alone
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/cmd/containerd-shim-runhcs-v1/ exec_hcs.go, Kill), and
// neither cmd nor PowerShell passes the event on to what it has started
// (https://github.com/kubernetes/kubernetes/issues/124664). Services are told when it has ended (mullion-init). It
// returns nil if the program has not started.
func (s *Server) shutdownArgs(c store.Container) []string {
	r, err := readReport(filepath.Join(s.runDir(c), reportName))
	if err != nil {
		s.log.Warn("report of program not read", "container", c.ID, "error", err)
	}
	if r.pid == 0 {
		return nil
	}
	return []string{s.cfg.Launch.Run, "--ctrl", "shutdown", "--pid", strconv.FormatUint(uint64(r.pid), 10)}
}

// askToEnd delivers CTRL_SHUTDOWN to the container's first program, and SIGTERM to PID 1 where that does not work.
func (s *Server) askToEnd(ctx context.Context, c store.Container) {
	var args []string
	if s.cfg.Launch.Run != "" {
		args = s.shutdownArgs(c)
	}
	if args != nil {
		x := engine.ExecSpec{
			ID:      newID()[:16],
			UID:     s.uidOf(c),
			Dir:     s.driveOf(c),
			Env:     s.loaderEnv(c),
			FIFODir: s.fifoDir(),
			Args:    append(append([]string{}, s.cfg.Launch.Loader...), args...),
		}

		exit, err := s.cfg.Engine.Exec(ctx, c.ID, x)
		if err == nil && exit.Code == 0 {
			return
		}
		s.log.Info("shutdown event not delivered, terminating", "container", c.ID, "exit_code", exit.Code, "error", err)
	}

	if err := s.cfg.Engine.Signal(ctx, c.ID, unix.SIGTERM, false); err != nil {
		s.log.Warn("container not terminated", "container", c.ID, "error", err)
	}
}

// ReasonUntold is the reason of the event that tells of programs that were killed without having been told.
const ReasonUntold = "ProgramsNotTold"

// sayLeft tells of the programs that a stopped container has had besides its first one: they were killed. That is so on
// Windows, where nobody says so, and requests are lost.
func (s *Server) sayLeft(c store.Container) {
	r, err := readReport(filepath.Join(s.runDir(c), reportName))
	if err != nil || r.left == 0 {
		return
	}
	programs := "1 program that it had started was"
	if r.left > 1 {
		programs = strconv.FormatUint(uint64(r.left), 10) + " programs that it had started were"
	}
	s.tell(c, ReasonUntold, fmt.Sprintf("Container %s was stopped: Windows tells only its first program, %s; %s killed: %s. "+
		"Make the program that is to end in order the container's first one, without a shell", c.Config.GetMetadata().GetName(),
		programName(c.Program), programs, r.leftNames))
}

// programName returns the name of a command's program.
func programName(command []string) string {
	if len(command) == 0 {
		return ""
	}
	return command[0][strings.LastIndexAny(command[0], `\/`)+1:]
}

// tell passes on what happened to a container's pod.
func (s *Server) tell(c store.Container, reason, message string) {
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil || s.cfg.Tell == nil {
		return
	}
	pod := sb.Config.GetMetadata()
	s.cfg.Tell(Notice{
		Namespace: pod.GetNamespace(),
		Pod:       pod.GetName(),
		UID:       pod.GetUid(),
		Reason:    reason,
		Message:   message,
	})
}
