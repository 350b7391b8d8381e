//go:build cluster

package e2e

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// containerdConfig is containerd's configuration on a Windows host that has a container runtime already: without its
// CRI plugins, and at a pipe of its own.
const containerdConfig = `version = 3
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime"]
[grpc]
  address = '\\.\pipe\containerd-of-test'
`

// TestFieldContainerd runs upstream's containerd.exe with its shim, unmodified, as a service of a Windows host: an
// image of two layers is imported, containers of it run, programs are run in them, they are stopped, killed and
// removed, and what one has changed is committed. What is left of them is nothing, also when the shim is killed.
func TestFieldContainerd(t *testing.T) {
	needs(t, ownCluster("the test has subnets of its own"),
		program("containerd-windows/containerd-shim-runhcs-v1.exe", "containerd.exe", "containerd-windows"))

	c := newCluster(t)
	programs := filepath.Join(c.bin, "containerd-windows")
	text := "apiVersion: mullion.dev/v1alpha1\nkind: Cluster\nname: mullion-containerd\nnetworking:\n" +
		"  underlaySubnet: 10.218.0.0/24\n  podSubnet: 10.68.0.0/16\n  serviceSubnet: 10.168.0.0/16\n" +
		"nodes:\n- {os: windows}\n"

	c.bringUp(t, text, "--wait", "15m") // on a busy machine
	c.containerdService(t, programs)
	c.ctr(t, 0, "", "images", "import", `C:\webserver.tar`)

	c.ctr(t, 7, "hello from C1", "run", "--rm", webserverImage, "c1", "cmd", "/c", "echo hello from %COMPUTERNAME%& exit 7")
	c.ctr(t, 1, "cannot find the file", "run", "--rm", webserverImage, "c2", "absent.exe")

	c.ctr(t, 0, "", "run", "-d", "--null-io", webserverImage, "d1")
	c.ctr(t, 5, "containeruser", "tasks", "exec", "--exec-id", "e1", "d1", "cmd", "/c", "whoami& exit 5")
	c.ctr(t, 0, "memory.commit_bytes", "tasks", "metrics", "d1")
	c.ctr(t, 0, "", "tasks", "kill", "-s", "SIGTERM", "d1")
	c.stopped(t, "d1")
	c.ctr(t, 0, "", "tasks", "rm", "d1")
	c.ctr(t, 0, "", "containers", "rm", "d1")

	c.ctr(t, 0, "", "run", "-d", "--null-io", webserverImage, "d2")
	c.ctr(t, 0, "", "tasks", "kill", "-s", "SIGKILL", "d2")
	c.stopped(t, "d2")
	c.ctr(t, 0, "non-zero exit code 1067", "tasks", "rm", "d2")
	c.ctr(t, 0, "", "containers", "rm", "d2")

	c.agentKilled(t)
	c.committed(t)

	// The compute system ends with its shim.
	c.ctr(t, 0, "", "run", "-d", "--null-io", webserverImage, "d3")
	c.must(t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "containerd-shim-runhcs-v1.exe")
	until(t, time.Minute, func() error {
		for pid, line := range c.processes(t) {
			if strings.Contains(line, "webserver.exe") {
				return fmt.Errorf("process %d of a container without a shim runs: %s", pid, line)
			}
		}
		return nil
	})

	_, _ = c.mullion(t.Context(), t, ctrArgs("tasks", "rm", "-f", "d3")...) // it may have gone with its shim
	c.ctr(t, 0, "", "containers", "rm", "d3")
	until(t, time.Minute, func() error { // containerd collects snapshots in its own time
		left, err := os.ReadDir(filepath.Join(c.data, "nodes", "win-1", "hcs", "scratch"))
		if len(left) > 0 || err != nil {
			return fmt.Errorf("left of the containers: %v, %w", left, err)
		}
		return nil
	})
}

// agentKilled kills the host's agent in the middle of a container's output, which comes whole, with the exit code; and
// so does that of a program in a container that the former agent has made.
func (c cluster) agentKilled(t *testing.T) {
	t.Helper()
	c.ctr(t, 0, "", "run", "-d", "--null-io", webserverImage, "d4")
	const lines = 10
	print := fmt.Sprintf("(for /l %%i in (1,1,%d) do @(echo line %%i& ping -n 2 127.0.0.1 >nul))& exit 9", lines)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		select {
		case <-t.Context().Done():
		case <-time.After(4 * time.Second):
		}
	}()

	whole := make(chan string, 1)
	go func() {
		out, err := c.mullion(t.Context(), t, ctrArgs("run", "--rm", webserverImage, "c3", "cmd", "/c", print)...)
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 9 {
			out += fmt.Sprintf("\nended with %v", err)
		}
		whole <- out
	}()
	<-killed
	c.kill(t, `mullion-node serve\b`)
	out := <-whole
	for i := range lines {
		if line := fmt.Sprintf("line %d", i+1); !strings.Contains(out, line) {
			t.Errorf("%q is not in the output:\n%s", line, out)
		}
	}

	if strings.Contains(out, "ended with") {
		t.Errorf("the container:\n%s", out)
	}
	c.ctr(t, 6, "through", "tasks", "exec", "--exec-id", "e2", "d4", "cmd", "/c", "echo through& exit 6")
	c.ctr(t, 0, "", "tasks", "rm", "-f", "d4")
	c.ctr(t, 0, "", "containers", "rm", "d4")
}

