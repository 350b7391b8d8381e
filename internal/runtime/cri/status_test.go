package cri_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// TestStatus: the kubelet makes the node's Ready condition of it.
func TestStatus(t *testing.T) {
	const runtime, network = runtimeapi.RuntimeReady, runtimeapi.NetworkReady
	for _, tc := range []struct {
		name, fails string
		want        map[string]string // "": the condition is true
	}{
		{"ready", "", map[string]string{runtime: "", network: ""}},
		{"no-containerd", "Engine.Version", map[string]string{
			runtime: "ContainerdUnreachable: it is away",
			network: "",
		}},
		{"no-network", "Network.Ready", map[string]string{runtime: "", network: "NetworkPluginNotReady: it is away"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			if tc.fails != "" {
				n.Calls.Fail(tc.fails, errors.New("it is away"))
			}
			resp, err := n.RuntimeServiceClient.Status(t.Context(), &runtimeapi.StatusRequest{Verbose: true})
			if err != nil {
				t.Fatal(err)
			}

			got := map[string]string{}
			for _, c := range resp.GetStatus().GetConditions() {
				got[c.GetType()] = ""
				if !c.GetStatus() {
					got[c.GetType()] = c.GetReason() + ": " + c.GetMessage()
				}
			}

			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
			var handlers []string
			for _, h := range resp.GetRuntimeHandlers() {
				handlers = append(handlers, h.GetName())
			}

			if diff := cmp.Diff([]string{"", critest.Handler}, handlers); diff != "" {
				t.Errorf("handlers (-want +got):\n%s", diff)
			}
			if !strings.Contains(resp.GetInfo()["config"], critest.NodeName) {
				t.Errorf("verbose: %v", resp.GetInfo())
			}
		})
	}
}

func TestVersion(t *testing.T) {
	n := critest.NewNode(t)
	v, err := n.Version(t.Context(), &runtimeapi.VersionRequest{})
	if err != nil || v.GetRuntimeName() != "containerd" || v.GetRuntimeVersion() != "2.0.0" ||
		v.GetRuntimeApiVersion() != "v1" {
		t.Errorf("version: %v, %v", v, err)
	}
}

func TestUpdateRuntimeConfig(t *testing.T) {
	n := critest.NewNode(t)
	update := func(cidr string) error {
		config := &runtimeapi.RuntimeConfig{NetworkConfig: &runtimeapi.NetworkConfig{PodCidr: cidr}}
		_, err := n.UpdateRuntimeConfig(t.Context(), &runtimeapi.UpdateRuntimeConfigRequest{RuntimeConfig: config})
		return err
	}

	// The kubelet sends an empty range before the node has one.
	for _, cidr := range []string{"", "10.244.1.0/24,fd00:244:1::/64"} {
		if err := update(cidr); err != nil {
			t.Errorf("range %q: %v", cidr, err)
		}
	}

	if diff := cmp.Diff([]string{"Network.SetPodCIDR 10.244.1.0/24,fd00:244:1::/64"},
		n.Calls.Made("Engine")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	n.Calls.Fail("Network.SetPodCIDR", errors.New("the range is taken"))
	expect(t, update("10.244.2.0/24"), codes.Unknown, "the range is taken")
}

func TestWhatWindowsDoesNotHave(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	_, err := n.CheckpointContainer(t.Context(), &runtimeapi.CheckpointContainerRequest{ContainerId: id})
	expect(t, err, codes.Unimplemented, "checkpoints")
	_, err = n.CheckpointPod(t.Context(), &runtimeapi.CheckpointPodRequest{})
	expect(t, err, codes.Unimplemented, "CheckpointPod")
	_, err = n.RestorePod(t.Context(), &runtimeapi.RestorePodRequest{})
	expect(t, err, codes.Unimplemented, "RestorePod")
	if _, err := n.UpdatePodSandboxResources(t.Context(), &runtimeapi.UpdatePodSandboxResourcesRequest{}); err != nil {
		t.Errorf("UpdatePodSandboxResources: %v", err)
	}

	resp, err := n.RuntimeConfig(t.Context(), &runtimeapi.RuntimeConfigRequest{})
	if err != nil || resp.GetLinux() != nil {
		t.Errorf("RuntimeConfig: %v, %v", resp, err)
	}
}

func TestContainerStatusVerbose(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Create(t, n.RunPod(t, "web"), "app")
	resp, err := n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id[:12], Verbose: true})
	if err != nil || resp.GetStatus().GetId() != id {
		t.Fatalf("status by the beginning of the id: %v, %v", resp, err)
	}

	for _, want := range []string{
		`"user":"ContainerUser"`, `"program":["C:\\app\\app.exe","serve"]`,
		`"dir":"C:\\app"`,
	} {
		if !strings.Contains(resp.GetInfo()["info"], want) {
			t.Errorf("verbose status %q lacks %q", resp.GetInfo()["info"], want)
		}
	}
}
