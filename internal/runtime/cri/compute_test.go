package cri_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestComputeSystems has a running container and others, which the Host Compute Service does not show.
func TestComputeSystems(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	app := n.Run(t, pod, "app")
	n.Create(t, pod, "new")
	ended := n.Run(t, pod, "ended")
	if err := stopContainer(t, n, ended, 0); err != nil {
		t.Fatal(err)
	}

	stopped := n.RunPod(t, "stopped")
	stop(t, n, stopped)
	var ids []string
	for _, s := range n.Server.ComputeSystems() {
		ids = append(ids, s.ID)
		if s.Started.IsZero() {
			t.Errorf("%s: not started", s.ID)
		}
	}

	want := []string{pod, app}
	slices.Sort(ids)
	slices.Sort(want)
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("systems (-want +got):\n%s", diff)
	}

	n.Engine.SetUsage(app, usage(10))
	if got, err := n.Server.ComputeUsage(t.Context(), app); err != nil || got != usage(10) {
		t.Errorf("usage of the container: %+v, %v", got, err)
	}
	got, err := n.Server.ComputeUsage(t.Context(), pod)
	if err != nil || got.At.IsZero() || got != (engine.Usage{At: got.At}) {
		t.Errorf("usage of the sandbox: %+v, %v", got, err)
	}

	if got := n.Server.ComputeTraffic(t.Context(), pod).Interfaces; len(got) != 2 || got[0].RxBytes != 11 {
		t.Errorf("traffic of the sandbox: %+v", got)
	}
	if got := n.Server.ComputeTraffic(t.Context(), app); !got.At.IsZero() || got.Interfaces != nil {
		t.Errorf("traffic of a container, which has the sandbox's: %+v", got)
	}

	if _, err := n.Server.ComputeUsage(t.Context(), ended); err == nil {
		t.Error("the usage of a container that has ended")
	}
}