// committed commits what a container has changed as a snapshot, on which another one runs, and which containerd writes
// as a layer of an image: files, deletions, and the registry of the machine and of the user.
func (c cluster) committed(t *testing.T) {
	t.Helper()
	const (
		change = `echo made in a container> C:\app\made.txt& del C:\app\webserver.exe& ` +
			`reg add HKLM\Software\Committed /v x /d of-the-machine /f& reg add HKCU\Software\Committed /v x /d of-the-user /f`
		look = `type C:\app\made.txt& reg query HKLM\Software\Committed& reg query HKCU\Software\Committed& ` +
			`if exist C:\app\webserver.exe (exit 3) else exit 4`
		administrator = "ContainerAdministrator"
	)
	c.ctr(t, 0, "", "run", "--user", administrator, webserverImage, "d5", "cmd", "/c", change)
	c.ctr(t, 0, "", "snapshots", "commit", "committed", "d5")
	c.ctr(t, 0, "", "containers", "rm", "d5")

	// ctr makes containers of images alone: this one gets another snapshot before it begins.
	c.ctr(t, 0, "", "containers", "create", "--user", administrator, webserverImage, "d6", "cmd", "/c", look)
	c.ctr(t, 0, "", "snapshots", "rm", "d6")
	c.ctr(t, 0, "", "snapshots", "prepare", "d6", "committed")
	out := c.ctr(t, 4, "made in a container", "tasks", "start", "d6")
	for _, want := range []string{"of-the-machine", "of-the-user"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in what a container of the snapshot sees:\n%s", want, out)
		}
	}

	c.ctr(t, 0, "", "containers", "rm", "d6")

	got := c.layer(t, "committed")
	for _, want := range []string{
		"files/app/made.txt", "files/app/.wh.webserver.exe", "hives/software_delta",
		"files/users/containeradministrator/ntuser.dat",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is not in the layer: %q", want, got)
		}
	}

	c.ctr(t, 0, "", "snapshots", "rm", "committed")
}

// layer returns the names in the layer that containerd writes of a snapshot, in lower case.
func (c cluster) layer(t *testing.T, snapshot string) (names []string) {
	t.Helper()
	line := c.on(append([]string{filepath.Join(c.bin, "mullion")}, ctrArgs("snapshots", "diff", snapshot)...)...)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = c.env()
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("write layer of snapshot %q: %v\n%s", snapshot, err, &said)
	}

	text, err := gzip.NewReader(bytes.NewReader(out))
	if err != nil {
		t.Fatalf("read layer of snapshot %q: %v", snapshot, err)
	}

	for r := tar.NewReader(text); ; {
		switch h, err := r.Next(); {
		case errors.Is(err, io.EOF):
			return names
		case err != nil:
			t.Fatalf("read layer of snapshot %q: %v", snapshot, err)
		default:
			names = append(names, strings.ToLower(strings.TrimSuffix(h.Name, "/")))
		}
	}
}

// webserverImage is the sample's image, of a stand-in for the Windows base layer and a layer with its program.
const webserverImage = "mullion.local/webserver:v1"

// containerdService puts upstream's programs on the host and has containerd run as a service.
func (c cluster) containerdService(t *testing.T, programs string) {
	t.Helper()
	const folder = `C:\containerd`
	config := filepath.Join(c.home, "config.toml")
	if err := os.WriteFile(config, []byte(containerdConfig), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "node", "exec", "win-1", "--", "cmd", "/c", "mkdir", folder)
	for to, from := range map[string]string{
		folder + `\containerd.exe`:                filepath.Join(programs, "containerd.exe"),
		folder + `\ctr.exe`:                       filepath.Join(programs, "ctr.exe"),
		folder + `\containerd-shim-runhcs-v1.exe`: filepath.Join(programs, "containerd-shim-runhcs-v1.exe"),
		folder + `\config.toml`:                   config,
		`C:\webserver.tar`:                        filepath.Join(c.bin, "webserver.tar"),
	} {
		c.must(t, "node", "cp", from, "win-1:"+to)
	}

	c.must(t, "node", "exec", "win-1", "--", folder+`\containerd.exe`, "--config", folder+`\config.toml`, "--register-service")
	c.must(t, "node", "exec", "win-1", "--", "sc", "start", "containerd")
	poll(t, time.Minute, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, ctrArgs("version")...)
		if err != nil {
			return fmt.Errorf("containerd does not answer: %w: %s", err, out)
		}
		return nil
	})
}

// ctrArgs returns the command line of ctr.exe on the host.
func ctrArgs(args ...string) []string {
	line := []string{
		"node", "exec", "win-1", "--", `C:\containerd\ctr.exe`, "-a", `\\.\pipe\containerd-of-test`,
	}
	return append(line, args...)
}

// ctr runs ctr.exe, which has to end with a code and to print a text, and returns what it printed.
func (c cluster) ctr(t *testing.T, code int, want string, args ...string) string {
	t.Helper()
	out, err := c.mullion(t.Context(), t, ctrArgs(args...)...)
	got := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		got = exit.ExitCode()
	} else if err != nil {
		got = -1
	}
	if got != code || !strings.Contains(out, want) {
		t.Fatalf("ctr %q: exit code %d, want %d and %q: %v\n%s", args, got, code, want, err, out)
	}
	return out
}

// stopped waits until a task has ended.
func (c cluster) stopped(t *testing.T, name string) {
	t.Helper()
	until(t, 30*time.Second, func() error {
		for line := range strings.Lines(c.ctr(t, 0, "", "tasks", "ls")) {
			if strings.HasPrefix(line, name+" ") && strings.Contains(line, "STOPPED") {
				return nil
			}
		}
		return fmt.Errorf("task %s runs", name)
	})
}
