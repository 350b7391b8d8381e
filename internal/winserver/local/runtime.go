package local

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	criapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// podRuntime is what of a container runtime ends its pods.
type podRuntime interface {
	ListPodSandbox(ctx context.Context, in *criapi.ListPodSandboxRequest, o ...grpc.CallOption) (
		*criapi.ListPodSandboxResponse, error)
	StopPodSandbox(ctx context.Context, in *criapi.StopPodSandboxRequest, o ...grpc.CallOption) (
		*criapi.StopPodSandboxResponse, error)
	RemovePodSandbox(ctx context.Context, in *criapi.RemovePodSandboxRequest, o ...grpc.CallOption) (
		*criapi.RemovePodSandboxResponse, error)
}

// endAll stops and removes all pods of a container runtime, and returns how many there were. A pod that does not end
// keeps none of the others.
func endAll(ctx context.Context, runtime podRuntime) (int, error) {
	list, err := runtime.ListPodSandbox(ctx, &criapi.ListPodSandboxRequest{})
	if err != nil {
		return 0, err
	}

	var errs []error
	for _, pod := range list.GetItems() {
		_, err := runtime.StopPodSandbox(ctx, &criapi.StopPodSandboxRequest{PodSandboxId: pod.GetId()})
		if err == nil {
			_, err = runtime.RemovePodSandbox(ctx, &criapi.RemovePodSandboxRequest{PodSandboxId: pod.GetId()})
		}
		if err != nil {
			m := pod.GetMetadata()
			errs = append(errs, fmt.Errorf("pod %s/%s: %w", m.GetNamespace(), m.GetName(), err))
		}
	}

	return len(list.GetItems()), errors.Join(errs...)
}
