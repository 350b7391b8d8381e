//go:build kernel

package cgroup_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/testrun"
)

// TestLimitTasksHolds: what forks without end in a node's cgroup stops at the cluster's limit, and a neighbour in the
// same cluster starts programs as before.
func TestLimitTasksHolds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	cluster := fmt.Sprintf("/mullion-test-tasks-%d", os.Getpid())
	t.Cleanup(func() { remove(t, cluster+"/n1", cluster+"/n2", cluster) })
	const limit = 20
	for name, most := range map[string]int64{cluster: 100, cluster + "/n1": limit, cluster + "/n2": limit} {
		err := cgroup.LimitTasks(name, most)
		if errors.Is(err, cgroup.ErrNoController) {
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

	if n := numberIn(t, filepath.Join(pidsFolder(cluster+"/n1"), "pids.current")); n > limit || n < limit-3 {
		t.Errorf("%d programs run, want about %d", n, limit)
	}
	if err := in("/n2", "/bin/true && /bin/true"); err != nil {
		t.Errorf("a neighbour: %v", err)
	}
}

// TestUnbind: the limits of a cgroup below another one that keep its processes from ending are no more, and a program
// in it starts no other one.
func TestUnbind(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	pod := fmt.Sprintf("/mullion-test-unbind-%d", os.Getpid())
	t.Cleanup(func() { remove(t, pod+"/one", pod) })
	for _, err := range []error{cgroup.LimitTasks(pod+"/one", 100), cgroup.LimitCPU(pod+"/one", 20000)} {
		if errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	timed := folderOf("cpu", pod+"/one") + "/cpu.cfs_quota_us"
	open := "-1"
	if !exists(timed) {
		timed, open = folderOf("cpu", pod+"/one")+"/cpu.max", "max"
	}
	bound := func() bool {
		text, err := os.ReadFile(timed)
		if err != nil {
			t.Fatal(err)
		}
		return !strings.HasPrefix(string(text), open)
	}
	if !bound() {
		t.Fatal("its processor time has no limit")
	}

	forks := func() error { // a shell is put into the cgroup and then starts another
		script := `echo $$ >"$1/cgroup.procs" && (exit 0)`
		return exec.CommandContext(t.Context(), "sh", "-c", script, "sh", folderOf("pids", pod+"/one")).Run()
	}
	if err := forks(); err != nil {
		t.Fatalf("before: %v", err)
	}
	if err := cgroup.Unbind(pod); err != nil {
		t.Fatal(err)
	}
	if forks() == nil {
		t.Error("a program of the cgroup started another one")
	}
	if most := numberIn(t, folderOf("pids", pod+"/one")+"/pids.max"); most != 0 || bound() {
		t.Errorf("it may have %d processes, and a limit of processor time: %t", most, bound())
	}
	if err := cgroup.Unbind(pod + "/gone"); err != nil || exists(folderOf("pids", pod)+"/gone") {
		t.Errorf("a cgroup that is not there: %v", err)
	}
}

// numberIn returns the number in a file of a cgroup.
func numberIn(t *testing.T, file string) int {
	t.Helper()
	text, err := os.ReadFile(file)
	n, malformed := strconv.Atoi(strings.TrimSpace(string(text)))
	if err = errors.Join(err, malformed); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestLimitMemoryHolds: what takes memory without end in a node's cgroup is killed, and what was there first, with a
// lower score, lives.
func TestLimitMemoryHolds(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	cluster := fmt.Sprintf("/mullion-test-memory-%d", os.Getpid())
	t.Cleanup(func() { remove(t, cluster+"/n1", cluster+"/n2", cluster) })
	err := cgroup.LimitMemory(cluster+"/n1", 64<<20)
	if errors.Is(err, cgroup.ErrNoController) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}

	dir := folderOf("memory", cluster+"/n1")
	t.Cleanup(func() { killAll(t, dir) })
	in := func(script string) *exec.Cmd {
		return exec.CommandContext(t.Context(), "sh", "-c", "echo $$ > "+dir+"/cgroup.procs && "+script)
	}
	neighbour := in("exec sleep 300")
	if err := neighbour.Start(); err != nil {
		t.Fatal(err)
	}

	// tail keeps in memory what has no line ends
	greedy := in("echo 1000 > /proc/self/oom_score_adj; head -c 400M /dev/zero | tail -n 1 > /dev/null")
	_ = greedy.Run()
	if code := greedy.ProcessState.ExitCode(); code != 128+int(syscall.SIGKILL) {
		t.Errorf("a program that takes 400 MiB ended with code %d, and was not killed", code)
	}
	if err := neighbour.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("its neighbour: %v", err)
	}

	_ = neighbour.Process.Kill()
	_ = neighbour.Wait()
}

// TestLimitMemoryKeepsFromSwap: what is limited takes none of the machine's swap. A limit can be raised and lowered.
func TestLimitMemoryKeepsFromSwap(t *testing.T) {
	testrun.Once(t, testrun.Race)
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	counts, err := cgroup.CountsSwap()
	if err != nil {
		t.Fatal(err)
	}
	if !counts {
		t.Skip("the kernel does not count swap")
	}

	name := fmt.Sprintf("/mullion-test-swap-%d", os.Getpid())
	t.Cleanup(func() { remove(t, name) })
	for _, most := range []int{64 << 20, 128 << 20, 32 << 20} {
		err := cgroup.LimitMemory(name, int64(most))
		if errors.Is(err, cgroup.ErrNoController) {
			t.Skip(err)
		}
		if err != nil {
			t.Fatal(err)
		}

		limit := strconv.Itoa(most)
		want := map[string]string{"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit} // cgroup v1
		dir := folderOf("memory", name)
		if exists(filepath.Join(dir, "memory.max")) {
			want = map[string]string{"memory.max": limit, "memory.swap.max": "0"}
		}

		for file, value := range want {
			got, err := os.ReadFile(filepath.Join(dir, file))
			if errors.Is(err, os.ErrNotExist) && file == "memory.swap.max" {
				t.Skip("the kernel has no swap")
			}
			if err != nil || strings.TrimSpace(string(got)) != value {
				t.Errorf("limit %d: %s is %q, want %s (%v)", most, file, got, value, err)
			}
		}
	}
}

// TestMakeLeavesTheRoot: where the root of the hierarchy is a container's cgroup, what runs in it makes room.
func TestMakeLeavesTheRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}

	v2 := "/sys/fs/cgroup"
	if exists(v2 + "/unified") {
		v2 += "/unified"
	}
	if !exists(v2 + "/cgroup.procs") {
		t.Skip("no cgroup v2")
	}

	root := filepath.Join(v2, fmt.Sprintf("mullion-test-root-%d", os.Getpid()))
	init, made := filepath.Join(root, "init"), filepath.Join(root, "a", "b")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		killAll(t, init)
		for _, dir := range []string{made, filepath.Dir(made), init, root} {
			if err := os.Remove(dir); err != nil {
				t.Error(err)
			}
		}
	})

	inside := exec.CommandContext(t.Context(), "sh", "-c", "echo $$ > "+root+"/cgroup.procs && exec sleep 300")
	if err := inside.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = inside.Wait() }()
	defer func() { _ = inside.Process.Kill() }()

	pid := strconv.Itoa(inside.Process.Pid) + "\n"
	for text := ""; text != pid; {
		read, err := os.ReadFile(filepath.Join(root, "cgroup.procs"))
		if err != nil {
			t.Fatal(err)
		}
		text = string(read)
	}

	if _, err := (cgroup.Hierarchy{Dir: root, V2: true}).Make("/a/b"); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{root: "", init: pid, made: ""} {
		if text, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err != nil || string(text) != want {
			t.Errorf("processes of %s: %q, want %q (%v)", dir, text, want, err)
		}
	}
}

// remove removes cgroups in which nothing is left, twice: one that is gone is no error.
func remove(t *testing.T, cgroups ...string) {
	t.Helper()
	for _, name := range slices.Concat(cgroups, cgroups) {
		if err := cgroup.Remove(name); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/*" + cgroups[0]); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// pidsFolder returns where the cgroup's processes are counted.
func pidsFolder(cgroup string) string { return folderOf("pids", cgroup) }

// folderOf returns where a controller keeps the cgroup.
func folderOf(controller, cgroup string) string {
	if dir := "/sys/fs/cgroup/" + controller + cgroup; exists(dir) {
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
