package cri

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// ContainerStatus returns the state of a container.
func (s *Server) ContainerStatus(_ context.Context,
	req *runtimeapi.ContainerStatusRequest,
) (*runtimeapi.ContainerStatusResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("get status of container: %w", err)
	}

	resp := &runtimeapi.ContainerStatusResponse{Status: containerStatus(c)}
	if req.GetVerbose() {
		info, err := json.Marshal(map[string]any{
			"sandboxID": c.SandboxID, "user": c.User, "program": c.Program, "env": c.Env, "dir": c.Dir,
			"config": c.Config,
		})
		if err != nil {
			return nil, fmt.Errorf("encode status of container %q: %w", c.ID, err)
		}
		resp.Info = map[string]string{"info": string(info)}
	}

	return resp, nil
}

func containerStatus(c store.Container) *runtimeapi.ContainerStatus {
	st := &runtimeapi.ContainerStatus{
		Id:          c.ID,
		Metadata:    c.Config.GetMetadata(),
		State:       c.State(),
		CreatedAt:   c.CreatedAt.UnixNano(),
		Image:       &runtimeapi.ImageSpec{Image: c.ImageName, UserSpecifiedImage: c.ImageName},
		ImageRef:    c.ImageID,
		ImageId:     c.ImageID,
		Labels:      c.Config.GetLabels(),
		Annotations: c.Config.GetAnnotations(),
		Mounts:      c.Config.GetMounts(),
		LogPath:     c.NodeLogPath,
		Resources:   &runtimeapi.ContainerResources{Windows: c.Config.GetWindows().GetResources()},
		Reason:      c.Reason,
		Message:     c.Message,
		// CRI's field is signed, Windows' codes are not: 0xc0000005 is shown as -1073741819, as on Windows nodes.
		ExitCode: int32(c.ExitCode),
	}

	if !c.StartedAt.IsZero() {
		st.StartedAt = c.StartedAt.UnixNano()
	}
	if !c.FinishedAt.IsZero() {
		st.FinishedAt = c.FinishedAt.UnixNano()
	}
	return st
}
