//go:build cluster

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// enginePipe is the mount of the engine's named pipe, as programs of Windows expect it in a container.
const enginePipe = `\\.\pipe\docker_engine:\\.\pipe\docker_engine`

// pipe has a container ask the engine by its named pipe, and one ask a pipe that is not there.
func (d dockerUp) pipe(t *testing.T) {
	d.run(t, "", 0, "Server:", "run", "--rm", "-v", enginePipe, dockerImage, `C:\app\docker.exe`, "version")
	d.run(t, "", 1, "", "run", "--rm", "-v", `\\.\pipe\absent:\\.\pipe\docker_engine`, dockerImage, `C:\app\docker.exe`, "version")
	d.run(t, "", 1, "", "run", "--rm", dockerImage, `C:\app\docker.exe`, "version")

	// The pipe is there also after a restart of the host's agent.
	d.run(t, "", 0, "", "run", "-d", "--name", "piped", "-v", enginePipe, dockerImage, "cmd", "/c", waits)
	d.kill(t, `mullion-node serve\b`)
	d.run(t, "", 0, "piped", "exec", "piped", `C:\app\docker.exe`, "ps")
	d.run(t, "", 0, "", "rm", "-f", "piped")
}

// ryuk has Testcontainers' resource reaper, in a Windows container, remove what a client has named to it once the
// client has gone. It is the program that upstream's repository makes (GOOS=windows go build): no module of it can be
// had.
func (d dockerUp) ryuk(t *testing.T) {
	program := os.Getenv("MULLION_RYUK")
	if program == "" {
		t.Skip("MULLION_RYUK=FILE names ryuk.exe: GOOS=windows go build, in a checkout of github.com/testcontainers/moby-ryuk")
	}
	d.run(t, "", 0, "", "create", "--name", "reaper", "-v", enginePipe, "-p", "38083:8080", "-e", "RYUK_RECONNECTION_TIMEOUT=2s",
		dockerImage, `C:\app\ryuk.exe`)
	defer d.run(t, "", 0, "", "rm", "-f", "reaper")
	d.run(t, "", 0, "", "cp", program, "reaper:/app/ryuk.exe")
	d.run(t, "", 0, "", "start", "reaper")

	d.run(t, "", 0, "", "run", "-d", "--name", "reaped", "--label", "of=test", dockerImage, "cmd", "/c", waits)
	d.run(t, "", 0, "", "volume", "create", "--label", "of=test", "reaped-volume")
	d.run(t, "", 0, "", "network", "create", "-d", "nat", "--label", "of=test", "reaped-network")
	until(t, time.Minute, func() error {
		conn, err := net.DialTimeout("tcp", "127.0.0.1:38083", 5*time.Second)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}

		fmt.Fprint(conn, "label=of=test\n")
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || line != "ACK\n" {
			return fmt.Errorf("the reaper says %q, %w", line, err)
		}
		return nil
	})

	until(t, time.Minute, func() error {
		for _, kind := range [][]string{{"ps", "-a"}, {"volume", "ls"}, {"network", "ls"}} {
			if out := d.run(t, "", 0, "", append(kind, "-q", "--filter", "label=of=test")...); strings.TrimSpace(out) != "" {
				return fmt.Errorf("docker %q: %s", kind, out)
			}
		}
		return nil
	})
}

// composeFile has a server and what asks it by its name.
const composeFile = `services:
  web:
    image: ` + dockerImage + `
    command: ['C:\app\agnhost.exe', netexec, --http-port, "80", --udp-port, "-1"]
    ports: ["38084:80"]
  client:
    image: ` + dockerImage + `
    depends_on: [web]
    command: [cmd, /c, 'C:\app\agnhost connect web:80 --timeout 30s && echo web answers& ping -n 900 127.0.0.1 >nul']
`

// compose brings up the two services of a file by upstream's plugin, and takes them down.
func (d dockerUp) compose(t *testing.T) {
	plugin := filepath.Join(filepath.Dir(d.docker), "cli-plugins", "docker-compose")
	if _, err := os.Stat(plugin); err != nil {
		t.Skipf("needs docker-compose: make docker-windows: %v", err)
	}
	home := t.TempDir()
	file := filepath.Join(home, "compose.yaml")
	err := errors.Join(os.Mkdir(filepath.Join(home, "cli-plugins"), 0o755), os.WriteFile(file, []byte(composeFile), 0o600),
		os.Symlink(plugin, filepath.Join(home, "cli-plugins", "docker-compose")))
	if err != nil {
		t.Fatal(err)
	}
	compose := func(want string, args ...string) string {
		t.Helper()
		return d.run(t, "", 0, want, append([]string{"--config", home, "compose", "-p", "of-test", "-f", file}, args...)...)
	}

	compose("", "up", "-d")
	poll(t, time.Minute, func(ctx context.Context) error { return says(ctx, "127.0.0.1:38084", "hello") })
	until(t, time.Minute, func() error {
		if out := compose("", "logs", "client"); !strings.Contains(out, "web answers") {
			return errors.New(out)
		}
		return nil
	})
	compose("Microsoft Windows", "exec", "-T", "web", "cmd", "/c", "ver")
	compose("", "down")
	if out := d.run(t, "", 0, "", "ps", "-a"); strings.Contains(out, "of-test") {
		t.Errorf("left of the services: %s", out)
	}
	if out := d.run(t, "", 0, "", "network", "ls"); strings.Contains(out, "of-test") {
		t.Errorf("left of their network: %s", out)
	}
}

// testcontainers runs the judge of test/testcontainers, which is testcontainers-go's own calls.
func (d dockerUp) testcontainers(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", ".")
	cmd.Dir = "../testcontainers"
	cmd.Env = append(os.Environ(), "DOCKER_HOST=unix://"+d.socket, "TESTCONTAINERS_RYUK_DISABLED=true",
		"TESTCONTAINERS_PROVIDER=windows", "TESTCONTAINERS_HOST_OVERRIDE=localhost", "TESTCONTAINERS_IMAGE="+dockerImage)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestHello") {
		t.Errorf("testcontainers-go: %v\n%s", err, out)
	}
}
