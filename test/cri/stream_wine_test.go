//go:build wine

package cri

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
)

// syncBuffer is a buffer that can be read while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// remote connects to a streaming address as kubectl does.
func remote(t *testing.T, address string, opts remotecommand.StreamOptions) error {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	e, err := remotecommand.NewSPDYExecutor(&rest.Config{Host: u.Host}, "POST", u)
	if err != nil {
		t.Fatal(err)
	}
	return e.StreamWithContext(t.Context(), opts)
}

func TestExecStreams(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "exec")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	resp, err := n.Exec(t.Context(), &runtimeapi.ExecRequest{
		ContainerId: id,
		Cmd:         []string{"/app/winprog", "cat"},
		Stdin:       true,
		Stdout:      true,
		Stderr:      true,
	})
	if err != nil {
		t.Fatal(err)
	}

	var out syncBuffer
	if err := remote(t, resp.Url, remotecommand.StreamOptions{
		Stdin:  strings.NewReader("one\ntwo\n"),
		Stdout: &out,
		Stderr: io.Discard,
	}); err != nil {
		t.Errorf("exec: %v", err)
	}

	if got, want := out.String(), "got one\ngot two\nend of input\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}

	resp, err = n.Exec(t.Context(), &runtimeapi.ExecRequest{
		ContainerId: id,
		Cmd:         []string{"/app/winprog", "exit", "9"},
		Stdout:      true,
	})
	if err != nil {
		t.Fatal(err)
	}

	err = remote(t, resp.Url, remotecommand.StreamOptions{Stdout: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "exit code 9") {
		t.Errorf("exec exit 9: %v", err)
	}
	if err := remote(t, resp.Url, remotecommand.StreamOptions{Stdout: io.Discard}); err == nil {
		t.Error("a token was good twice")
	}
}

func TestExecTerminal(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "tty")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	resp, err := n.Exec(t.Context(), &runtimeapi.ExecRequest{
		ContainerId: id,
		Cmd:         []string{"cmd"},
		Stdin:       true,
		Stdout:      true,
		Tty:         true,
	})
	if err != nil {
		t.Fatal(err)
	}

	in, typed := io.Pipe()
	var out syncBuffer
	sizes := make(sizeQueue, 1)
	sizes <- remotecommand.TerminalSize{Width: 100, Height: 30}
	done := make(chan error, 1)
	go func() {
		done <- remote(t, resp.Url, remotecommand.StreamOptions{
			Stdin:             in,
			Stdout:            &out,
			Tty:               true,
			TerminalSizeQueue: sizes,
		})
	}()
	eventually(t, "prompt", func() bool { return strings.Contains(out.String(), ">") })
	fmt.Fprint(typed, "ver\r")
	eventually(t, "version", func() bool { return strings.Contains(out.String(), n.ver()) })
	fmt.Fprint(typed, "exit\r")
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("exec: %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Errorf("cmd did not exit; output %q", out.String())
	}

	_ = typed.Close()
}

type sizeQueue chan remotecommand.TerminalSize

func (q sizeQueue) Next() *remotecommand.TerminalSize {
	size, ok := <-q
	if !ok {
		return nil
	}
	return &size
}

func TestAttachWithStdinOnce(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "attach")
	id := n.run1(t, pod, config, []string{"cat"},
		func(c *runtimeapi.ContainerConfig) { c.Stdin, c.StdinOnce = true, true })
	resp, err := n.Attach(t.Context(), &runtimeapi.AttachRequest{
		ContainerId: id,
		Stdin:       true,
		Stdout:      true,
		Stderr:      true,
	})
	if err != nil {
		t.Fatal(err)
	}

	var out syncBuffer
	if err := remote(t, resp.Url, remotecommand.StreamOptions{
		Stdin:  strings.NewReader("one\ntwo\n"),
		Stdout: &out,
		Stderr: io.Discard,
	}); err != nil {
		t.Errorf("attach: %v", err)
	}

	if got, want := out.String(), "got one\ngot two\nend of input\n"; got != want {
		t.Errorf("output %q, want %q", got, want)
	}
	if st := n.waitExit(t, id); st.ExitCode != 0 {
		t.Errorf("exit code %d", st.ExitCode)
	}
	if got, want := n.log(t, id), "stdout F got one\nstdout F got two\nstdout F end of input\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

