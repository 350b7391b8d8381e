package cri

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// PodSandboxStatus returns the state of a pod, and of its containers so that an evented kubelet needs no second call.
func (s *Server) PodSandboxStatus(_ context.Context,
	req *runtimeapi.PodSandboxStatusRequest,
) (*runtimeapi.PodSandboxStatusResponse, error) {
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if err != nil {
		return nil, fmt.Errorf("get status of sandbox: %w", err)
	}
	resp := &runtimeapi.PodSandboxStatusResponse{Status: sandboxStatus(sb), Timestamp: time.Now().UnixNano()}
	for _, c := range s.containersOf(sb.ID) {
		resp.ContainersStatuses = append(resp.ContainersStatuses, containerStatus(c))
	}

	if req.GetVerbose() {
		info, err := json.Marshal(map[string]any{
			"netns": sb.NetNS, "stoppedAt": sb.StoppedAt, "config": sb.Config, "image": sb.PauseImage,
		})
		if err != nil {
			return nil, fmt.Errorf("encode status of sandbox %q: %w", sb.ID, err)
		}
		resp.Info = map[string]string{"info": string(info)}
	}

	return resp, nil
}

func sandboxStatus(sb store.Sandbox) *runtimeapi.PodSandboxStatus {
	st := &runtimeapi.PodSandboxStatus{
		Id:             sb.ID,
		Metadata:       sb.Config.GetMetadata(),
		State:          sb.State(),
		CreatedAt:      sb.CreatedAt.UnixNano(),
		Labels:         sb.Config.GetLabels(),
		Annotations:    sb.Config.GetAnnotations(),
		RuntimeHandler: sb.Handler,
		Network:        &runtimeapi.PodSandboxNetworkStatus{},
		// Returned as the kubelet sent it, as containerd does on Windows: the kubelet takes a difference for a pod that
		// has changed (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/kuberuntime/util/util.go,
		// PodSandboxChanged).
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: sb.Config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
	}

	for i, ip := range sb.IPs {
		if i == 0 {
			st.Network.Ip = ip
			continue
		}
		st.Network.AdditionalIps = append(st.Network.AdditionalIps, &runtimeapi.PodIP{Ip: ip})
	}

	return st
}
