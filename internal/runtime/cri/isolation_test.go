package cri_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

const hypervisor = "runhcs-wcow-hypervisor"

// isolatedNode has both of containerd's handlers.
func isolatedNode(t *testing.T) *critest.Node {
	t.Helper()
	return critest.NewNode(t, func(c *cri.Config) { c.Handlers = append(c.Handlers, hypervisor) })
}

// runIsolated runs a pod with Hyper-V isolation.
func runIsolated(t *testing.T, n *critest.Node, change ...func(*podConfig)) (string, error) {
	t.Helper()
	config := critest.PodConfig("iso")
	for _, c := range change {
		c(config)
	}
	resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{
		Config: config, RuntimeHandler: hypervisor,
	})
	return resp.GetPodSandboxId(), err
}

func annotated(key, value string) func(*podConfig) {
	return func(c *podConfig) { c.Annotations = map[string]string{key: value} }
}

const (
	memoryAnnotation     = "io.microsoft.virtualmachine.computetopology.memory.sizeinmb"
	processorsAnnotation = "io.microsoft.virtualmachine.computetopology.processor.count"
)

// TestIsolationRefuses: nothing is left of a pod that cannot be isolated as it asks.
func TestIsolationRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*podConfig)
		none   error // why there are no virtual machines
		want   string
	}{
		{
			"no-machines", nil, errors.New("there is no QEMU on this machine"),
			"no hypervisor is present on this system (0xc0351000): there is no QEMU on this machine; to run the pod in process isolation",
		},
		{"no-such-isolation", annotated(cri.IsolationAnnotation, "Process"), nil, `mullion.dev/isolation is "Process"`},
		{"too-small", annotated(memoryAnnotation, "64"), nil, `is "64"; it can be a number from 256`},
		{"no-number", annotated(memoryAnnotation, "1Gi"), nil, `is "1Gi"`},
		{"too-many", annotated(processorsAnnotation, "100000"), nil, `is "100000"; it can be a number from 1`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := isolatedNode(t)
			if tc.none != nil {
				n.Calls.Fail("MachinesReady", tc.none)
			}
			change := tc.change
			if change == nil {
				change = func(*podConfig) {}
			}

			_, err := runIsolated(t, n, change)
			if err == nil {
				t.Fatal("the pod runs")
			}
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %q lacks %q", err, tc.want)
			}

			if made := n.Calls.Made("Engine.List", "MachinesReady"); len(made) > 0 {
				t.Errorf("calls: %v", made)
			}
		})
	}
}

// TestIsolationByAnnotation: a pod with the annotation of Kubernetes before 1.21 has a machine without a RuntimeClass.
func TestIsolationByAnnotation(t *testing.T) {
	const experiment = "experimental.windows.kubernetes.io/isolation-type"
	for _, tc := range []struct {
		name        string
		annotations map[string]string
		machine     bool
	}{
		{"hyperv", map[string]string{experiment: "hyperv"}, true},
		{"other", map[string]string{experiment: "process"}, false},
		{"without-machine", map[string]string{experiment: "hyperv", cri.IsolationAnnotation: "process"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := isolatedNode(t)
			config := critest.PodConfig("iso")
			config.Annotations = tc.annotations
			resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
			if err != nil {
				t.Fatal(err)
			}

			made, _ := n.Engine.Container(n.Run(t, resp.GetPodSandboxId(), "app"))
			if got := made.Kind != nil; got != tc.machine {
				t.Errorf("the container is of kind %+v; want a machine: %t", made.Kind, tc.machine)
			}
		})
	}

	n := isolatedNode(t)
	n.Calls.Fail("MachinesReady", errors.New("there is no QEMU on this machine"))
	config := critest.PodConfig("iso")
	config.Annotations = map[string]string{experiment: "hyperv"}
	_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err == nil || !strings.Contains(err.Error(), "no hypervisor is present") {
		t.Errorf("without a hypervisor: %v", err)
	}
}

// TestProcessIsolation: with the annotation the pod has no machine.
func TestProcessIsolation(t *testing.T) {
	n := isolatedNode(t)
	n.Calls.Fail("MachinesReady", errors.New("there is no QEMU on this machine"))
	pod, err := runIsolated(t, n, annotated(cri.IsolationAnnotation, "process"))
	if err != nil {
		t.Fatal(err)
	}
	c := n.Run(t, pod, "app")
	if made, _ := n.Engine.Container(c); made.Kind != nil {
		t.Errorf("the container is of kind %+v", made.Kind)
	}
}