// TestNothingIsLostOverARestart has a container begin a line before the server ends, and write the rest and end itself
// while there is no server.
func TestNothingIsLostOverARestart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	n := newNode(t)
	pod, config := n.pod(t, "restart")
	volume := filepath.Join(n.hostDrive(), "v")
	if err := os.MkdirAll(volume, 0o777); err != nil {
		t.Fatal(err)
	}

	const lines = 20000 // more than a FIFO holds
	burst := n.run1(t, pod, config, []string{"burst", strconv.Itoa(lines), `C:\v\go`},
		func(c *runtimeapi.ContainerConfig) {
			c.Mounts = []*runtimeapi.Mount{{HostPath: `C:\v`, ContainerPath: `C:\v`}}
		})

	tick := n.run1(t, pod, config, []string{"tick"}, func(c *runtimeapi.ContainerConfig) { c.LogPath = `tick\0.log` })
	n.waitLog(t, tick, "tick 3")
	logPath := n.logFile(t, burst)
	n.stop()
	if err := os.WriteFile(filepath.Join(volume, "go"), nil, 0o666); err != nil {
		t.Fatal(err)
	}

	last := fmt.Sprintf(" stdout F line %d\n", lines-1)
	eventually(t, "everything is in the log without a server", func() bool {
		data, _ := os.ReadFile(logPath)
		return strings.HasSuffix(string(data), last)
	})
	n.start(t)
	if st := n.waitExit(t, burst); st.ExitCode != 0 || st.Reason != "Completed" {
		t.Errorf("exit code %d, reason %q, message %q", st.ExitCode, st.Reason, st.Message)
	}

	data, err := os.ReadFile(logPath)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(got) != lines+1 || !strings.HasSuffix(got[0], " stdout F begin") {
		t.Fatalf("%d lines, the first %q", len(got), got[0])
	}

	for i, line := range got[1:] {
		if !strings.HasSuffix(line, fmt.Sprintf(" stdout F line %d", i)) {
			t.Fatalf("line %d is %q", i, line)
		}
	}

	if st := n.status(t, tick); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the other container is %v", st.State)
	}
	before := n.log(t, tick)
	eventually(t, "the log goes on", func() bool { return len(n.log(t, tick)) > len(before) })
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: tick}); err != nil {
		t.Errorf("StopContainer after a restart: %v", err)
	}
}

func TestLogRotationAndDeathOfKeeper(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "rotate")
	id := n.run1(t, pod, config, []string{"tick"}, nil)
	n.waitLog(t, id, "tick 2")
	path := n.logFile(t, id)
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}

	if _, err := n.ReopenContainerLog(t.Context(), &runtimeapi.ReopenContainerLogRequest{ContainerId: id}); err != nil {
		t.Fatalf("ReopenContainerLog: %v", err)
	}
	n.waitLog(t, id, "tick")
	old, _ := os.ReadFile(path + ".1")
	if strings.Contains(string(old), "\n\n") || !strings.HasSuffix(string(old), "\n") {
		t.Error("the rotated log ends in the middle of a line")
	}

	socket := filepath.Join(n.dir, "run", "keeper.sock")
	killKeeper(t, socket)
	before := n.log(t, id)
	eventually(t, "the log goes on with another keeper", func() bool { return len(n.log(t, id)) > len(before)+20 })
	killKeeper(t, socket)
	n.stop()
	n.start(t)
	before = n.log(t, id)
	eventually(t, "the log goes on after a restart", func() bool { return len(n.log(t, id)) > len(before)+20 })
	if n := strings.Count(before, "tick 1\n"); n > 1 {
		t.Errorf("the program started %d times", n)
	}
}

// killKeeper kills the process whose last argument is socket.
func killKeeper(t *testing.T, socket string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}

	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil || !strings.HasSuffix(string(data), "keeper\x00"+socket+"\x00") {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}

		return
	}

	t.Fatal("no keeper runs")
}

func TestStats(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "stats")
	id := n.run1(t, pod, config, []string{"spin"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{CpuMaximum: 1000, MemoryLimitInBytes: 512 << 20}
	})

	var stats *runtimeapi.WindowsContainerStats
	eventually(t, "processor use is told", func() bool {
		resp, err := n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod})
		if err != nil {
			t.Fatalf("PodSandboxStats: %v", err)
		}
		if len(resp.Stats.Windows.Containers) == 1 {
			stats = resp.Stats.Windows.Containers[0]
		}

		if n := resp.Stats.Windows.Network; n == nil || n.DefaultInterface.RxBytes.Value != 11 {
			t.Fatalf("network: %v", n)
		}
		return stats != nil && stats.Cpu.UsageNanoCores.Value > 0
	})

	if stats.Attributes.Id != id || stats.Memory.WorkingSetBytes.Value < 1<<20 ||
		stats.Memory.CommitMemoryBytes.Value < 1<<20 ||
		stats.WritableLayer.UsedBytes == nil || stats.Memory.AvailableBytes != nil {
		t.Errorf("stats: %v", stats)
	}
	t.Logf("idle pod: working set %.1f MB, commit %.1f MB", float64(stats.Memory.WorkingSetBytes.Value)/1e6,
		float64(stats.Memory.CommitMemoryBytes.Value)/1e6)
}

func TestMemoryLimitFailsAllocation(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "memory")
	id := n.run1(t, pod, config, []string{"alloc", "600"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 300 << 20}
	})
	st := n.waitExit(t, id)
	if strings.Contains(n.log(t, id), "allocated 600") || st.ExitCode == 0 || st.ExitCode == 137 {
		t.Errorf("exit code %d, reason %q, log %q", st.ExitCode, st.Reason, n.log(t, id))
	}
	if log := n.log(t, id); !strings.Contains(log, "failed to commit pages") &&
		!strings.Contains(log, "out of memory") {
		t.Errorf("the program was not told that there is no memory: %.300q", log)
	}
}
