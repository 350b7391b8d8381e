package cri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// runtimeName is what the runtime is called on nodes. It says containerd because programs that look at the node's
// runtime (the upstream conformance tests among them) know that name, and containerd is what holds images and
// containers.
const runtimeName = "containerd"

// Version returns the runtime's name and version.
func (s *Server) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return s.versionOf("v1"), nil
}

func (s *Server) versionOf(api string) *runtimeapi.VersionResponse {
	return &runtimeapi.VersionResponse{
		Version:           "0.1.0",
		RuntimeName:       runtimeName,
		RuntimeVersion:    s.cfg.RuntimeVersion,
		RuntimeApiVersion: api,
	}
}
