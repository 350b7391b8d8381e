package winnode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/node/agent/agentconfig"
	"mullion.dev/mullion/internal/node/kubenode"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/windows/wine"
	"mullion.dev/mullion/internal/windows/wire/hostcall"
	"mullion.dev/mullion/internal/windows/wire/piperelay"
)

// The pipe on which programs of the host reach the CRI server, containerd's own
// (https://github.com/containerd/containerd/blob/v2.4.2/defaults/defaults_windows.go), as a name of Windows and as
// crictl names it.
const (
	criPipe     = `\\.\pipe\containerd-containerd`
	CRIEndpoint = "npipe:////./pipe/containerd-containerd"
)

// criSecurity is the pipe's security descriptor: administrators and the system may do everything, others nothing.
const criSecurity = "D:P(A;;GA;;;BA)(A;;GA;;;SY)"

// pipesSocket returns the Unix socket that leads to the pipe, so that the pipe is probed from its clients' side.
func (c Config) pipesSocket() string { return ContainerdSocket(c.RunDir) }

// pipesArgs returns the arguments of mullion-pipe.exe. It listens on the sockets before it is ready. Where there is
// containerd.exe, the pipe of CRI is that program's.
func (c Config) pipesArgs() []string {
	var relays []piperelay.Relay
	if c.Containerd == "" {
		relays = append(relays, piperelay.Relay{Listen: criPipe, Dial: wine.UnixName(agentconfig.CRISocket(c.RunDir))})
	}
	for _, name := range hostcall.Names() {
		relays = append(relays, piperelay.Relay{
			Listen: name.Pipe(),
			Dial:   wine.UnixName(agentconfig.ServiceSocket(c.RunDir, name)),
		})
	}

	relays = append(relays,
		piperelay.Relay{Listen: wine.UnixName(agentconfig.NamedSocket(c.RunDir)), Dial: piperelay.Named},
		piperelay.Relay{Listen: wine.UnixName(c.pipesSocket()), Dial: criPipe},
	)
	return piperelay.Options{Security: criSecurity, Relays: relays}.Args()
}

// pipesUnit is mullion-pipe.exe on the host, which has the pipe.
func (c Config) pipesUnit() component.Component {
	dial := func(ctx context.Context) (net.Conn, error) { return unixsocket.Dialer(c.pipesSocket())(ctx, "", "") }
	p := c.Process("pipes", proc.Spec{
		Path:  "/proc/self/exe", // replaced by the loader, which is known when the host is up
		Netns: c.Netns,
		Starter: func(ctx context.Context, cmd *exec.Cmd) error {
			// Sockets of a killed process are still there.
			for _, socket := range []string{c.pipesSocket(), agentconfig.NamedSocket(c.RunDir)} {
				if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
					return fmt.Errorf("remove the last socket: %w", err)
				}
			}

			h, err := c.running()
			if err != nil {
				return err
			}
			return startWindows(ctx, cmd, h, wine.PipeProgram, c.pipesArgs()...)
		},
		Ready: connects(dial),
	}, nil)

	if !c.Bare && c.Containerd == "" {
		p.Health = func(ctx context.Context) error { return kubenode.RuntimeHealth(ctx, dial) }
	}
	return p
}
