//go:build kernel

package proc_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/process/proc"
)

// sleeper starts a shell command with a variable in its environment, and returns its process, which may end at any
// time.
func sleeper(t *testing.T, variable, script string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = append(os.Environ(), variable)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it is killed, by this test or by what it tests
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})

	return cmd
}

// placed makes the cluster's cgroup, and returns the beginning of a script that enters the one below it.
func placed(t *testing.T, name string) (mark, enter string) {
	t.Helper()
	mark = fmt.Sprintf("/mullion-test-mark-%s-%d", name, os.Getpid())
	if err := cgroup.MakeOwn(mark); err != nil {
		t.Fatal(err)
	}
	all, err := cgroup.Hierarchies()
	if err != nil {
		t.Fatal(err)
	}

	for _, h := range all {
		enter += fmt.Sprintf("echo $$ >%s && ", filepath.Join(h.Dir, mark, cgroup.Own, "cgroup.procs"))
	}

	t.Cleanup(func() {
		for _, path := range []string{mark + "/" + cgroup.Own, mark} {
			if err := cgroup.Remove(path); err != nil {
				t.Error(err)
			}
		}
	})

	return mark, enter
}

// What is in the cluster's cgroup ends, but for what is to be kept. A stranger who says in its environment that it is
// the cluster's, and does not stop making others who do, changes nothing.
func TestKillLeftovers(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	mark, enter := placed(t, "kill")
	other, enterOther := placed(t, "killer") // a name that begins with the first
	variable := proc.MarkerVariable + "=/data"
	stranger := sleeper(t, variable, "while :; do sleep 0.1 & wait; done")
	neighbour := sleeper(t, variable, enterOther+"exec sleep 3000")
	sleeper(t, "A=b", enter+":; sleep 1000 & exec sleep 2000")

	m := proc.Mark{Cgroups: []string{mark}}
	both := func(ls []proc.Leftover) bool {
		return len(ls) == 2 && ls[0].Args[0] == "sleep" && ls[1].Args[0] == "sleep"
	}
	eventually(t, "both sleep", func() bool {
		found, err := proc.Leftovers(m)
		return err == nil && both(found)
	})

	eventually(t, "the neighbour is in its cgroup", func() bool {
		found, err := proc.Leftovers(proc.Mark{Cgroups: []string{other}})
		return err == nil && len(found) == 1
	})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()

	kept := func(l proc.Leftover) bool { return l.Args[len(l.Args)-1] == "2000" }
	killed, err := proc.KillLeftovers(ctx, m, kept)
	if err != nil || len(killed) != 1 || killed[0].Args[1] != "1000" {
		t.Fatalf("killed %v, %v", killed, err)
	}
	if killed, err := proc.KillLeftovers(ctx, m, nil); err != nil || len(killed) != 1 || killed[0].Args[1] != "2000" {
		t.Fatalf("killed %v, %v", killed, err)
	}

	if found, err := proc.Leftovers(m); err != nil || len(found) != 0 {
		t.Fatalf("left: %v, %v", found, err)
	}
	for what, cmd := range map[string]*exec.Cmd{"a stranger": stranger, "a neighbour": neighbour} {
		if !alive(cmd.Process.Pid) {
			t.Errorf("%s was killed", what)
		}
	}

	if found, err := proc.Labelled("/data"); err != nil || len(found) < 2 {
		t.Errorf("the control: of those that carry the variable there are %v, %v", found, err)
	}
}

// What is in one of the cluster's network namespaces ends, wherever its cgroup is; what is in the machine's stays, also
// where a crash has left a pin without its namespace.
func TestKillLeftoversInNamespaces(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	pins := t.TempDir()
	pin := filepath.Join(pins, "win-1")
	if _, err := netns.Ensure(pin); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := netns.Remove(pin); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(pins, "gone"), nil, 0o600); err != nil {
		t.Fatal(err)
	}

	outside := sleeper(t, "A=b", "exec sleep 1000")
	inside := exec.CommandContext(t.Context(), "sleep", "2000")
	if err := netns.Do(pin, inside.Start); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- inside.Wait() }()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	killed, err := proc.KillLeftovers(ctx, proc.Mark{Pins: pins}, nil)
	if err != nil || len(killed) != 1 || killed[0].PID != inside.Process.Pid {
		t.Errorf("killed %v, %v", killed, err)
		_ = inside.Process.Kill()
	}

	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("it ended with %v", err)
	}
	if !alive(outside.Process.Pid) {
		t.Error("one in the machine's namespace was killed")
	}

	none := proc.Mark{Pins: filepath.Join(pins, "none")}
	if killed, err := proc.KillLeftovers(ctx, none, nil); err != nil || killed != nil {
		t.Errorf("without pins: killed %v, %v", killed, err)
	}
}

// TestKillLeftoversInFolder: what an earlier version's supervisor has left is in none of the cluster's places, but
// works in its folder, or is told of one there. Other programs, and those of other users, stay.
func TestKillLeftoversInFolder(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	programs, err := os.MkdirTemp("", "") //nolint:usetesting // another user's program is there
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(programs)
	run := filepath.Join(t.TempDir(), "run")
	bundle := filepath.Join(run, "containerd", "task", "c1")
	if err := errors.Join(os.MkdirAll(bundle, 0o755), os.Chmod(programs, 0o755)); err != nil {
		t.Fatal(err)
	}

	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}

	var ended []func()
	begin := func(name, dir string, user uint32, arg string) *exec.Cmd {
		t.Helper()
		program := filepath.Join(programs, name)
		if err := os.WriteFile(program, text, 0o755); err != nil && !errors.Is(err, unix.ETXTBSY) {
			t.Fatal(err)
		}

		cmd := exec.CommandContext(t.Context(), program, "1000")
		cmd.Dir = dir
		if arg != "" { // sleep refuses what is no number, but its name may be anything
			cmd.Args[0] = arg
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: user, Gid: user}}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		over := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it is killed
			close(over)
		}()
		ended = append(ended, func() {
			_ = cmd.Process.Kill()
			<-over
		})

		return cmd
	}

	defer func() {
		for _, end := range ended {
			end()
		}
	}()

	const nobody = 65534
	shim, told := begin("shim", bundle, 0, ""), begin("keeper", "/", 0, run+"/keeper.sock")
	others := map[string]*exec.Cmd{
		"another program":      begin("other", bundle, 0, run+"/keeper.sock"),
		"another user's":       begin("shim", "/", nobody, run+"/keeper.sock"),
		"another cluster's":    begin("shim", filepath.Dir(run), 0, run+"2/keeper.sock"),
		"one that is anywhere": begin("keeper", "/", 0, ""),
	}

	if err := os.RemoveAll(bundle); err != nil { // as containerd does with that of a container that goes
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	killed, err := proc.KillLeftovers(ctx, proc.Mark{Folder: run, Programs: []string{"shim", "keeper"}}, nil)
	if err != nil || len(killed) != 2 || killed[0].PID != shim.Process.Pid || killed[1].PID != told.Process.Pid {
		t.Errorf("killed %v, %v; want %d and %d", killed, err, shim.Process.Pid, told.Process.Pid)
	}

	for what, cmd := range others {
		if !alive(cmd.Process.Pid) {
			t.Errorf("%s was killed", what)
		}
	}
}
