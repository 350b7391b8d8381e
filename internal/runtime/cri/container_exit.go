package cri

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// end is how a container ended.
type end struct {
	at              time.Time
	code            uint32
	reason, message string
}

// watch waits in the background for the end of a running container and records it. The returned channel is closed after
// the first attempt to record the end; if that fails, watch tries again until it succeeds. Further calls for a watched
// container return the same channel.
func (s *Server) watch(id string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended, ok := s.ended[id]; ok {
		return ended
	}

	ended := make(chan struct{})
	s.ended[id] = ended
	s.watchers.Go(func() {
		ctx := s.life()
		exit, err := s.cfg.Engine.Wait(ctx, id)
		if ctx.Err() != nil {
			return // The server ends; the next server watches again.
		}

		e := s.containerEnded(ctx, id, exit, err)
		recorded := s.recordEnd(ctx, id, e)
		close(ended)
		for !recorded {
			select {
			case <-ctx.Done():
				return
			case <-time.After(recordRetry):
				recorded = s.recordEnd(ctx, id, e)
			}
		}

		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.ended, id)
		delete(s.refused, id)
	})

	return ended
}

// recordRetry is the pause between attempts to record the end of a container, for example while the disk is full.
const recordRetry = 500 * time.Millisecond

// drainTimeout is how long the keeper may take to write what a container has left in its streams.
const drainTimeout = 5 * time.Second

// containerEnded completes the log of a container that has ended, and returns how it ended. waitErr is the engine's
// reason for not knowing the exit.
func (s *Server) containerEnded(ctx context.Context, id string, exit engine.Exit, waitErr error) end {
	// The log is complete before the kubelet hears of the end: it may delete or read it at once.
	drainCtx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := s.keeper.Drain(drainCtx, id); err != nil {
		s.log.Debug("log not drained", "container", id, "error", err)
	}

	// So is its termination message.
	if c, err := s.containers.Get(id); err == nil {
		if err := s.passTermination(c); err != nil {
			s.log.Warn("termination message not passed on", "container", id, "error", err)
		}
	}

	e := end{at: exit.At, code: exit.Code}
	if e.at.IsZero() {
		e.at = time.Now()
	}

	s.mu.Lock()
	refused := s.refused[id]
	s.mu.Unlock()
	switch {
	case refused != nil:
		at := e.at
		e = startError(refused)
		e.at = at

	case errdefs.IsNotFound(waitErr):
		e.code = engine.UnknownExit
		e.reason = reasonUnknown
		e.message = "the container ended while nobody watched"
	case waitErr != nil:
		e.code = engine.UnknownExit
		e.reason = reasonUnknown
		e.message = waitErr.Error()
	default:
		s.explain(id, &e)
	}

	return e
}

// sigkilled is how Linux says that a process was killed: 128 and the signal's number.
const sigkilled = 128 + 9

// explain fills in the program's own exit code, which Linux cuts to 8 bits, and the reason.
func (s *Server) explain(id string, e *end) {
	c, err := s.containers.Get(id)
	if err != nil {
		return // Removed meanwhile.
	}
	r, err := readReport(filepath.Join(s.runDir(c), reportName))
	if err != nil {
		s.log.Warn("report of program not read", "container", id, "error", err)
	}

	// A killed container has no exit code of its own. A program can forge the report, but only its own.
	switch {
	case e.code == sigkilled:
	case r.failed:
		e.code = exitStartError
		e.reason = reasonStartError
		e.message = r.refusal(id).Error()
		return
	case r.exited:
		e.code = r.code
	}

	switch {
	case e.code == 0:
		e.reason = reasonCompleted
	case e.code == sigkilled && s.samples.outOfMemory(id):
		e.reason = reasonOOMKilled
	default:
		e.reason = reasonError
	}
}

// recordEnd writes the end of a container to its checkpoint and emits an event. Only the first end of a container is
// written and emitted. It returns false if the end could not be written, and true for a container that has been
// removed.
func (s *Server) recordEnd(ctx context.Context, id string, e end) bool {
	first := true
	c, err := s.containers.Update(id, func(c store.Container) (store.Container, error) {
		if first = c.FinishedAt.IsZero(); !first {
			return c, nil
		}
		// A start that no server saw is recorded when the next server finds the container, possibly after its end.
		if c.StartedAt.IsZero() || c.StartedAt.After(e.at) {
			c.StartedAt = e.at
		}
		c.FinishedAt = e.at
		c.ExitCode = e.code
		c.Reason = e.reason
		c.Message = cleanText(e.message)
		return c, nil
	})
	if err != nil {
		s.log.Error("end of container not recorded", "container", id, "error", err)
		return errors.Is(err, store.ErrNotFound)
	}

	if !first {
		return true
	}
	s.closeStreams(ctx, c)
	s.closePipes(id)
	s.share(ctx, c, false)
	s.samples.forget(id)
	s.emit(id, c.SandboxID, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)

	return true
}
