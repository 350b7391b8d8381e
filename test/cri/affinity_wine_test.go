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

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestAffinity: a container's programs are kept to its processors by the kernel and see them as those of their process,
// from the start and after each update, while they run; how many processors the system has stays as it is.
func TestAffinity(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("this machine has one processor")
	}

	n := newNode(t)
	pod, config := n.pod(t, "affinity")
	groups := func(mask uint64) *runtimeapi.WindowsContainerResources {
		return &runtimeapi.WindowsContainerResources{
			AffinityCpus: []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: mask}},
		}
	}

	id := n.run1(t, pod, config, []string{"affinity"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.Resources = groups(0b10)
	})
	defer func() {
		if t.Failed() {
			t.Logf("it said:\n%s", n.log(t, id))
		}
	}()

	var said string
	for i, mask := range []uint64{0b10, 0b01, 0b11, 0b10} {
		if i > 0 {
			req := &runtimeapi.UpdateContainerResourcesRequest{ContainerId: id, Windows: groups(mask)}
			if _, err := n.UpdateContainerResources(t.Context(), req); err != nil {
				t.Fatal(err)
			}
		}

		said += fmt.Sprintf("stdout F process %b child %[1]b system %b of %d (<nil>)\n",
			mask, 1<<runtime.NumCPU()-1, runtime.NumCPU())
		eventually(t, "the program says "+said, func() bool { return stdoutOf(n.log(t, id)) == said })
		for _, pid := range processesOf(t, id) {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
			if err != nil {
				t.Fatal(err)
			}

			for _, dir := range threads {
				thread, _ := strconv.Atoi(filepath.Base(dir))
				var set unix.CPUSet
				if err := unix.SchedGetaffinity(thread, &set); err != nil {
					continue // it has ended
				}
				name, _ := os.ReadFile(filepath.Join(dir, "comm"))
				if got := set[0]; uint64(got) != mask {
					t.Errorf("mask %b: thread %d of %q may run on %b", mask, thread, strings.TrimSpace(string(name)), got)
				}
			}
		}

		got := n.status(t, id).GetResources().GetWindows().GetAffinityCpus()
		if len(got) != 1 || got[0].GetCpuMask() != mask {
			t.Errorf("mask %b: the status says %v", mask, got)
		}
	}
}

// stdoutOf leaves out what Wine says on standard error, as it may of a program that ends.
func stdoutOf(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.HasPrefix(line, "stdout ") {
			b.WriteString(line)
		}
	}
	return b.String()
}
