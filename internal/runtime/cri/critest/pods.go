package critest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// PodConfig returns a kubelet's request for a pod of that name.
func PodConfig(name string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name:      name,
			Uid:       "uid-" + name,
			Namespace: "default",
		},
		Hostname:     name,
		LogDirectory: `C:\var\log\pods\` + name,
		Labels:       map[string]string{"app": name},
		DnsConfig: &runtimeapi.DNSConfig{
			Servers: []string{"10.96.0.10"}, Searches: []string{"default.svc.cluster.local", "cluster.local"},
		},
	}
}

// HostProcessPod returns a kubelet's request for a pod of that name in the Windows host.
func HostProcessPod(name string) *runtimeapi.PodSandboxConfig {
	config := PodConfig(name)
	config.Windows = &runtimeapi.WindowsPodSandboxConfig{
		SecurityContext: &runtimeapi.WindowsSandboxSecurityContext{HostProcess: true},
	}
	return config
}

// ContainerConfig returns a kubelet's request for a container of that name from AppImage.
func ContainerConfig(name string) *runtimeapi.ContainerConfig {
	return &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name},
		Image:    &runtimeapi.ImageSpec{Image: AppImage},
		LogPath:  name + `\0.log`,
		Labels:   map[string]string{"container": name},
		Windows:  &runtimeapi.WindowsContainerConfig{},
	}
}

// RunPod runs a pod and returns its id; change may change what is asked for.
func (n *Node) RunPod(t *testing.T, name string, change ...func(*runtimeapi.PodSandboxConfig)) string {
	t.Helper()
	config := PodConfig(name)
	for _, c := range change {
		c(config)
	}
	resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatalf("RunPodSandbox: %v", err)
	}
	return resp.GetPodSandboxId()
}

// Create makes a container and returns its id; change may change what is asked for.
func (n *Node) Create(t *testing.T, pod, name string, change ...func(*runtimeapi.ContainerConfig)) string {
	t.Helper()
	config := ContainerConfig(name)
	for _, c := range change {
		c(config)
	}
	resp, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: pod, Config: config})
	if err != nil {
		t.Fatalf("CreateContainer: %v", err)
	}
	return resp.GetContainerId()
}

// Run makes and starts a container and returns its id; change may change what is asked for.
func (n *Node) Run(t *testing.T, pod, name string, change ...func(*runtimeapi.ContainerConfig)) string {
	t.Helper()
	id := n.Create(t, pod, name, change...)
	if _, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatalf("StartContainer: %v", err)
	}
	return id
}

// Status returns a container's status.
func (n *Node) Status(t *testing.T, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	resp, err := n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		t.Fatalf("ContainerStatus: %v", err)
	}
	return resp.GetStatus()
}

// WaitExit waits until a container's end is known, and returns its status.
func (n *Node) WaitExit(t *testing.T, id string) *runtimeapi.ContainerStatus {
	t.Helper()
	var status *runtimeapi.ContainerStatus
	Eventually(t, "container has ended", func() bool {
		status = n.Status(t, id)
		return status.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED
	})
	return status
}

// PodState returns a pod's state.
func (n *Node) PodState(t *testing.T, id string) runtimeapi.PodSandboxState {
	t.Helper()
	resp, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		t.Fatalf("PodSandboxStatus: %v", err)
	}
	return resp.GetStatus().GetState()
}

// ContainerLog returns what a container has logged, without the times.
func (n *Node) ContainerLog(t *testing.T, id string) string {
	t.Helper()
	path, err := n.HostPath(n.Status(t, id).GetLogPath())
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	var text strings.Builder
	for line := range strings.Lines(string(data)) {
		_, rest, _ := strings.Cut(line, " ")
		text.WriteString(rest)
	}

	return text.String()
}

// BreakDisk makes the next writes of a checkpoint fail, as a full disk does, until repair is called. repair restores
// the file unless it was deleted meanwhile. kind is "sandboxes" or "containers".
func (n *Node) BreakDisk(t *testing.T, kind, id string) (repair func()) {
	t.Helper()
	path := filepath.Join(n.Config.StateDir, kind, id+".json")
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}

	there := err == nil
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil { // a file cannot be renamed over a folder
		t.Fatal(err)
	}
	return func() {
		err := os.Remove(path)
		if errors.Is(err, os.ErrNotExist) {
			return
		}

		if err == nil && there {
			err = os.WriteFile(path, old, 0o600)
		}
		if err != nil {
			t.Errorf("repair disk: %v", err)
		}
	}
}
