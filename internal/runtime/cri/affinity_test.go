package cri_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// TestAffinity: masks of processor groups become the kernel's numbers, at the start and by an update, which replaces
// them and leaves the other limits.
func TestAffinity(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	type groups = []*runtimeapi.WindowsCpuGroupAffinity
	for name, tt := range map[string]struct {
		start, update groups
		want          [2]string
	}{
		"none":       {},
		"given":      {start: groups{{CpuMask: 0b1011}}, want: [2]string{"0-1,3", "0-1,3"}},
		"changed":    {start: groups{{CpuMask: 0b1}}, update: groups{{CpuMask: 0b10}}, want: [2]string{"0", "1"}},
		"later":      {update: groups{{CpuMask: 1 << 63}}, want: [2]string{"", "63"}},
		"two groups": {start: groups{{CpuGroup: 1, CpuMask: 0b101}, {CpuMask: 1}}, want: [2]string{"0,64,66", "0,64,66"}},
	} {
		t.Run(name, func(t *testing.T) {
			id := n.Run(t, pod, name, func(c *containerConfig) {
				c.Windows.Resources = &runtimeapi.WindowsContainerResources{CpuMaximum: 5000, AffinityCpus: tt.start}
			})

			before, _ := n.Engine.Container(id)
			_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
				ContainerId: id,
				Windows:     &runtimeapi.WindowsContainerResources{AffinityCpus: tt.update},
			})
			if err != nil {
				t.Fatal(err)
			}

			after, _ := n.Engine.Container(id)
			got := [2]string{before.Resources.CPUs, after.Resources.CPUs}
			if got != tt.want || after.Resources.CPUMaximum != 5000 {
				t.Errorf("processors %q and then %q, want %q; %+v", got[0], got[1], tt.want, after.Resources)
			}
			want := tt.update
			if want == nil {
				want = tt.start
			}

			status := n.Status(t, id).GetResources().GetWindows().GetAffinityCpus()
			if diff := cmp.Diff(want, status, protocmp.Transform()); diff != "" {
				t.Errorf("the status (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAffinityNotSpread: if the container's Windows cannot be told, the update fails, and is tried again by the next.
func TestAffinityNotSpread(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	update := func() error {
		_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
			ContainerId: id,
			Windows: &runtimeapi.WindowsContainerResources{
				AffinityCpus: []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 2}},
			},
		})
		return err
	}
	n.Calls.Fail("Engine.Exec", errors.New("no wineserver"))
	for range 2 {
		expect(t, update(), codes.Unknown, "no wineserver")
	}

	n.Calls.Reset()
	if err := update(); err != nil {
		t.Fatal(err)
	}
	n.Calls.Fail("Engine.Exec", errors.New("asked though nothing has changed"))
	if err := update(); err != nil {
		t.Error(err)
	}
}
