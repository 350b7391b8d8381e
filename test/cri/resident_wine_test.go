//go:build wine

package cri

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// residents returns the launchers that stay in a container, by their process ids.
func residents(t *testing.T, id string) (found []int) {
	t.Helper()
	for _, dir := range processes(t, id) {
		args, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !strings.Contains(string(args), "mullion-run.exe\x00--serve\x00") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, pid)
	}
	return found
}

// theResident returns the only launcher that stays in a container.
func theResident(t *testing.T, id string) int {
	t.Helper()
	found := residents(t, id)
	if len(found) != 1 {
		t.Fatalf("launchers that stay: %v, want one", found)
	}
	return found[0]
}

// says runs cmd.exe in a container, and returns what it says.
func (n *node) says(t *testing.T, id, command string) string {
	t.Helper()
	out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id, Cmd: []string{"cmd", "/c", command}, Timeout: 60,
	})
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%s: %v, %v", command, out, err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// TestResidentLauncher: programs are started by one process, one after the other, and nothing of one is seen in the
// next.
func TestResidentLauncher(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "resident")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.socketOf(t, id)

	began := n.says(t, id, "set")
	first := theResident(t, id)
	for _, change := range []string{"set OWN=1", `cd c:\windows`, "exit 0"} {
		n.says(t, id, change)
	}
	if later := n.says(t, id, "set"); later != began {
		t.Errorf("a later program has other variables:\n%s\nthe first one had\n%s", later, began)
	}
	if at := n.says(t, id, "cd"); !strings.EqualFold(at, `C:\app`) {
		t.Errorf("a later program is in %q", at)
	}

	for _, code := range []int32{0, 3, 300, -1} {
		out, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id, Cmd: []string{"cmd", "/c", "exit " + strconv.Itoa(int(code))}, Timeout: 60,
		})
		if err != nil || out.ExitCode != code {
			t.Errorf("exit %d: %v, %v", code, out, err)
		}
	}
	if _, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id, Cmd: []string{"nonesuch"}, Timeout: 60,
	}); err == nil || !strings.Contains(err.Error(), "The system cannot find the file specified.") {
		t.Errorf("a program that is not there: %v", err)
	}

	if again := theResident(t, id); again != first {
		t.Errorf("launcher %d has started the last program, and %d the first", again, first)
	}
}

// TestResidentLauncherOfNewVariables: a program has the variables that the registry has when it is started.
func TestResidentLauncherOfNewVariables(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "variables")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.socketOf(t, id)

	for _, value := range []string{"first", "second"} {
		n.says(t, id, `reg add HKCU\Environment /f /v PUT /d `+value)
		if got := n.says(t, id, "echo %PUT%"); got != value {
			t.Errorf("PUT is %q, want %q", got, value)
		}
	}
}

// TestResidentLauncherThatFails: when the launcher has been killed, or stands still, programs are started all the same;
// and it does not outlive an exec that is given up.
func TestResidentLauncherThatFails(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "failing")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.socketOf(t, id)

	for name, signal := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "stopped": syscall.SIGSTOP} {
		if got := n.says(t, id, "echo before"); got != "before" {
			t.Fatalf("cmd says %q", got)
		}
		if err := syscall.Kill(theResident(t, id), signal); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if got := n.says(t, id, "echo after"); got != "after" {
			t.Errorf("%s: cmd says %q", name, got)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}

	n.says(t, id, "echo before")
	first := theResident(t, id)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if _, err := n.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
		ContainerId: id, Cmd: []string{`c:\app\winprog.exe`, "sleep"},
	}); err == nil {
		t.Error("a program that never ends has ended")
	}
	eventually(t, "the program is ended", func() bool { return len(execs(t, id)) == 0 })

	if got := n.says(t, id, "echo after"); got != "after" {
		t.Errorf("cmd says %q", got)
	}
	if again := theResident(t, id); again == first {
		t.Errorf("launcher %d has outlived its program", first)
	}
}
