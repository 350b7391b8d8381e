//go:build kernel

package userns

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A user namespace has the limits, and the machine's own stay as they are.
func TestLimit(t *testing.T) {
	const show = "cat /proc/sys/user/max_inotify_instances /proc/sys/user/max_inotify_watches"
	before, err := exec.Command("/bin/sh", "-c", show).Output()
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command("/bin/sh", "-c", "read -r go && "+show)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: LinuxBuilds, Size: LinuxBuildUsers}},
		GidMappings: []syscall.SysProcIDMap{{HostID: LinuxBuilds, Size: LinuxBuildUsers}},
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	if err := Limit(t.Context(), uint32(cmd.Process.Pid)); err != nil {
		t.Error(err)
	}
	_, _ = in.Write([]byte("go\n"))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}

	if got := strings.Fields(out.String()); len(got) != 2 || got[0] != "8" || got[1] != "8192" {
		t.Errorf("the namespace has %q", got)
	}
	after, err := exec.Command("/bin/sh", "-c", show).Output()
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the machine has %q (%v), and had %q", after, err, before)
	}
}
