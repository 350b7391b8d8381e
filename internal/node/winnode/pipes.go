package winnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/windows/wine"
)

// The pipe on which the CRI server is reached, containerd's own
// (https://github.com/containerd/containerd/blob/v2.4.2/defaults/defaults_windows.go), as a name of Windows and as the
// kubelet and crictl name it.
const (
	criPipe     = `\\.\pipe\containerd-containerd`
	CRIEndpoint = "npipe:////./pipe/containerd-containerd"
)

// criSecurity is the pipe's security descriptor: administrators and the system may do everything, others nothing.
const criSecurity = "D:P(A;;GA;;;BA)(A;;GA;;;SY)"

// pipesSocket is the Unix socket that leads to the pipe, so that the pipe is probed from its clients' side.
func (c Config) pipesSocket() string {
	return filepath.Join(agentconfig.PipesDir(c.RunDir), "containerd-containerd.sock")
}

// pipesUnit is mullion-pipe.exe on the host, which has the pipe.
func (c Config) pipesUnit() component.Component {
	dial := dialSocket(c.pipesSocket())
	p := c.Process("pipes", proc.Spec{
		Path:  "/proc/self/exe", // replaced by the loader, which is known when the host is up
		Netns: c.Netns,
		Starter: func(ctx context.Context, cmd *exec.Cmd) error {
			// A socket of a killed process is still there.
			if err := os.Remove(c.pipesSocket()); err != nil && !errors.Is(err, os.ErrNotExist) {
				return fmt.Errorf("remove the last socket: %w", err)
			}
			h, err := c.running()
			if err != nil {
				return err
			}
			return startWindows(ctx, cmd, h, wine.PipeProgram, "--security", criSecurity,
				criPipe, wine.UnixName(agentconfig.CRISocket(c.RunDir)), wine.UnixName(c.pipesSocket()), criPipe)
		},
		Ready: connects(dial),
	}, nil)
	p.Health = func(ctx context.Context) error { return kubenode.RuntimeHealth(ctx, dial) }
	return p
}
