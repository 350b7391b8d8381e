package cri_test

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

func TestListContainers(t *testing.T) {
	n := critest.NewNode(t)
	web, db := n.RunPod(t, "web"), n.RunPod(t, "db")
	app := n.Run(t, web, "app")
	n.Create(t, web, "new")
	n.Run(t, db, "db")
	ended := n.Run(t, db, "ended")
	if err := n.Engine.Process(ended).Exit(3); err != nil {
		t.Fatal(err)
	}

	n.WaitExit(t, ended)
	state := func(s runtimeapi.ContainerState) *runtimeapi.ContainerStateValue {
		return &runtimeapi.ContainerStateValue{State: s}
	}

	for _, tc := range []struct {
		name   string
		filter *runtimeapi.ContainerFilter
		want   []string
	}{
		{"no-filter", nil, []string{"app", "db", "ended", "new"}},
		{"created", &runtimeapi.ContainerFilter{State: state(created)}, []string{"new"}},
		{"running", &runtimeapi.ContainerFilter{State: state(running)}, []string{"app", "db"}},
		{"exited", &runtimeapi.ContainerFilter{State: state(exited)}, []string{"ended"}},
		{"pod", &runtimeapi.ContainerFilter{PodSandboxId: web}, []string{"app", "new"}},
		{"beginning-of-id", &runtimeapi.ContainerFilter{Id: app[:20]}, []string{"app"}},
		{"label", &runtimeapi.ContainerFilter{LabelSelector: map[string]string{"container": "db"}}, []string{"db"}},
		{"pod-and-state", &runtimeapi.ContainerFilter{PodSandboxId: web, State: state(exited)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, listContainers(t, n, tc.filter)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
			stream, err := n.StreamContainers(t.Context(), &runtimeapi.StreamContainersRequest{Filter: tc.filter})
			if err != nil {
				t.Fatal(err)
			}

			var names []string
			for m, err := stream.Recv(); !errors.Is(err, io.EOF); m, err = stream.Recv() {
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range m.GetContainers() {
					names = append(names, item.GetMetadata().GetName())
				}
			}

			slices.Sort(names)
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("containers as a stream (-want +got):\n%s", diff)
			}
		})
	}
}
