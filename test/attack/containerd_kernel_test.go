//go:build kernel

package attack

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
)

const containerdNamespace = "k8s.io"

// startContainerd runs bin/containerd with its state in root and stops it when the test ends.
func startContainerd(t *testing.T, root string) *client.Client {
	t.Helper()
	bin, err := filepath.Abs("../../bin/containerd")
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.MkdirTemp("/tmp", "mt-attack-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.RemoveAll(run) })
	socket, config := filepath.Join(run, "c.sock"), filepath.Join(run, "config.toml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.nri.v1.nri"]
[grpc]
address = %q
[ttrpc]
address = %q
`, filepath.Join(root, "root"), filepath.Join(run, "state"), socket, socket+".ttrpc"), 0o600); err != nil {
		t.Fatal(err)
	}

	var log bytes.Buffer
	cmd := exec.Command(bin, "-c", config)
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}
	})

	c, err := client.New(socket, client.WithDefaultNamespace(containerdNamespace), client.WithTimeout(time.Minute))
	if err != nil {
		t.Fatalf("connect to containerd: %v\n%s", err, log.Bytes())
	}
	t.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	if ok, err := c.IsServing(ctx); err != nil || !ok {
		t.Fatalf("containerd does not serve: %v\n%s", err, log.Bytes())
	}
	return c
}

// peak returns the most memory that this process has had since the last call.
func peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}

	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kb int64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		t.Fatal(err)
	}

	return kb << 10
}
