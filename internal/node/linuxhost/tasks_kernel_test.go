//go:build kernel

package linuxhost_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/node/linuxhost"
)

// TestLimitTasksHolds: what forks without end in a node's cgroup stops at the cluster's limit, and a neighbour in the
// same cluster starts programs as before.
func TestLimitTasksHolds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	cluster := fmt.Sprintf("/mullion-test-tasks-%d", os.Getpid())
	t.Cleanup(func() { removeCgroups(t, cluster) })
	const limit = 20
	for cgroup, most := range map[string]int64{cluster: 100, cluster + "/n1": limit, cluster + "/n2": limit} {
		err := linuxhost.LimitTasks(cgroup, most)
		if errors.Is(err, linuxhost.ErrTasksNotCounted) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(node, script string) error {
		dir := pidsFolder(cluster + node)
		t.Cleanup(func() { killAll(t, dir) })
		cmd := exec.CommandContext(t.Context(), "sh", "-c", "echo $$ > "+dir+"/cgroup.procs && "+script)
		return cmd.Run()
	}
	if err := in("/n1", "for i in $(seq 60); do sleep 300 & done >/dev/null 2>&1"); err == nil {
		t.Error("60 programs were started, and no start failed")
	}
	text, err := os.ReadFile(filepath.Join(pidsFolder(cluster+"/n1"), "pids.current"))
	if n, _ := strconv.Atoi(strings.TrimSpace(string(text))); err != nil || n > limit || n < limit-3 {
		t.Errorf("%q programs run, want about %d (%v)", text, limit, err)
	}
	if err := in("/n2", "/bin/true && /bin/true"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

// pidsFolder is where the cgroup's processes are counted.
func pidsFolder(cgroup string) string {
	if dir := "/sys/fs/cgroup/pids" + cgroup; exists(dir) {
		return dir
	}
	return "/sys/fs/cgroup" + cgroup
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// killAll ends what is in a cgroup, and returns when nothing is.
func killAll(t *testing.T, dir string) {
	t.Helper()
	for {
		text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		if err != nil {
			t.Error(err)
		}
		if len(text) == 0 {
			return
		}
		for line := range strings.Lines(string(text)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
}
