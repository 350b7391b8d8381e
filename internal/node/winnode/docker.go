package winnode

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"time"

	"mullion.dev/mullion/internal/base/unixsocket"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// DockerPort is the port on the loopback of the host's own network namespace at which dockerd.exe serves its API,
// beside the named pipe that programs of the host, and containers, know.
const DockerPort = 2375

// dockerFolder is the folder of dockerd.exe on C:, where Docker's own installation has it.
const (
	dockerFolder  = "Program Files/docker/"
	dockerProgram = "dockerd.exe"
)

// DockerUnit returns the unit whose readiness means that dockerd.exe serves its API.
func (c Config) DockerUnit() component.ID { return c.Unit("dockerd") }

// dockerArgs returns the flags of dockerd.exe. Nobody but programs of the host, and those whom the machine lets to the
// API's socket, reaches the host's loopback, so there is no TLS. A container's disk has no size here, so none is asked
// for.
func dockerArgs() []string {
	return []string{
		"-H", "npipe:////./pipe/docker_engine",
		"-H", fmt.Sprintf("tcp://%s", loopback(DockerPort)), "--tls=false",
		"--storage-opt", "size=0",
	}
}

// dockerUnit returns upstream's dockerd.exe.
func (c Config) dockerUnit() component.Component {
	dial := func(ctx context.Context) (net.Conn, error) {
		return proc.DialIn(c.Netns)(ctx, "tcp", loopback(DockerPort).String())
	}
	return c.Process("dockerd", proc.Spec{
		Path:  "/proc/self/exe", // replaced by the loader, which is known when the host is up
		Netns: c.Netns,
		Starter: func(ctx context.Context, cmd *exec.Cmd) error {
			h, err := c.running()
			if err != nil {
				return err
			}
			return startWindows(ctx, cmd, h, c.node().Path("/"+dockerFolder+dockerProgram), dockerArgs()...)
		},
		Ready: func(ctx context.Context) error { return pingDocker(ctx, dial) },
	}, nil)
}

// dockerPatience bounds an engine's answer to whether it serves.
const dockerPatience = 10 * time.Second

// pingDocker asks an engine whether it serves (https://docs.docker.com/reference/api/engine/version/v1.51/, /_ping).
func pingDocker(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	return unixsocket.NewClientBy(dial, dockerPatience).Call(ctx, http.MethodGet, "/_ping", nil)
}
