//go:build wine

package cri

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestEngine runs the suite that the fake of the CRI server's tests passes on the real engine.
func TestEngine(t *testing.T) {
	n := makeNode(t)
	config, closer := n.config(t.Context(), t)
	if err := config.Stream.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		closer()
		n.purge(t)
	})
	img, err := config.Images.GetAny(t.Context(), testImage, "")
	if err != nil {
		t.Fatal(err)
	}
	critest.EngineSuite(t, func(t *testing.T) critest.Subject {
		t.Helper()
		dir, err := os.MkdirTemp(n.dir, "work-") //nolint:usetesting // in a folder that runc can walk to
		if err != nil {
			t.Fatal(err)
		}
		return critest.Subject{Engine: n.engine, Container: engine.Container{
			ChainID: img.ChainID,
			Args:    append(n.system.LoaderArgv(), `C:\app\winprog.exe`, "sleep"),
			Env:     n.system.ContainerEnv(),
			Dir:     "/Files",
			WorkDir: dir,
		}, Processes: func(id string) int {
			return len(processesOf(t, id))
		}, PodTasks: func(pod string) (count, most int) {
			return podTasks(t, pod)
		}}
	})
}

// podTasks reads how many processes and threads a pod has, and how many it may have, from the kernel.
func podTasks(t *testing.T, pod string) (count, most int) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup", cgroupParent, pod)
	if _, err := os.Stat("/sys/fs/cgroup/pids"); err == nil { // cgroup v1
		dir = filepath.Join("/sys/fs/cgroup/pids", cgroupParent, pod)
	}
	var numbers [2]int
	for i, name := range []string{"pids.current", "pids.max"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if numbers[i], err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			t.Fatal(err) // "max" among others
		}
	}
	return numbers[0], numbers[1]
}
