package cri

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ReopenContainerLog opens the log file anew after the kubelet has renamed it. A container that does not run is an
// error (https://github.com/kubernetes/cri-api/blob/v0.36.3/pkg/apis/runtime/v1/api.proto#L101-L106).
func (s *Server) ReopenContainerLog(ctx context.Context,
	req *runtimeapi.ReopenContainerLogRequest,
) (*runtimeapi.ReopenContainerLogResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("reopen log of container: %w", err)
	}
	if c.State() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		return nil, fmt.Errorf("reopen log of container %q: it is not running: %w", c.ID, errdefs.ErrFailedPrecondition)
	}
	if err := s.keeper.Reopen(ctx, c.ID); err != nil {
		return nil, err
	}
	return &runtimeapi.ReopenContainerLogResponse{}, nil
}
