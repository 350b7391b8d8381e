package cri

import (
	"context"
	"encoding/json"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Status reports whether containers can run and pods can be connected; the kubelet makes the node's Ready condition of
// it.
func (s *Server) Status(ctx context.Context, req *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	ready := &runtimeapi.RuntimeCondition{Type: runtimeapi.RuntimeReady, Status: true}
	if _, err := s.cfg.Engine.Version(ctx); err != nil {
		ready.Status = false
		ready.Reason = "ContainerdUnreachable"
		ready.Message = err.Error()
	}
	network := &runtimeapi.RuntimeCondition{Type: runtimeapi.NetworkReady, Status: true}
	if err := s.cfg.Network.Ready(ctx); err != nil {
		network.Status = false
		network.Reason = "NetworkPluginNotReady"
		network.Message = err.Error()
	}

	resp := &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{ready, network}},
		// All of these are features of Linux; the empty message says that a Windows runtime has none of them.
		Features: &runtimeapi.RuntimeFeatures{},
	}

	for _, name := range append([]string{""}, s.cfg.Handlers...) {
		resp.RuntimeHandlers = append(resp.RuntimeHandlers, &runtimeapi.RuntimeHandler{
			Name:     name,
			Features: &runtimeapi.RuntimeHandlerFeatures{},
		})
	}

	if req.GetVerbose() {
		info, err := json.Marshal(map[string]any{
			"node": s.cfg.Node, "launch": s.cfg.Launch, "stateDir": s.cfg.StateDir,
			"streamAddress": s.cfg.Stream.Addr().String(),
		})
		if err != nil {
			return nil, fmt.Errorf("encode status: %w", err)
		}
		resp.Info = map[string]string{"config": string(info)}
	}

	return resp, nil
}
