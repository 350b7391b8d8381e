package cri

import (
	"context"
	"fmt"

	"github.com/containerd/errdefs"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// UpdateContainerResources changes the limits of a container; fields that are zero stay as they are.
func (s *Server) UpdateContainerResources(ctx context.Context,
	req *runtimeapi.UpdateContainerResourcesRequest,
) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("update container: %w", err)
	}
	defer s.locks.lock(c.ID)()
	change := req.GetWindows()
	if change == nil {
		return nil, fmt.Errorf("update container %q: the request has no Windows resources: %w", c.ID,
			errdefs.ErrInvalidArgument)
	}

	if c, err = s.containers.Get(c.ID); err != nil {
		return nil, fmt.Errorf("update container: %w", err)
	}
	// proto.Merge skips the zero fields of change and appends to lists; a new CPU list must replace the old one.
	merged := &runtimeapi.WindowsContainerResources{}
	proto.Merge(merged, c.Config.GetWindows().GetResources())
	if len(change.GetAffinityCpus()) > 0 {
		merged.AffinityCpus = nil
	}

	proto.Merge(merged, change)
	sb, err := s.sandboxes.Get(c.SandboxID)
	if err != nil {
		return nil, fmt.Errorf("update container %q: %w", c.ID, err)
	}
	k := s.kindOf(sb.ID)
	if err := k.admit(sb, withResources(c.Config, merged).ContainerConfig); err != nil {
		return nil, fmt.Errorf("update container %q: %w", c.ID, err)
	}

	switch c.State() {
	case runtimeapi.ContainerState_CONTAINER_EXITED:
		return nil, fmt.Errorf("update container %q: it has ended: %w", c.ID, errdefs.ErrFailedPrecondition)
	default:
		if err := s.cfg.Engine.Update(ctx, c.ID, s.resourcesOf(merged)); err != nil {
			return nil, err
		}
		if err := k.tellLimits(ctx, c, merged); err != nil {
			return nil, fmt.Errorf("update container %q: %w", c.ID, err)
		}
	}

	_, err = s.containers.Update(c.ID, func(c store.Container) (store.Container, error) {
		c.Config = withResources(c.Config, merged)
		return c, nil
	})
	if err != nil {
		return nil, fmt.Errorf("update container: %w", err)
	}

	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// withResources returns a copy of config with other limits.
func withResources(config store.ContainerConfig, r *runtimeapi.WindowsContainerResources) store.ContainerConfig {
	copied, ok := proto.Clone(config.ContainerConfig).(*runtimeapi.ContainerConfig)
	if !ok {
		return config
	}
	if copied.Windows == nil {
		copied.Windows = &runtimeapi.WindowsContainerConfig{}
	}
	copied.Windows.Resources = r
	return store.ContainerConfig{ContainerConfig: copied}
}
