package orphans_test

import (
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/orphans"
)

func TestReap(t *testing.T) {
	want := map[int]string{}
	for _, script := range []string{"exit 0", "exit 3", "kill -9 $$"} {
		cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", script)
		if err := cmd.Start(); err != nil { // nobody else calls Wait
			t.Fatal(err)
		}
		want[cmd.Process.Pid] = script
	}

	alive := exec.CommandContext(t.Context(), "/bin/sleep", "60")
	if err := alive.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = alive.Wait() }()
	defer func() { _ = alive.Process.Kill() }()

	var killed []string
	for deadline := time.Now().Add(10 * time.Second); len(want) > 0; {
		orphans.Reap(func(pid int, name string, status syscall.WaitStatus) {
			script, ours := want[pid]
			delete(want, pid)
			if !ours || (name != "sh" && name != "dash" && name != "bash") {
				t.Errorf("it reaped %d, called %q", pid, name)
			}
			if orphans.Killed(status) {
				killed = append(killed, script)
			}
		})

		if time.Now().After(deadline) {
			t.Fatalf("not reaped: %v", want)
		}
		<-time.After(5 * time.Millisecond)
	}

	slices.Sort(killed)
	if !slices.Equal(killed, []string{"exit 3", "kill -9 $$"}) {
		t.Errorf("killed: %q", killed)
	}
}

func TestIsWineServer(t *testing.T) {
	for name, want := range map[string]bool{
		"wineserver": true, "wineserver64": true, "wine64-preloade": false,
		"kubelet.exe": false, "": false,
	} {
		if got := orphans.IsWineServer(name); got != want {
			t.Errorf("IsWineServer(%q) = %v", name, got)
		}
	}
}
