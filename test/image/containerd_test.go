//go:build kernel

package image

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
	"google.golang.org/grpc"
)

const namespace = "k8s.io"

// startContainerd runs bin/containerd with its state in root and stops it when the test ends.
func startContainerd(tb testing.TB, root string) *client.Client {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Fatal("the kernel rung needs root")
	}
	bin, err := filepath.Abs("../../bin/containerd")
	if err != nil {
		tb.Fatal(err)
	}

	if _, err := os.Stat(bin); err != nil {
		tb.Fatalf("containerd is not built: %v", err)
	}
	run, err := os.MkdirTemp("/tmp", "mt-image-") //nolint:usetesting // a socket's path must be short
	if err != nil {
		tb.Fatal(err)
	}

	tb.Cleanup(func() { _ = os.RemoveAll(run) })
	socket := filepath.Join(run, "c.sock")
	config := fmt.Sprintf(`version = 3
root = %q
state = %q
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime", "io.containerd.nri.v1.nri"]
[debug]
level = "warn"
[grpc]
address = %q
[ttrpc]
address = %q
`, filepath.Join(root, "root"), filepath.Join(run, "state"), socket, socket+".ttrpc")

	if err := os.WriteFile(filepath.Join(run, "config.toml"), []byte(config), 0o600); err != nil {
		tb.Fatal(err)
	}

	var log bytes.Buffer
	cmd := exec.Command(bin, "-c", filepath.Join(run, "config.toml"))
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}

	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tb.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-done
		}

		if tb.Failed() {
			tb.Logf("containerd:\n%s", log.Bytes())
		}
	})

	c, err := client.New(socket, client.WithDefaultNamespace(namespace), client.WithTimeout(30*time.Second))
	if err != nil {
		tb.Fatalf("connect to containerd: %v\n%s", err, log.Bytes())
	}
	tb.Cleanup(func() { _ = c.Close() })
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()

	if ok, err := c.IsServing(ctx); err != nil || !ok {
		tb.Fatalf("containerd does not serve: %v\n%s", err, log.Bytes())
	}
	return c
}

// socketOf returns the path of the socket that c talks through.
func socketOf(tb testing.TB, c *client.Client) string {
	tb.Helper()
	conn, ok := c.Conn().(*grpc.ClientConn)
	if !ok {
		tb.Fatalf("connection is a %T", c.Conn())
	}
	return strings.TrimPrefix(conn.Target(), "unix://")
}
