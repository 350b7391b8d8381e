package cri_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

func TestUpdateContainerResources(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Run(t, pod, "app", func(c *containerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{
			CpuMaximum:         5000,
			MemoryLimitInBytes: 1 << 20,
			RootfsSizeInBytes:  7,
			AffinityCpus:       []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 3}},
		}
	})

	update := func(r *runtimeapi.WindowsContainerResources) error {
		req := &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Windows: r}
		_, err := n.UpdateContainerResources(t.Context(), req)
		return err
	}

	resources := func() engine.Resources {
		c, _ := n.Engine.Container(id)
		return c.Resources
	}
	expect(t, update(nil), codes.InvalidArgument, "no Windows resources")
	n.Calls.Fail("Engine.Update", errors.New("no such cgroup"))
	expect(t, update(&runtimeapi.WindowsContainerResources{CpuMaximum: 1}), codes.Unknown, "no such cgroup")
	if got := n.Status(t, id).GetResources().GetWindows().GetCpuMaximum(); got != 5000 {
		t.Errorf("cpu_maximum is told as %d after an update that did not work", got)
	}

	n.Calls.Reset()
	if err := update(&runtimeapi.WindowsContainerResources{CpuMaximum: 2500}); err != nil {
		t.Fatal(err)
	}
	limits := engine.Resources{
		CPUMaximum:  2500,
		MemoryLimit: 1 << 20,
		CPUs:        "0-1",
	}

	if diff := cmp.Diff(limits, resources()); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}

	want := &runtimeapi.WindowsContainerResources{
		CpuMaximum:         2500,
		MemoryLimitInBytes: 1 << 20,
		RootfsSizeInBytes:  7,
		AffinityCpus:       []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 3}},
	}
	if diff := cmp.Diff(want, n.Status(t, id).GetResources().GetWindows(), protocmp.Transform()); diff != "" {
		t.Errorf("limits in the status (-want +got):\n%s", diff)
	}

	if err := stopContainer(t, n, id, 0); err != nil {
		t.Fatal(err)
	}
	expect(t, update(&runtimeapi.WindowsContainerResources{CpuMaximum: 1}), codes.FailedPrecondition, "has ended")
	_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{ContainerId: "0123"})
	expect(t, err, codes.NotFound)
}
