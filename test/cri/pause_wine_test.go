//go:build wine

package cri

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/node/pauseimage"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/spec"
)

const testPause = string(spec.OwnPauseImage)

// loadPause loads the image that Mullion makes of upstream's programs.
func (m *machine) loadPause(t *testing.T) {
	t.Helper()
	folder := filepath.Join(root(), "bin", "windows")
	if err := pauseimage.Check(folder); err != nil {
		t.Skip(err)
	}
	img, err := pauseimage.Make(t.Context(), folder, m.build.Name)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := img.WriteArchive(&archive); err != nil {
		t.Fatal(err)
	}

	store, closer, err := m.images()
	if err != nil {
		t.Fatal(err)
	}
	defer closer()
	if _, err := store.Load(t.Context(), &archive, image.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
}

// programsIn returns the processes of the machine of that name, in a cgroup whose path has this word.
func programsIn(t *testing.T, command, word string) []int {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}

	var found []int
	for _, f := range all {
		comm, err := os.ReadFile(f)
		if err != nil || strings.TrimSpace(string(comm)) != command {
			continue
		}

		cgroup, err := os.ReadFile(filepath.Join(filepath.Dir(f), "cgroup"))
		if err == nil && strings.Contains(string(cgroup), word) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// TestPauseContainer: with a pause image each pod has a container in which upstream's pause.exe runs, before the pod's
// own and under the sandbox's id; the pod's own share its network. When pause.exe is killed, the pod is stopped, and a
// pod that is stopped leaves no process of it. The test says what it costs.
func TestPauseContainer(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	n := makeNode(t)
	n.loadPause(t)
	n.up(t)
	without := n.timePods(t, "without")
	n.stop()
	n.pauseImage = testPause
	n.start(t)
	with := n.timePods(t, "with")
	t.Logf("RunPodSandbox takes %v without a pause container and %v with one", without, with)

	pod, config := n.pod(t, "paused")
	if found := programsIn(t, "pause.exe", pod); len(found) != 1 {
		t.Fatalf("processes of pause.exe: %v", found)
	}
	status, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{
		PodSandboxId: pod, Verbose: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var info struct{ Image string }
	if err := json.Unmarshal([]byte(status.GetInfo()["info"]), &info); err != nil || info.Image != testPause {
		t.Errorf("image of the sandbox: %q, %v", info.Image, err)
	}

	time.Sleep(2 * time.Second) // it has settled
	used, err := n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod})
	if err != nil {
		t.Fatal(err)
	}
	w := used.GetStats().GetWindows()
	t.Logf("a pause container: working set %.1f MB, commit %.1f MB, %d processes, and beside it a shim of %d KB",
		float64(w.GetMemory().GetWorkingSetBytes().GetValue())/1e6,
		float64(w.GetMemory().GetCommitMemoryBytes().GetValue())/1e6,
		w.GetProcess().GetProcessCount().GetValue(), shimMemory(t, pod))
	if w.GetProcess().GetProcessCount().GetValue() == 0 {
		t.Error("the pod has no process")
	}

	app := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.waitLog(t, app, "sleeping")
	for _, pid := range programsIn(t, "pause.exe", pod) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	n.waitExit(t, app)
	eventually(t, "the pod is not ready without its pause container", func() bool {
		status, err = n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod})
		return err == nil && status.GetStatus().GetState() == runtimeapi.PodSandboxState_SANDBOX_NOTREADY
	})

	other, _ := n.pod(t, "stopped")
	if _, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: other}); err != nil {
		t.Fatal(err)
	}
	if left := programsIn(t, "pause.exe", other); len(left) > 0 {
		t.Errorf("processes of a pod that is stopped: %v", left)
	}
}

// timePods returns how long it takes to run a pod, the middle one of some.
func (n *node) timePods(t *testing.T, word string) time.Duration {
	t.Helper()
	var took []time.Duration
	for i := range 5 {
		begin := time.Now()
		pod, _ := n.pod(t, word+"-"+string(rune('a'+i)))
		took = append(took, time.Since(begin).Round(time.Millisecond))
		_, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// shimMemory returns the memory of a container's shim, in KB: its own, and its share of what it has in common with
// others (Pss of /proc/PID/smaps_rollup).
func shimMemory(t *testing.T, id string) (kb int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		line, err := os.ReadFile(f)
		if err != nil || !bytes.Contains(line, []byte("containerd-shim")) || !bytes.Contains(line, []byte(id)) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(filepath.Dir(f), "smaps_rollup"))
		if err != nil {
			t.Fatal(err)
		}
		_, pss, _ := strings.Cut(string(text), "Pss:")
		if _, err := fmt.Sscan(pss, &kb); err != nil {
			t.Fatal(err)
		}
	}
	return kb
}
