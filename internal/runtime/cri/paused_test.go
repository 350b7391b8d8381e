package cri_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/windows/wire/localgroup"
)

// pausedNode has pods with pause containers of an image.
func pausedNode(t *testing.T, image string) *critest.Node {
	t.Helper()
	return critest.NewNode(t, func(c *cri.Config) {
		c.PauseImage = image
		c.Handlers = append(c.Handlers, hypervisor)
		c.HostProcess = &cri.HostProcess{
			Name: "win-1", LocalGroups: func() (localgroup.Groups, error) { return localgroup.BuiltIn(), nil },
		}
	})
}

// TestPauseContainer: a pod's pause container runs beside its own before they do, has no limits and no streams, and CRI
// shows of it what it shows on Windows: nothing but the image of the sandbox and what the pod uses.
func TestPauseContainer(t *testing.T) {
	n := pausedNode(t, critest.AppImage)
	pod := n.RunPod(t, "web")
	made, running := n.Engine.Container(pod)
	if !running || made.Pod != pod || made.NetNS == "" || made.Kind != nil || made.Resources.MemoryLimit != 0 {
		t.Fatalf("the pause container: running %t, %+v", running, made)
	}
	if got := n.Engine.Process(pod); got.Stdout != nil || !slices.Equal(got.Args, []string{`C:\app\app.exe`, "serve"}) {
		t.Errorf("its program: %q, %v", got.Args, got.Stdout)
	}

	app := n.Run(t, pod, "app")
	all, err := n.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil || len(all.GetContainers()) != 1 || all.GetContainers()[0].GetId() != app {
		t.Errorf("containers: %v, %v", all.GetContainers(), err)
	}
	if _, err := n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: pod}); err == nil {
		t.Error("CRI has a status of the pause container")
	}
	stats, err := n.ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{})
	if err != nil || len(stats.GetStats()) != 1 {
		t.Errorf("statistics: %v, %v", stats.GetStats(), err)
	}

	status, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{
		PodSandboxId: pod, Verbose: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ Image string }
	if err := json.Unmarshal([]byte(status.GetInfo()["info"]), &info); err != nil || info.Image != critest.AppImage {
		t.Errorf("image of the sandbox: %q, %v", info.Image, err)
	}
	if got := status.GetContainersStatuses(); len(got) != 1 {
		t.Errorf("containers of the pod: %v", got)
	}

	// What it uses is the pod's.
	n.Engine.SetUsage(pod, usage(10))
	n.Engine.SetUsage(app, usage(10))
	if got, err := n.Server.ComputeUsage(t.Context(), pod); err != nil || got != usage(10) {
		t.Errorf("usage of the sandbox: %+v, %v", got, err)
	}
	used, err := n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod})
	windows := used.GetStats().GetWindows()
	if err != nil || windows.GetMemory().GetWorkingSetBytes().GetValue() != 2*usage(10).WorkingSet {
		t.Errorf("usage of the pod: %v, %v", windows, err)
	}
	if len(windows.GetContainers()) != 1 {
		t.Errorf("containers of the pod's usage: %v", windows.GetContainers())
	}

	stop(t, n, pod)
	if left := n.Engine.Containers(); slices.Contains(left, pod) {
		t.Errorf("containers of the stopped pod: %v", left)
	}
	if n.Log.Has("stopping a pod of which a part has ended") {
		t.Error("the pause container of a pod that is stopped is taken for one that ended by itself")
	}
}

