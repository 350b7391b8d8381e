package cri

import (
	"context"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// ListPodSandbox lists the pods that a filter lets through.
func (s *Server) ListPodSandbox(_ context.Context,
	req *runtimeapi.ListPodSandboxRequest,
) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{Items: s.listSandboxes(req.GetFilter())}, nil
}

// StreamPodSandboxes is ListPodSandbox for nodes with very many pods.
func (s *Server) StreamPodSandboxes(req *runtimeapi.StreamPodSandboxesRequest,
	out runtimeapi.RuntimeService_StreamPodSandboxesServer,
) error {
	return inBatches(s.listSandboxes(req.GetFilter()), func(batch []*runtimeapi.PodSandbox) error {
		return out.Send(&runtimeapi.StreamPodSandboxesResponse{PodSandboxes: batch})
	})
}

func (s *Server) listSandboxes(f *runtimeapi.PodSandboxFilter) []*runtimeapi.PodSandbox {
	var items []*runtimeapi.PodSandbox
	for _, sb := range s.sandboxes.List(nil) {
		if (f.GetState() != nil && f.GetState().GetState() != sb.State()) ||
			!strings.HasPrefix(sb.ID, f.GetId()) || !matches(f.GetLabelSelector(), sb.Config.GetLabels()) {
			continue
		}
		items = append(items, sandboxItem(sb))
	}
	return items
}

func sandboxItem(sb store.Sandbox) *runtimeapi.PodSandbox {
	return &runtimeapi.PodSandbox{
		Id:             sb.ID,
		Metadata:       sb.Config.GetMetadata(),
		State:          sb.State(),
		CreatedAt:      sb.CreatedAt.UnixNano(),
		Labels:         sb.Config.GetLabels(),
		Annotations:    sb.Config.GetAnnotations(),
		RuntimeHandler: sb.Handler,
	}
}

// matches reports whether labels has everything that selector asks for.
func matches(selector, labels map[string]string) bool {
	for key, value := range selector {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// Sandboxes returns the IDs of all pods. Whoever cleans up outside the server leaves what belongs to these pods alone.
func (s *Server) Sandboxes() []string {
	var ids []string
	for _, sb := range s.sandboxes.List(nil) {
		ids = append(ids, sb.ID)
	}
	return ids
}
