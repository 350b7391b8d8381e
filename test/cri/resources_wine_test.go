//go:build wine

package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestCommitIsShared: the programs of a container share its commit limit. Who asks for more than is left is refused as on
// Windows, and nothing is killed. An update holds for programs that run.
func TestCommitIsShared(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "commit")
	id := n.run1(t, pod, config, []string{"commit", "150", "hold"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 200 << 20}
	})
	n.waitLog(t, id, "committed 150")
	try := func(mib string) string {
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id,
			Cmd:         []string{`C:\app\winprog.exe`, "commit", mib},
			Timeout:     30,
		})
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(resp.GetStdout()))
	}
	said := ""
	eventually(t, "what is more than is left is refused", func() bool {
		said = try("120")
		return strings.HasPrefix(said, "refused")
	})
	if said != "refused with error 1455" {
		t.Errorf("the program %s", said)
	}
	if got := try("20"); got != "committed 20" {
		t.Errorf("what is left: %s", got)
	}
	var limit, left int
	told := n.execIn(t, id, `C:\app\winprog.exe`, "memory")
	if _, err := fmt.Sscanf(told, "limit %d left %d", &limit, &left); err != nil || limit != 200 || left > 200 {
		t.Errorf("GlobalMemoryStatusEx says %q", told)
	}
	req := &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id,
		Windows:     &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 400 << 20},
	}
	if _, err := n.UpdateContainerResources(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	eventually(t, "with a higher limit there is more", func() bool { return try("120") == "committed 120" })
	if st := n.status(t, id); st.GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("the container is in state %v: %s", st.GetState(), st.GetReason())
	}
}

// TestUpdateChangesTheCgroup: each limit of a running container that CRI can change is the kernel's at once, in the order
// of Windows: a count of processors goes before a maximum, that before a weight.
func TestUpdateChangesTheCgroup(t *testing.T) {
	if _, err := os.Stat("/sys/fs/cgroup/cpu"); err != nil {
		t.Skip("the files are those of cgroup v1")
	}
	n := newNode(t)
	pod, config := n.pod(t, "update")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	const whole = 100_000
	cpus := int64(runtime.NumCPU())
	for _, step := range []struct {
		change *runtimeapi.WindowsContainerResources
		file   string
		want   int64
	}{
		{&runtimeapi.WindowsContainerResources{CpuShares: 10_000}, "cpu/cpu.shares", 2048},
		{&runtimeapi.WindowsContainerResources{CpuMaximum: 2500}, "cpu/cpu.cfs_quota_us", whole * cpus / 4},
		{&runtimeapi.WindowsContainerResources{CpuMaximum: 5000}, "cpu/cpu.shares", 1024},
		{&runtimeapi.WindowsContainerResources{CpuCount: 1}, "cpu/cpu.cfs_quota_us", whole},
		{&runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 300 << 20}, "memory/memory.limit_in_bytes", 364 << 20},
		{&runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 200 << 20}, "memory/memory.limit_in_bytes", 264 << 20},
	} {
		req := &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Windows: step.change}
		if _, err := n.UpdateContainerResources(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		controller, name := filepath.Split(step.file)
		files, err := filepath.Glob(filepath.Join("/sys/fs/cgroup", controller, cgroupParent, "*", id, name))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v, %v", step.file, files, err)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); got != step.want {
			t.Errorf("after %v: %s is %d, want %d", step.change, step.file, got, step.want)
		}
	}
}
