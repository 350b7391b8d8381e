package cri

import (
	"context"
	"errors"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// StopPodSandbox kills what runs in a pod and disconnects it. It is idempotent, and to stop a pod that is not there is
// no error
// (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L31-L40).
func (s *Server) StopPodSandbox(ctx context.Context,
	req *runtimeapi.StopPodSandboxRequest,
) (*runtimeapi.StopPodSandboxResponse, error) {
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if errors.Is(err, store.ErrNotFound) {
		return &runtimeapi.StopPodSandboxResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.stopSandbox(ctx, sb); err != nil {
		return nil, fmt.Errorf("stop sandbox %q: %w", sb.ID, err)
	}
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (s *Server) stopSandbox(ctx context.Context, sb store.Sandbox) error {
	defer s.locks.lock(sb.ID)()
	current, err := s.sandboxes.Get(sb.ID)
	if err == nil && current.StoppedAt.IsZero() {
		// First, with all that runs in it: a guest may say that it ends containers and not do it.
		if err := s.kindOf(sb.ID).stop(ctx, current); err != nil {
			return err
		}
	}

	if err := s.stopContainersOf(ctx, sb.ID); err != nil {
		return err
	}
	if current, err = s.sandboxes.Get(sb.ID); err != nil || !current.StoppedAt.IsZero() {
		return nil // Removed or stopped by another call meanwhile: as asked.
	}
	if err := s.disconnect(ctx, current); err != nil {
		return fmt.Errorf("disconnect from network: %w", err)
	}

	_, err = s.sandboxes.Update(sb.ID, func(sb store.Sandbox) (store.Sandbox, error) {
		sb.StoppedAt, sb.NetNS = time.Now(), ""
		return sb, nil
	})
	if err != nil {
		return err
	}
	s.emit(sb.ID, sb.ID, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	// A container that was being started runs now, or its StartContainer sees that the pod is stopped.
	if err := s.stopContainersOf(ctx, sb.ID); err != nil {
		return err
	}

	s.releasePod(sb.ID)
	return nil
}

// releasePod removes what the containers of a pod shared, if the pod is stopped and they are removed: the kubelet
// removes the sandbox itself a minute or more later. After an error RemovePodSandbox tries again.
func (s *Server) releasePod(sandbox string) {
	sb, err := s.sandboxes.Get(sandbox)
	if err != nil || sb.StoppedAt.IsZero() || len(s.containersOf(sandbox)) > 0 {
		return
	}
	if err := s.cfg.Engine.RemovePod(sandbox); err != nil {
		s.log.Warn("cgroup of stopped pod not removed", "sandbox", sandbox, "error", err)
	}
}

// stopContainersOf kills the containers of a pod that run.
func (s *Server) stopContainersOf(ctx context.Context, sandbox string) error {
	var errs []error
	for _, c := range s.containersOf(sandbox) {
		errs = append(errs, s.stopContainer(ctx, c, 0))
	}
	return errors.Join(errs...)
}

// disconnect takes a pod off its network.
func (s *Server) disconnect(ctx context.Context, sb store.Sandbox) error {
	return s.kindOf(sb.ID).network().Teardown(ctx, podOf(sb), networkOf(sb))
}

func (s *Server) containersOf(sandbox string) []store.Container {
	return s.containers.List(func(c store.Container) bool { return c.SandboxID == sandbox })
}
