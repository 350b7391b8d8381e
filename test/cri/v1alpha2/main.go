// Command v1alpha2 calls a CRI server as kubelets before Kubernetes 1.23 do: by upstream's own client of that version
// of CRI. It takes the path of the server's socket and the name of an image, leads a pod through its life, and prints
// what it is told, as JSON. It is a module of its own, because today's k8s.io/cri-api has the package no more. gRPC is
// of the version that Kubernetes 1.20 has.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1alpha2"
)

// Seen is what the server told.
type Seen struct {
	Version    string
	Ready      []string
	Image      string
	Pod        string
	Address    string
	Container  string
	ExecOutput string
	ExecCode   int32
	Stats      bool
	ExitCode   int32
	Left       int
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: v1alpha2 SOCKET IMAGE")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	seen, err := life(ctx, os.Args[1], os.Args[2])
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(seen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "v1alpha2:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to cancel
	}
}

// life leads a pod through its life.
func life(ctx context.Context, socket, image string) (seen Seen, err error) {
	dial := func(ctx context.Context, path string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	conn, err := grpc.DialContext(ctx, socket, grpc.WithInsecure(), grpc.WithBlock(), grpc.WithContextDialer(dial))
	if err != nil {
		return seen, err
	}
	defer conn.Close()
	runtime, images := cri.NewRuntimeServiceClient(conn), cri.NewImageServiceClient(conn)

	version, err := runtime.Version(ctx, &cri.VersionRequest{})
	if err != nil {
		return seen, fmt.Errorf("Version: %w", err)
	}
	seen.Version = version.Version + " " + version.RuntimeApiVersion
	status, err := runtime.Status(ctx, &cri.StatusRequest{})
	if err != nil {
		return seen, fmt.Errorf("Status: %w", err)
	}

	for _, c := range status.Status.Conditions {
		seen.Ready = append(seen.Ready, fmt.Sprint(c.Type, " ", c.Status))
	}

	spec := &cri.ImageSpec{Image: image}
	pulled, err := images.PullImage(ctx, &cri.PullImageRequest{Image: spec})
	if err != nil {
		return seen, fmt.Errorf("PullImage: %w", err)
	}
	found, err := images.ImageStatus(ctx, &cri.ImageStatusRequest{Image: spec})
	if err != nil {
		return seen, fmt.Errorf("ImageStatus: %w", err)
	}

	if found.Image != nil && found.Image.Id == pulled.ImageRef {
		seen.Image = found.Image.RepoTags[0]
	}
	if _, err := images.ImageFsInfo(ctx, &cri.ImageFsInfoRequest{}); err != nil {
		return seen, fmt.Errorf("ImageFsInfo: %w", err)
	}

	pod := &cri.PodSandboxConfig{
		Metadata: &cri.PodSandboxMetadata{
			Name:      "old",
			Namespace: "default",
			Uid:       "uid-old",
		},
		Hostname:     "old",
		LogDirectory: `C:\var\log\pods\old`,
		DnsConfig:    &cri.DNSConfig{Servers: []string{"10.96.0.10"}},
		Labels:       map[string]string{"app": "old"},
	}

	made, err := runtime.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
	if err != nil {
		return seen, fmt.Errorf("RunPodSandbox: %w", err)
	}
	id := made.PodSandboxId
	state, err := runtime.PodSandboxStatus(ctx, &cri.PodSandboxStatusRequest{PodSandboxId: id})
	if err != nil {
		return seen, fmt.Errorf("PodSandboxStatus: %w", err)
	}

	seen.Pod, seen.Address = state.Status.State.String(), state.Status.Network.Ip

	if err := container(ctx, runtime, id, pod, spec, &seen); err != nil {
		return seen, err
	}
	if _, err := runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return seen, fmt.Errorf("StopPodSandbox: %w", err)
	}
	if _, err := runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id}); err != nil {
		return seen, fmt.Errorf("RemovePodSandbox: %w", err)
	}

	left, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return seen, fmt.Errorf("ListPodSandbox: %w", err)
	}
	seen.Left = len(left.Items)

	return seen, nil
}

// container runs a program in the pod, another beside it, and ends it.
func container(ctx context.Context, runtime cri.RuntimeServiceClient, pod string, config *cri.PodSandboxConfig,
	image *cri.ImageSpec, seen *Seen,
) error {
	made, err := runtime.CreateContainer(ctx, &cri.CreateContainerRequest{
		PodSandboxId:  pod,
		SandboxConfig: config,
		Config: &cri.ContainerConfig{
			Metadata: &cri.ContainerMetadata{Name: "main"},
			Image:    image,
			Command:  []string{"serve.exe"},
			LogPath:  "main/0.log",
			Windows: &cri.WindowsContainerConfig{
				Resources: &cri.WindowsContainerResources{MemoryLimitInBytes: 256 << 20},
			},
		},
	})
	if err != nil {
		return fmt.Errorf("CreateContainer: %w", err)
	}

	id := made.ContainerId
	if _, err := runtime.StartContainer(ctx, &cri.StartContainerRequest{ContainerId: id}); err != nil {
		return fmt.Errorf("StartContainer: %w", err)
	}
	state, err := runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		return fmt.Errorf("ContainerStatus: %w", err)
	}
	seen.Container = state.Status.State.String()

	ran, err := runtime.ExecSync(ctx, &cri.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{"exit", "7"},
		Timeout:     10,
	})
	if err != nil {
		return fmt.Errorf("ExecSync: %w", err)
	}

	seen.ExecOutput, seen.ExecCode = string(ran.Stdout), ran.ExitCode
	stats, err := runtime.ContainerStats(ctx, &cri.ContainerStatsRequest{ContainerId: id})
	if err != nil {
		return fmt.Errorf("ContainerStats: %w", err)
	}

	seen.Stats = stats.Stats.Attributes.Id == id

	if _, err := runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: id, Timeout: 1}); err != nil {
		return fmt.Errorf("StopContainer: %w", err)
	}
	if state, err = runtime.ContainerStatus(ctx, &cri.ContainerStatusRequest{ContainerId: id}); err != nil {
		return fmt.Errorf("ContainerStatus: %w", err)
	}

	seen.ExitCode = state.Status.ExitCode
	if _, err := runtime.RemoveContainer(ctx, &cri.RemoveContainerRequest{ContainerId: id}); err != nil {
		return fmt.Errorf("RemoveContainer: %w", err)
	}

	return nil
}
