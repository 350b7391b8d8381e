package cri

import (
	"context"
	"errors"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// RemoveContainer removes a container, killing it if it runs. It is idempotent: a container that is gone is no error
// (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L75-L79).
func (s *Server) RemoveContainer(ctx context.Context,
	req *runtimeapi.RemoveContainerRequest,
) (*runtimeapi.RemoveContainerResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if errors.Is(err, store.ErrNotFound) {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.removeContainer(ctx, c); err != nil {
		return nil, fmt.Errorf("remove container %q: %w", c.ID, err)
	}
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (s *Server) removeContainer(ctx context.Context, c store.Container) error {
	if err := s.stopContainer(ctx, c, 0); err != nil {
		return err
	}
	defer s.locks.lock(c.ID)()
	if err := s.cfg.Engine.Remove(ctx, c.ID); err != nil {
		return err
	}

	if err := s.keeper.Forget(ctx, c.ID); err != nil {
		return err
	}
	if err := s.removeFiles(c); err != nil {
		return fmt.Errorf("remove its files: %w", err)
	}
	if err := s.containers.Delete(c.ID); err != nil {
		return err
	}

	s.queue.Forget(c.ID)
	s.releasePod(c.SandboxID)
	s.emit(c.ID, c.SandboxID, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	return nil
}
