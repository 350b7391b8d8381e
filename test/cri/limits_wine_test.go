//go:build wine

package cri

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestForkBomb: a program that starts processes without end stops at its pod's limit, while another pod is as it was;
// and the container can be stopped.
func TestForkBomb(t *testing.T) {
	n := newNode(t)
	quiet, quietConfig := n.pod(t, "neighbour")
	neighbour := n.run1(t, quiet, quietConfig, []string{"sleep"}, nil)
	pod, config := n.pod(t, "bomb")
	id := n.run1(t, pod, config, []string{"tasks"}, func(c *runtimeapi.ContainerConfig) { c.Metadata.Name = "bomb" })
	n.waitLog(t, id, "refused after")
	var count, number int
	_, said, _ := strings.Cut(n.log(t, id), "refused")
	if _, err := fmt.Sscanf(said, " after %d with error %d", &count, &number); err != nil || count < 3900 ||
		count > 4096 || number != int(unix.EAGAIN) {
		t.Errorf("refused%s (%v)", said, err)
	}

	resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: neighbour,
		Cmd:         []string{`C:\app\winprog.exe`, "hello"},
		Timeout:     30,
	})
	if err != nil || !strings.Contains(string(resp.GetStdout()), "hello from Windows") {
		t.Errorf("a program in the neighbour: %q, %v", resp.GetStdout(), err)
	}

	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Errorf("StopContainer: %v", err)
	}
	if st := n.status(t, id); st.GetState() != runtimeapi.ContainerState_CONTAINER_EXITED {
		t.Errorf("it is in state %v", st.GetState())
	}
}

// TestBombUnderLimits: a container whose processes start others without end, at its limits of processor time and
// memory, is gone soon after it is stopped. Killed processes need processor time to end.
func TestBombUnderLimits(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "bomb")
	id := n.run1(t, pod, config, []string{"bomb"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows = &runtimeapi.WindowsContainerConfig{Resources: &runtimeapi.WindowsContainerResources{
			CpuMaximum:         1500, // of all of the machine's processor time
			MemoryLimitInBytes: 300 << 20,
		}}
	})
	n.waitLog(t, id, "starts")
	const many = 200
	eventually(t, "the bomb has many processes", func() bool { return len(processesOf(t, id)) >= many })
	begin := time.Now()
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Errorf("StopContainer: %v", err)
	}

	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestInotifyBomb: what the kernel counts for a container's users it counts for the machine's root too. A program that
// takes inotify instances without end gets few, and a neighbour and the machine have theirs.
func TestInotifyBomb(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "watchers")
	for _, name := range []string{"bomb", "neighbour"} {
		id := n.run1(t, pod, config, []string{"watchers"}, func(c *runtimeapi.ContainerConfig) { c.Metadata.Name = name })
		n.waitLog(t, id, "refused after")
		var count, number int
		_, said, _ := strings.Cut(n.log(t, id), "refused")
		if _, err := fmt.Sscanf(said, " after %d with error %d", &count, &number); err != nil || count < 4 || count > 8 ||
			number != int(unix.EMFILE) {
			t.Errorf("%s: refused%s (%v)", name, said, err)
		}
	}

	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err != nil {
		t.Fatalf("the machine's root has none left: %v", err)
	}
	_ = unix.Close(fd)
}

// TestOOMScores reads back what the kernel goes by when the machine has no memory left.
func TestOOMScores(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "scores")
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		t.Fatal(err)
	}

	quarter := int64(info.Totalram) * int64(info.Unit) / 4
	for want, limit := range map[string]int64{"1000": 0, "750": quarter} {
		id := n.run1(t, pod, config, []string{"sleep"}, func(c *runtimeapi.ContainerConfig) {
			c.Metadata.Name = "score" + want
			c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: limit}
		})
		n.waitLog(t, id, "sleeping")
		procs := processesOf(t, id)
		if len(procs) < 3 {
			t.Errorf("the container's processes: %v", procs)
		}

		for _, pid := range procs {
			score, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "oom_score_adj"))
			if err != nil || strings.TrimSpace(string(score)) != want {
				t.Errorf("score %q of process %d, want %s (%v)", score, pid, want, err)
			}
		}
	}
}

// processesOf returns the ids of a container's processes on the machine.
func processesOf(t *testing.T, id string) []int {
	t.Helper()
	dir := "/sys/fs/cgroup/pids"
	if _, err := os.Stat(dir); err != nil {
		dir = "/sys/fs/cgroup" // version 2
	}
	files, err := filepath.Glob(filepath.Join(dir, cgroupParent(), "*", id, "cgroup.procs"))
	if err != nil {
		t.Fatal(err)
	}

	if len(files) == 0 { // of no pod
		files = []string{filepath.Join(dir, cgroupParent(), id, "cgroup.procs")}
	}
	text, err := os.ReadFile(files[0])
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}

	if err != nil {
		t.Fatal(err)
	}

	var pids []int
	for line := range strings.Lines(string(text)) {
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}

	return pids
}

// TestMemoryFileSystemsAreBounded: what a program can write to in memory ends before the container's memory does.
func TestMemoryFileSystemsAreBounded(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "fill")
	for folder, most := range map[string]int{`dev\shm`: 64, "tmp": 96, `run\mullion`: 4} {
		id := n.run1(t, pod, config, []string{"fill", `\\?\unix\` + folder + `\f`, "200"},
			func(c *runtimeapi.ContainerConfig) {
				c.Metadata.Name = filepath.Base(strings.ReplaceAll(folder, `\`, "/"))
				c.LogPath = c.GetMetadata().GetName() + ".log"
				c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 96 << 20}
			})

		st := n.waitExit(t, id)
		var filled int
		_, said, _ := strings.Cut(n.log(t, id), "filled")
		if _, err := fmt.Sscanf(said, " %d:", &filled); err != nil || filled > most || filled < most-4 ||
			!strings.Contains(said, "not enough space") {
			t.Errorf("%s: filled%s (%v, %s)", folder, said, err, st.GetReason())
		}
	}
}

// TestPreloader: Wine's preloader starts every Windows program, so that a heap never lies where Windows has the data
// that all processes share.
func TestPreloader(t *testing.T) {
	want := theMachine(t).system.Install.Preloader
	if want == "" {
		t.Fatal("this Wine has no preloader: run make deps")
	}

	n := newNode(t)
	pod, config := n.pod(t, "preloader")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.waitLog(t, id, "sleeping")
	started := 0
	for _, pid := range processesOf(t, id) {
		program, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "exe"))
		if err != nil {
			t.Fatal(err)
		}

		switch filepath.Base(program) {
		case filepath.Base(want):
			started++
		case filepath.Base(theMachine(t).system.Install.Loader):
			t.Errorf("process %d runs without the preloader", pid)
		}
	}

	if started < 2 { // mullion-run.exe and the program
		t.Errorf("%d processes run with the preloader", started)
	}
}
