//go:build wine

package run

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// restarts returns how often a container has begun anew by itself, and its state.
func (r *room) restarts(t *testing.T, name string) string {
	t.Helper()
	return strings.TrimSpace(r.container(t, "inspect", "-f", "{{.RestartCount}} {{.State.Status}} {{.State.ExitCode}}", name).out)
}

// TestRestart has containers begin anew by themselves, as often as they may, until somebody stops them, and with the
// next engine after one that was killed.
func TestRestart(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	r := theRoom(t)
	began := func(args ...string) {
		t.Helper()
		if got := r.run(t, "", append([]string{"-d"}, args...)...); got.code != 0 {
			t.Fatalf("%v: %+v", args, got)
		}
	}

	until := func(name, want string) {
		t.Helper()
		if !within(time.Minute, func() bool { return r.restarts(t, name) == want }) {
			t.Errorf("%s: %s, want %s", name, r.restarts(t, name), want)
		}
	}

	began("--name", "fails", "--restart", "on-failure:2", r.program(), "exit", "3")
	until("fails", "2 exited 3")
	began("--name", "succeeds", "--restart", "on-failure", r.program(), "exit", "0")
	until("succeeds", "0 exited 0")

	began("--name", "lives", "--restart", "unless-stopped", r.program(), "wait")
	began("--name", "stopped", "--restart", "unless-stopped", r.program(), "wait")
	r.container(t, "stop", "stopped").is(t, "stop", 0, "stopped\n", "")
	if top := r.container(t, "top", "lives"); top.code != 0 || !strings.Contains(top.out, "prog.exe") {
		t.Errorf("top: %+v", top)
	}
	attached := make(chan result, 1)
	go func() { attached <- r.container(t, "attach", "--sig-proxy=false", "lives") }()

	pid := r.process(isKeeper)
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}

	until("lives", "1 running 0")
	until("stopped", "0 exited 3")
	select {
	case got := <-attached:
		if got.code == 0 {
			t.Errorf("attached to what was killed: %+v", got)
		}
	case <-time.After(time.Minute):
		t.Error("attach outlives its container")
	}

	r.container(t, "kill", "lives").is(t, "kill", 0, "lives\n", "")
	until("lives", "1 exited 137")
	r.container(t, "rm", "fails", "succeeds", "lives", "stopped").is(t, "rm", 0, "fails\nsucceeds\nlives\nstopped\n", "")
}
