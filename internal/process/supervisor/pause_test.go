//go:build linux

package supervisor_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/process/supervisor"
)

// state returns the kernel's letter for a process: T stands still, S sleeps.
func state(t *testing.T, pid int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "gone"
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// becomes waits until a process is in a state.
func becomes(t *testing.T, pid int, want string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for state(t, pid) != want {
		select {
		case <-deadline:
			t.Fatalf("process %d is in state %s, want %s", pid, state(t, pid), want)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func TestPause(t *testing.T) {
	sleeper := proc.New(proc.Spec{
		ID:      component.OfNode("kubelet", "win-1"),
		Path:    "/bin/sleep",
		Args:    []string{"1000"},
		LogPath: filepath.Join(t.TempDir(), "log"),
	})

	socket := filepath.Join(t.TempDir(), "s.sock")
	client, ended := runAt(t, socket, []component.Unit{{Component: sleeper}, {Component: &part{
		name:    "files",
		stopped: make(chan struct{}),
	}}})
	await(t, client, supervisor.PhaseReady)
	pid := sleeper.State().PID

	resume, err := client.Pause(t.Context(), component.OfNode("kubelet", "win-1"))
	if err != nil {
		t.Fatal(err)
	}
	becomes(t, pid, "T")
	resume()
	becomes(t, pid, "S")

	// a client that is killed
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}

	fmt.Fprint(conn, "POST /v1/pause/kubelet%2Fwin-1 HTTP/1.1\r\nHost: supervisor\r\nContent-Length: 0\r\n\r\n")
	becomes(t, pid, "T")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(t, pid, "S")

	for name, want := range map[string]string{"none": "there is no unit", "files": "is no process"} {
		_, err := client.Pause(t.Context(), component.Sole(name))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("pause %q: %v, want %q", name, err, want)
		}
	}

	// a stop does not wait for the client that paused
	if _, err := client.Pause(t.Context(), component.OfNode("kubelet", "win-1")); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if err := client.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}

	if err := <-ended; err != nil || time.Since(start) > 5*time.Second {
		t.Errorf("stopped after %s: %v", time.Since(start), err)
	}
	becomes(t, pid, "gone")
}

func TestPauseOfNone(t *testing.T) {
	p := proc.New(proc.Spec{ID: component.Sole("sleeper"), Path: "/bin/sleep"})
	if _, err := p.Pause(); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("%v", err)
	}
}