// TestMachineBesideItsPod: a pod's machine is made after its network and removed before it.
func TestMachineBesideItsPod(t *testing.T) {
	n := isolatedNode(t)
	pod, err := runIsolated(t, n, annotated(memoryAnnotation, "2048"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"MachinesReady", "Network.Setup", "StartMachine"}
	if diff := cmp.Diff(want, n.Calls.Made("Engine.List", "Engine.Wait")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	c := n.Run(t, pod, "app")
	if made, _ := n.Engine.Container(c); made.Kind != (engine.InMachine{ID: pod}) {
		t.Errorf("the container is of kind %+v", made.Kind)
	}
	var systems []string
	for _, s := range n.Server.ComputeSystems() {
		systems = append(systems, s.ID)
	}

	if diff := cmp.Diff([]string{pod + "@vm"}, systems); diff != "" {
		t.Errorf("compute systems (-want +got):\n%s", diff)
	}
	n.Calls.Forget()
	if _, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Fatal(err)
	}

	made := n.Calls.Made()
	machine, network := slices.Index(made, "Engine.Remove"), slices.Index(made, "Network.Teardown")
	if machine < 0 || machine > network {
		t.Errorf("calls: %v", made)
	}
	if slices.Contains(n.Engine.Containers(), pod) {
		t.Error("the machine of a stopped pod is there")
	}
}

// TestGuestThatLies: a pod can be stopped and removed whose guest does not end containers.
func TestGuestThatLies(t *testing.T) {
	n := isolatedNode(t)
	pod, err := runIsolated(t, n)
	if err != nil {
		t.Fatal(err)
	}
	n.Engine.Process(n.Run(t, pod, "app")).Immortal = true
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	if _, err := n.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}
	if left := n.Engine.Containers(); len(left) > 0 {
		t.Errorf("containers of the removed pod: %v", left)
	}
}

// TestMachineThatDoesNotBoot leaves nothing.
func TestMachineThatDoesNotBoot(t *testing.T) {
	n := isolatedNode(t)
	n.Calls.Fail("StartMachine", errors.New("boot the guest: EOF"))
	if _, err := runIsolated(t, n); err == nil {
		t.Fatal("the pod runs")
	}
	if pods := listPods(t, n, nil); len(pods) > 0 {
		t.Errorf("pods: %v", pods)
	}
	if !slices.Contains(n.Calls.Made(), "Network.Teardown") {
		t.Errorf("calls: %v", n.Calls.Made())
	}
}

// TestMachineEnds: a pod whose machine has ended is not ready, also where it ended while no server ran.
func TestMachineEnds(t *testing.T) {
	for _, restart := range []bool{false, true} {
		n := isolatedNode(t)
		pod, err := runIsolated(t, n)
		if err != nil {
			t.Fatal(err)
		}
		if restart {
			n.Stop(t)
		}

		n.Engine.Process(pod).End(137)
		if restart {
			n.Start(t)
		}
		critest.Eventually(t, "the pod is not ready", func() bool { return n.PodState(t, pod) == notReady })
	}
}

// TestMachineSurvivesTheServer: the next server knows a pod's machine, and removes one of no pod.
func TestMachineSurvivesTheServer(t *testing.T) {
	n := isolatedNode(t)
	pod, err := runIsolated(t, n)
	if err != nil {
		t.Fatal(err)
	}
	n.KillIn(t, "StartMachine", true, func() { _, _ = runIsolated(t, n) })
	if diff := cmp.Diff([]string{pod}, n.Engine.Containers()); diff != "" {
		t.Errorf("machines (-want +got):\n%s", diff)
	}
	if n.PodState(t, pod) != ready {
		t.Error("the pod is not ready any more")
	}
}

// TestContainerInMachineRefused: a container gets what it asks for, or is not made.
func TestContainerInMachineRefused(t *testing.T) {
	n := isolatedNode(t)
	pod, err := runIsolated(t, n)
	if err != nil {
		t.Fatal(err)
	}

	large := critest.ContainerConfig("large")
	large.Windows = &runtimeapi.WindowsContainerConfig{
		Resources: &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 2 << 30},
	}
	expect(t, createContainer(t, n, pod, large), codes.InvalidArgument,
		"the memory limit of 2048 MB is more than the pod's virtual machine has, which is 1024 MB", memoryAnnotation)
	c := n.Run(t, pod, "app")
	_, err = n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: c, Windows: &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 2 << 30},
	})
	expect(t, err, codes.InvalidArgument, "the memory limit of 2048 MB")
	bound := critest.ContainerConfig("bound")
	bound.Windows = &runtimeapi.WindowsContainerConfig{Resources: &runtimeapi.WindowsContainerResources{
		AffinityCpus: []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 1}},
	}}

	if err := createContainer(t, n, pod, bound); err == nil {
		t.Error("a container in a machine is bound to processors of the node")
	}
	pipes := critest.ContainerConfig("pipes")
	pipes.Mounts = []*runtimeapi.Mount{{HostPath: `\\.\pipe\a`, ContainerPath: `\\.\pipe\a`}}
	if err := createContainer(t, n, pod, pipes); err == nil {
		t.Error("a container in a machine mounts a pipe of the host")
	}

	account := critest.ContainerConfig("account")
	account.Windows = &runtimeapi.WindowsContainerConfig{SecurityContext: &runtimeapi.WindowsContainerSecurityContext{
		CredentialSpec: "{}",
	}}
	expect(t, createContainer(t, n, pod, account), codes.Unimplemented, "cannot have a credential spec")
}
