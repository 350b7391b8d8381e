package cri_test

import (
	"context"
	"os"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestHostProcessContainer has a pod in the Windows host.
func TestHostProcessContainer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the files of a HostProcess container belong to root")
	}

	n := critest.NewNode(t, func(c *cri.Config) {
		c.HostProcess = &cri.HostProcess{
			Name:       critest.NodeName,
			NetNS:      c.StateDir,
			BindFilter: true,
		}
	})

	resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.HostProcessPod("agent")})
	if err != nil {
		t.Fatal(err)
	}

	_, err = n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId: resp.GetPodSandboxId(), Config: critest.ContainerConfig("plain"),
	})
	expect(t, err, codes.InvalidArgument, "must have the HostProcess field set")
	piped := critest.ContainerConfig("piped")
	piped.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{HostProcess: true}
	withPipes("one")(piped)
	expect(t, createContainer(t, n, resp.GetPodSandboxId(), piped), codes.InvalidArgument,
		"named pipe mounts not supported for job containers")
	id := n.Run(t, resp.GetPodSandboxId(), "agent", func(c *containerConfig) {
		c.Image.Image = critest.OtherImage // any build will do
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{
			HostProcess: true, RunAsUsername: `NT AUTHORITY\SYSTEM`,
		}
	})

	c, _ := n.Engine.Container(id)
	inHost, ok := c.Kind.(*engine.HostProcess)
	if !ok || inHost.MountPoint != `C:\hpc\` || c.NetNS != n.Config.StateDir ||
		c.Hostname != "" {
		t.Errorf("the engine's container: %+v", c)
	}

	// What is run in it later has the mount point too, as in hcsshim.
	var ran []string
	n.Engine.OnExec = func(_ context.Context, p critest.Program) (uint32, error) {
		ran = p.Args
		return 0, nil
	}

	if _, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id, Cmd: []string{"$env:CONTAINER_SANDBOX_MOUNT_POINT/agent.exe", "%CONTAINER_SANDBOX_MOUNT_POINT%"},
	}); err != nil || !slices.Equal(ran, []string{`C:\hpc/agent.exe`, `C:\hpc`}) {
		t.Errorf("exec ran %q: %v", ran, err)
	}
	if err := stopContainer(t, n, id, 60); err != nil {
		t.Fatal(err)
	}

	stop(t, n, resp.GetPodSandboxId())
	if made := n.Calls.Made("Engine", "Images"); len(made) > 0 {
		t.Errorf("calls of the network for a pod in the host: %q", made)
	}
}