// TestPauseContainerOfOrdinaryPods: a pod in a virtual machine or in the host has no pause container.
func TestPauseContainerOfOrdinaryPods(t *testing.T) {
	n := pausedNode(t, critest.AppImage)
	isolated, err := runIsolated(t, n)
	if err != nil {
		t.Fatal(err)
	}
	if made, _ := n.Engine.Container(isolated); made.Kind != nil || len(made.Args) > 0 {
		t.Errorf("of the pod with Hyper-V isolation the engine has %+v", made)
	}

	inHost, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{
		Config: critest.HostProcessPod("host"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(n.Engine.Containers(), inHost.GetPodSandboxId()) {
		t.Error("the HostProcess pod has a pause container")
	}

	var systems []string
	for _, s := range n.Server.ComputeSystems() {
		systems = append(systems, s.ID)
	}
	if diff := cmp.Diff([]string{isolated + "@vm"}, systems); diff != "" {
		t.Errorf("compute systems (-want +got):\n%s", diff)
	}
}

// TestPauseContainerOfTheSwitch: pods that were there before pause containers were switched on or off stay as they are.
func TestPauseContainerOfTheSwitch(t *testing.T) {
	n := pausedNode(t, critest.AppImage)
	with := n.RunPod(t, "with")
	n.Stop(t)
	n.Config.PauseImage = ""
	n.Start(t)
	without := n.RunPod(t, "without")
	n.Stop(t)
	n.Config.PauseImage = critest.AppImage
	n.Start(t)
	if diff := cmp.Diff([]string{with}, n.Engine.Containers()); diff != "" {
		t.Errorf("pause containers (-want +got):\n%s", diff)
	}
	for _, pod := range []string{with, without} {
		if n.PodState(t, pod) != ready {
			t.Errorf("pod %s is not ready any more", pod)
		}
	}
}

// TestPauseImage: the image of a registry is pulled for the first pod; without an image that can run there is no pod,
// and nothing is left of it.
func TestPauseImage(t *testing.T) {
	n := pausedNode(t, critest.RemoteImage)
	n.RunPod(t, "first")
	n.RunPod(t, "second")
	if pulled, _ := n.Images.Pulls(); len(pulled) != 1 {
		t.Errorf("%d times pulled", len(pulled))
	}

	for _, tc := range []struct{ name, image, want string }{
		{"missing", "mullion.test/missing:1", `get sandbox image "mullion.test/missing:1"`},
		{"other-build", critest.OtherImage, "10.0.26100.1742"},
		{"no-program", critest.EmptyImage, "no command specified"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := pausedNode(t, tc.image)
			_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("web")})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v lacks %q", err, tc.want)
			}
			if left := n.Left(); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// TestPauseContainerThatDoesNotStart: nothing is left of its pod.
func TestPauseContainerThatDoesNotStart(t *testing.T) {
	for _, refused := range []bool{false, true} {
		n := pausedNode(t, critest.AppImage)
		if refused {
			n.Engine.OnStart = func(_ string, p *critest.Process) error {
				return p.Refuse(2, "The system cannot find the file specified. (0x2)")
			}
		} else {
			n.Calls.Fail("Engine.Start", errors.New("runc: no such cgroup"))
		}
		_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("web")})
		if err == nil || !strings.Contains(err.Error(), "start pause container: ") {
			t.Errorf("refused %t: error %v", refused, err)
		}
		if left := n.Left(); len(left) > 0 {
			t.Errorf("refused %t: left: %v", refused, left)
		}
	}
}

// TestPauseContainerEnds: a pod whose pause container has ended is not ready, also where it ended while no server ran.
func TestPauseContainerEnds(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for _, restart := range []bool{false, true} {
		n := pausedNode(t, critest.AppImage)
		pod := n.RunPod(t, "web")
		app := n.Run(t, pod, "app")
		if restart {
			n.Stop(t)
		}

		n.Engine.Process(pod).End(137)
		if restart {
			n.Start(t)
		}
		critest.Eventually(t, "the pod is not ready", func() bool { return n.PodState(t, pod) == notReady })
		n.WaitExit(t, app)
	}
}

// TestPauseContainerSurvivesTheServer: the next server knows a pod's pause container, and removes that of a half-made
// pod.
func TestPauseContainerSurvivesTheServer(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for _, call := range []string{"Engine.Create", "Engine.Start"} {
		n := pausedNode(t, critest.AppImage)
		pod := n.RunPod(t, "web")
		n.KillIn(t, call, true, func() {
			_, _ = n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("half")})
		})
		if diff := cmp.Diff([]string{pod}, n.Engine.Containers()); diff != "" {
			t.Errorf("%s: pause containers (-want +got):\n%s", call, diff)
		}
		if n.PodState(t, pod) != ready {
			t.Errorf("%s: the pod is not ready any more", call)
		}
	}
}
