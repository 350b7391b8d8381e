package winnode

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
)

// DockerPort is the port on the loopback of the host's own network namespace at which dockerd.exe serves its API, beside
// the named pipe that programs of the host, and containers, know.
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

// pingDocker asks an engine whether it serves (https://docs.docker.com/reference/api/engine/version/v1.51/, /_ping).
func pingDocker(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	client := http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://docker/_ping", nil)
	if err != nil {
		return err
	}

	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // the status says enough
		return fmt.Errorf("dockerd.exe answers %s: %s", answer.Status, text)
	}

	return nil
}
