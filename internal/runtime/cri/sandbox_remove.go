package cri

import (
	"context"
	"errors"
	"fmt"
	"os"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// RemovePodSandbox removes a pod with all its containers, running ones too. It is idempotent: a pod that is gone is no
// error (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L41-L45).
func (s *Server) RemovePodSandbox(ctx context.Context,
	req *runtimeapi.RemovePodSandboxRequest,
) (*runtimeapi.RemovePodSandboxResponse, error) {
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if errors.Is(err, store.ErrNotFound) {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	if err != nil {
		return nil, err
	}

	if err := s.stopSandbox(ctx, sb); err != nil {
		return nil, fmt.Errorf("stop sandbox %q: %w", sb.ID, err)
	}
	if err := s.removeSandbox(ctx, sb); err != nil {
		return nil, fmt.Errorf("remove sandbox %q: %w", sb.ID, err)
	}
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (s *Server) removeSandbox(ctx context.Context, sb store.Sandbox) error {
	for _, c := range s.containersOf(sb.ID) {
		if err := s.removeContainer(ctx, c); err != nil {
			return err
		}
	}

	if err := s.kindOf(sb.ID).stop(ctx, sb); err != nil {
		return err
	}
	if err := s.cfg.Engine.RemovePod(sb.ID); err != nil {
		return fmt.Errorf("remove cgroup of sandbox: %w", err)
	}
	if err := os.RemoveAll(s.containerDir(sb.ID)); err != nil {
		return fmt.Errorf("remove files of sandbox: %w", err)
	}

	if err := s.sandboxes.Delete(sb.ID); err != nil {
		return err
	}
	s.lifts.Forget(sb.ID)
	s.kinds.forget(sb.ID)
	s.emit(sb.ID, sb.ID, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	return nil
}
