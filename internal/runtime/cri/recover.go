package cri

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// recover reconciles the checkpoints with the engine: the engine knows what runs, the checkpoints know why.
func (s *Server) recover(ctx context.Context) error {
	infos, err := s.cfg.Engine.List(ctx, labelNode, s.cfg.Node)
	if err != nil {
		return err
	}
	known := map[string]engine.Info{}
	for _, info := range infos {
		known[info.ID] = info
	}

	for _, c := range s.containers.List(nil) {
		info, there := known[c.ID]
		if err := s.recoverContainer(ctx, c, info, there); err != nil {
			return err
		}
	}

	for _, sb := range s.sandboxes.List(nil) {
		if err := s.recoverSandbox(ctx, sb); err != nil {
			s.leaveHalfMade(sb, err)
		}
	}

	if err := s.removeOrphans(ctx); err != nil {
		// Containers that run are served even if orphans cannot be removed now; the next start tries again.
		s.log.Error("orphans not removed", "error", err)
	}
	return nil
}

// recoverContainer picks up one container.
func (s *Server) recoverContainer(ctx context.Context, c store.Container, info engine.Info, there bool) error {
	switch {
	case c.State() == runtimeapi.ContainerState_CONTAINER_EXITED:
		return nil
	case !there:
		// Lost, for example by a reboot of the machine.
		s.recordEnd(ctx, c.ID, end{
			at:      time.Now(),
			code:    engine.UnknownExit,
			reason:  reasonUnknown,
			message: "the container was lost",
		})
		return nil

	case info.State == engine.Created && c.State() == runtimeapi.ContainerState_CONTAINER_CREATED:
		return nil
	case info.State == engine.Created:
		s.recordEnd(ctx, c.ID, end{
			at:      time.Now(),
			code:    engine.UnknownExit,
			reason:  reasonUnknown,
			message: "the container's process was lost",
		})
		return nil
	}

	if c.State() == runtimeapi.ContainerState_CONTAINER_CREATED {
		// The server ended between the start and its record.
		var err error
		c, err = s.containers.Update(c.ID, func(c store.Container) (store.Container, error) {
			c.StartedAt = time.Now()
			return c, nil
		})
		if err != nil {
			return err
		}
	}

	if err := s.keeper.Open(ctx, s.streamsOf(c)); err != nil {
		return fmt.Errorf("take over streams: %w", err)
	}
	if err := s.openPipes(c); err != nil { //nolint:contextcheck // They outlive the call.
		s.log.Error("container has lost its pipes", "container", c.ID, "error", err)
	}
	s.watch(c.ID) //nolint:contextcheck // The watch outlives the call.
	return nil
}

// recoverSandbox takes down a pod that was half made, and marks one whose network namespace is gone as stopped.
func (s *Server) recoverSandbox(ctx context.Context, sb store.Sandbox) error {
	if !sb.Ready {
		s.log.Info("removing half-made pod", "sandbox", sb.ID)
		if err := s.kindOf(sb.ID).stop(ctx, sb); err != nil {
			return err
		}
		if err := s.disconnect(ctx, sb); err != nil {
			return fmt.Errorf("disconnect half-made pod: %w", err)
		}
		return s.removeSandbox(ctx, sb)
	}

	if sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return nil
	}
	if _, err := os.Stat(sb.NetNS); err == nil {
		s.lifts.Recover(sb.ID)
		s.kindOf(sb.ID).watch(sb)
		return nil
	}
	s.log.Info("network namespace of pod is gone, stopping it", "sandbox", sb.ID, "netns", sb.NetNS)
	return s.stopSandbox(ctx, sb)
}

// leaveHalfMade lists a pod that cannot be taken down now as not ready. The kubelet removes it, or the next server
// does.
func (s *Server) leaveHalfMade(sb store.Sandbox, why error) {
	s.log.Error("pod not taken down", "sandbox", sb.ID, "error", why)
	_, err := s.sandboxes.Update(sb.ID, func(sb store.Sandbox) (store.Sandbox, error) {
		sb.Ready = false
		return sb, nil
	})
	if err != nil {
		s.log.Error("pod not listed as half made", "sandbox", sb.ID, "error", err)
	}
}

// removeOrphans removes containers and files that no checkpoint knows.
func (s *Server) removeOrphans(ctx context.Context) error {
	infos, err := s.cfg.Engine.List(ctx, labelNode, s.cfg.Node)
	if err != nil {
		return err
	}

	var errs []error
	for _, info := range infos {
		_, noContainer := s.containers.Get(info.ID)
		_, noMachine := s.sandboxes.Get(info.ID)
		if errors.Is(noContainer, store.ErrNotFound) && errors.Is(noMachine, store.ErrNotFound) {
			s.log.Info("removing orphaned container", "container", info.ID)
			errs = append(errs, s.cfg.Engine.Remove(ctx, info.ID))
		}
	}

	work := filepath.Join(s.cfg.StateDir, "work")
	entries, err := os.ReadDir(work)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list working folders: %w", err)
	}

	for _, e := range entries {
		_, noContainer := s.containers.Get(e.Name())
		_, noSandbox := s.sandboxes.Get(e.Name())
		if noContainer != nil && noSandbox != nil {
			errs = append(errs, s.removeFiles(store.Container{ID: e.Name()}))
		}
	}

	return errors.Join(append(errs, s.removeStaleRunDirs())...)
}

// removeStaleRunDirs removes the working folders, among those in the host, of containers that no longer exist.
func (s *Server) removeStaleRunDirs() error {
	work := s.cfg.HostProcessWork
	entries, err := os.ReadDir(work)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("list working folders: %w", err)
	}
	var errs []error
	for _, e := range entries {
		if _, err := s.containers.Get(e.Name()); err != nil {
			errs = append(errs, os.RemoveAll(filepath.Join(work, e.Name())))
		}
	}
	return errors.Join(errs...)
}
