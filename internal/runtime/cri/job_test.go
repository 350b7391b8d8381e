package cri_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// TestJobObject: a container's job object has the limits that CRI gave it, and its programs are told the same, from the
// start and after an update.
func TestJobObject(t *testing.T) {
	eight := func(c *cri.Config) { c.Processors = 8 }
	n := critest.NewNode(t, eight)
	pod := n.RunPod(t, "web")
	type resources = runtimeapi.WindowsContainerResources
	type groups = []jobobject.GroupAffinity
	all := groups{{Mask: 0xff}}
	for name, tt := range map[string]struct {
		given *resources
		want  jobobject.Limits
	}{
		"none":        {&resources{}, jobobject.Limits{Affinity: all}},
		"maximum":     {&resources{CpuMaximum: 1250, CpuShares: 9}, jobobject.Limits{CPURate: 1250, Affinity: all}},
		"count":       {&resources{CpuCount: 2, CpuMaximum: 100}, jobobject.Limits{CPURate: 2500, Affinity: all}},
		"shares":      {&resources{CpuShares: 5000}, jobobject.Limits{CPUWeight: 5, Affinity: all}},
		"most shares": {&resources{CpuShares: 1 << 62}, jobobject.Limits{CPUWeight: 9, Affinity: all}},
		"more than all": {
			&resources{CpuCount: 1 << 62, MemoryLimitInBytes: -1},
			jobobject.Limits{CPURate: 10_000, Affinity: all},
		},
		"memory": {&resources{MemoryLimitInBytes: 7 << 20}, jobobject.Limits{Memory: 7 << 20, Affinity: all}},
		"affinity": {
			&resources{AffinityCpus: []*runtimeapi.WindowsCpuGroupAffinity{
				{CpuGroup: 1, CpuMask: 4}, {CpuMask: 1}, {CpuMask: 2}, {CpuGroup: 2},
			}},
			jobobject.Limits{Affinity: groups{{Mask: 3}, {Group: 1, Mask: 4}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(id string) {
				t.Helper()
				got, err := n.Server.JobObject(id)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("limits (-want +got):\n%s", diff)
				}

				c, _ := n.Engine.Container(id)
				file, err := os.ReadFile(filepath.Join(c.WorkDir, "job"))
				if err != nil || string(file) != string(jobobject.File(tt.want)) {
					t.Errorf("the container's programs are told %x (%v)", file, err)
				}
			}

			id := n.Run(t, pod, name, func(c *containerConfig) { c.Windows.Resources = tt.given })
			check(id)
			later := n.Run(t, pod, name+" later")
			_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
				ContainerId: later,
				Windows:     tt.given,
			})
			if err != nil {
				t.Fatal(err)
			}

			check(later)
		})
	}

	if got, err := n.Server.JobObject(pod); err != nil || !cmp.Equal(got, jobobject.Limits{Affinity: all}) {
		t.Errorf("the sandbox's: %+v, %v", got, err)
	}
	if _, err := n.Server.JobObject("0123"); err == nil {
		t.Error("the job object of no container")
	}
}

// TestJobFileIsReplaced: a container may put into its own working folder what it likes.
func TestJobFileIsReplaced(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	c, _ := n.Engine.Container(id)
	victim, job := filepath.Join(t.TempDir(), "victim"), filepath.Join(c.WorkDir, "job")
	for _, err := range []error{os.WriteFile(victim, []byte("kept"), 0o600), os.Remove(job), os.Symlink(victim, job)} {
		if err != nil {
			t.Fatal(err)
		}
	}

	_, err := n.UpdateContainerResources(t.Context(), &runtimeapi.UpdateContainerResourcesRequest{
		ContainerId: id,
		Windows:     &runtimeapi.WindowsContainerResources{CpuMaximum: 100},
	})
	if err != nil {
		t.Fatal(err)
	}

	if data, err := os.ReadFile(victim); err != nil || string(data) != "kept" {
		t.Errorf("a link's target was written: %q, %v", data, err)
	}
	if info, err := os.Lstat(job); err != nil || !info.Mode().IsRegular() {
		t.Errorf("the file is %v, %v", info, err)
	}
}

// TestShownProcessors: where a host shows more processors than the machine has, each stands for one of the machine's.
func TestShownProcessors(t *testing.T) {
	machine := runtime.NumCPU()
	n := critest.NewNode(t, func(c *cri.Config) { c.Processors = 2 * machine })
	id := n.Run(t, n.RunPod(t, "web"), "app", func(c *containerConfig) {
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{
			CpuCount:     int64(machine),
			AffinityCpus: []*runtimeapi.WindowsCpuGroupAffinity{{CpuMask: 1 << machine}},
		}
	})

	c, _ := n.Engine.Container(id)
	if want := (engine.Resources{CPUMaximum: 5000, CPUs: "0"}); c.Resources != want {
		t.Errorf("limits %+v, want %+v", c.Resources, want)
	}
	limits, err := n.Server.JobObject(id)
	if got := fmt.Sprint(limits.Affinity); err != nil || got != fmt.Sprintf("[{0 %d}]", 1<<machine) {
		t.Errorf("the job object says %s, %v", got, err)
	}
}
