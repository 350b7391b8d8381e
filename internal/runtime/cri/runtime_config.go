package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UpdateRuntimeConfig takes the node's range of pod addresses.
func (s *Server) UpdateRuntimeConfig(ctx context.Context,
	req *runtimeapi.UpdateRuntimeConfigRequest,
) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	if cidr := req.GetRuntimeConfig().GetNetworkConfig().GetPodCidr(); cidr != "" {
		if err := s.cfg.Network.SetPodCIDR(ctx, cidr); err != nil {
			return nil, err
		}
	}
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// RuntimeConfig tells about cgroups on Linux nodes; for Windows nodes the answer is empty.
func (s *Server) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse,
	error,
) {
	return &runtimeapi.RuntimeConfigResponse{}, nil
}
