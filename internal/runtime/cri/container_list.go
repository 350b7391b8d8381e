package cri

import (
	"context"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// ListContainers lists the containers that a filter lets through.
func (s *Server) ListContainers(_ context.Context,
	req *runtimeapi.ListContainersRequest,
) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: s.listContainers(req.GetFilter())}, nil
}

// StreamContainers is ListContainers for nodes with very many containers.
func (s *Server) StreamContainers(req *runtimeapi.StreamContainersRequest,
	out runtimeapi.RuntimeService_StreamContainersServer,
) error {
	return inBatches(s.listContainers(req.GetFilter()), func(batch []*runtimeapi.Container) error {
		return out.Send(&runtimeapi.StreamContainersResponse{Containers: batch})
	})
}

func (s *Server) listContainers(f *runtimeapi.ContainerFilter) []*runtimeapi.Container {
	var items []*runtimeapi.Container
	for _, c := range s.containers.List(nil) {
		if (f.GetState() != nil && f.GetState().GetState() != c.State()) || !strings.HasPrefix(c.ID, f.GetId()) ||
			!strings.HasPrefix(c.SandboxID, f.GetPodSandboxId()) ||
			!matches(f.GetLabelSelector(), c.Config.GetLabels()) {
			continue
		}
		items = append(items, containerItem(c))
	}
	return items
}

func containerItem(c store.Container) *runtimeapi.Container {
	return &runtimeapi.Container{
		Id:           c.ID,
		PodSandboxId: c.SandboxID,
		Metadata:     c.Config.GetMetadata(),
		State:        c.State(),
		CreatedAt:    c.CreatedAt.UnixNano(),
		Image:        &runtimeapi.ImageSpec{Image: c.ImageName, UserSpecifiedImage: c.ImageName},
		ImageRef:     c.ImageID,
		ImageId:      c.ImageID,
		Labels:       c.Config.GetLabels(),
		Annotations:  c.Config.GetAnnotations(),
	}
}

// batchSize is how many items a message of a streaming list has: far from the limit of the message's size.
const batchSize = 200

func inBatches[T any](items []T, send func([]T) error) error {
	for len(items) > 0 {
		n := min(len(items), batchSize)
		if err := send(items[:n]); err != nil {
			return err
		}
		items = items[n:]
	}
	return nil
}
