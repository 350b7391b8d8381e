package cri_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// The kubelet's messages, shorter.
type (
	podConfig       = runtimeapi.PodSandboxConfig
	containerConfig = runtimeapi.ContainerConfig
)

const (
	ready    = runtimeapi.PodSandboxState_SANDBOX_READY
	notReady = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
)

// expect checks an error's gRPC code, and that people are told about the words.
func expect(t *testing.T, err error, code codes.Code, words ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Errorf("code %v, want %v: %v", status.Code(err), code, err)
	}
	for _, w := range words {
		if err != nil && !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

// expectStartError checks the status of a container whose start was refused.
func expectStartError(t *testing.T, st *runtimeapi.ContainerStatus, words string) {
	t.Helper()
	if st.GetState() != exited || st.GetReason() != "StartError" || st.GetExitCode() != 128 {
		t.Errorf("status: %v", st)
	}
	if !strings.Contains(st.GetMessage(), words) {
		t.Errorf("message %q lacks %q", st.GetMessage(), words)
	}
}

// expectUnknown checks the status of a container whose end nobody saw.
func expectUnknown(t *testing.T, st *runtimeapi.ContainerStatus, message string) {
	t.Helper()
	if st.GetState() != exited || st.GetReason() != "Unknown" || st.GetExitCode() != 255 || st.GetMessage() != message {
		t.Errorf("status: %v, want the message %q", st, message)
	}
}

func createContainer(t *testing.T, n *critest.Node, pod string, config *containerConfig) error {
	t.Helper()
	_, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: pod, Config: config})
	return err
}

func listPods(t *testing.T, n *critest.Node, filter *runtimeapi.PodSandboxFilter) []string {
	t.Helper()
	resp, err := n.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{Filter: filter})
	if err != nil {
		t.Fatalf("ListPodSandbox: %v", err)
	}
	var names []string
	for _, item := range resp.GetItems() {
		names = append(names, item.GetMetadata().GetName())
	}
	slices.Sort(names)
	return names
}

// stop stops a pod, which must work.
func stop(t *testing.T, n *critest.Node, pod string) {
	t.Helper()
	if _, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Errorf("StopPodSandbox: %v", err)
	}
}

// remove removes a pod, which must work.
func remove(t *testing.T, n *critest.Node, pod string) {
	t.Helper()
	if _, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Errorf("RemovePodSandbox: %v", err)
	}
}

const (
	created = runtimeapi.ContainerState_CONTAINER_CREATED
	running = runtimeapi.ContainerState_CONTAINER_RUNNING
	exited  = runtimeapi.ContainerState_CONTAINER_EXITED
)

func startContainer(t *testing.T, n *critest.Node, id string) error {
	t.Helper()
	_, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
	return err
}

func stopContainer(t *testing.T, n *critest.Node, id string, grace int64) error {
	t.Helper()
	_, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: grace})
	return err
}

func removeContainer(t *testing.T, n *critest.Node, id string) error {
	t.Helper()
	_, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id})
	return err
}

func hostPath(t *testing.T, n *critest.Node, winPath string) string {
	t.Helper()
	path, err := n.HostPath(winPath)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func listDir(t *testing.T, elem ...string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(elem...))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func listContainers(t *testing.T, n *critest.Node, filter *runtimeapi.ContainerFilter) []string {
	t.Helper()
	resp, err := n.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{Filter: filter})
	if err != nil {
		t.Fatalf("ListContainers: %v", err)
	}
	var names []string
	for _, item := range resp.GetContainers() {
		names = append(names, item.GetMetadata().GetName())
	}
	slices.Sort(names)
	return names
}
