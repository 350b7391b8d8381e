//go:build wine

package cri

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/runtime/vm/qemu"
	"mullion.dev/mullion/test/built"
)

// TestEngine runs the suite that the fake of the CRI server's tests passes on the real engine.
func TestEngine(t *testing.T) {
	n := makeNode(t)
	runEngineSuite(t, n, connectEngine(t, n), critest.Subject{
		Processes: func(id string) int { return len(processesOf(t, id)) },
		PodTasks:  func(pod string) (count, most int) { return podTasks(t, pod) },
	})
}

// TestEngineInTheHost runs the suite with HostProcess containers.
func TestEngineInTheHost(t *testing.T) {
	n := makeNode(t)
	n.startHost(t)
	runEngineSuite(t, n, connectEngine(t, n), critest.Subject{
		Processes: func(id string) int { return len(processesOf(t, id)) },
		PodTasks:  func(pod string) (count, most int) { return podTasks(t, pod) },
		As: func(c engine.Container) engine.Container {
			view := n.engine.View(c.ID)
			c.Args = append(n.system.LoaderArgv(), `C:\hpc\app\winprog.exe`, "sleep")
			c.Env = n.system.HostEnv(view)
			c.Dir = filepath.Join(view, "Files")
			c.NetNS = n.host.Netns
			c.Kind = &engine.HostProcess{MountPoint: `C:\hpc\`}
			return c
		},
	})
}

// TestEngineInAMachine runs the suite with containers of a virtual machine.
func TestEngineInAMachine(t *testing.T) {
	bin := built.Dir(t)
	if _, err := qemu.Find(bin); err != nil {
		t.Skipf("`make hyperv` gets what is missing: %v", err)
	}
	n := makeNode(t)
	if err := os.Chmod(n.dir, 0o711); err != nil { // the guest's files are served by others than root
		t.Fatal(err)
	}

	n.machines = &engine.Machines{
		Bin: bin, Dir: filepath.Join(n.dir, "vm"), Cache: filepath.Join(n.dir, "vm-cache"),
	}

	m := engine.Machine{
		Labels:   map[string]string{"mullion.dev/node": nodeName},
		NetNS:    filepath.Join(n.machine.dir, "netns-of-machine"),
		Hostname: "suite",
		CPUs:     1,
		Memory:   512 << 20,
	}

	if _, err := netns.Ensure(m.NetNS); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := netns.Remove(m.NetNS); err != nil {
			t.Error(err)
		}
	})

	img := connectEngine(t, n)
	start := func(t *testing.T, id string) (end func() error) {
		t.Helper()
		m.ID = id
		if err := n.engine.StartMachine(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		return func() error { return n.engine.Remove(context.WithoutCancel(t.Context()), id) }
	}

	const alone = "suite-machine"
	start(t, alone) // which the node's purge ends
	runEngineSuite(t, n, img, critest.Subject{Pod: start, As: func(c engine.Container) engine.Container {
		c.Kind, c.NetNS = engine.InMachine{ID: cmp.Or(c.Pod, alone)}, m.NetNS
		return c
	}})
}

// connectEngine connects a node's engine, and returns the test's image.
func connectEngine(t *testing.T, n *node) image.Info {
	t.Helper()
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
	return img
}

// runEngineSuite runs the suite with containers of an image as s has them.
func runEngineSuite(t *testing.T, n *node, img image.Info, s critest.Subject) {
	t.Helper()
	critest.EngineSuite(t, func(t *testing.T) critest.Subject {
		t.Helper()
		dir, err := os.MkdirTemp(n.dir, "work-") //nolint:usetesting // in a folder that runc can walk to
		if err != nil {
			t.Fatal(err)
		}

		s.Engine, s.Container = n.engine, engine.Container{
			ChainID:   img.ChainID,
			Ephemeral: true,
			Args:      append(n.system.LoaderArgv(), `C:\app\winprog.exe`, "sleep"),
			Env:       n.system.ContainerEnv(),
			Dir:       "/Files",
			WorkDir:   dir,
		}

		return s
	})
}

// podTasks reads how many processes and threads a pod has, and how many it may have, from the kernel.
func podTasks(t *testing.T, pod string) (count, most int) {
	t.Helper()
	dir := filepath.Join("/sys/fs/cgroup", cgroupParent(), pod)
	if _, err := os.Stat("/sys/fs/cgroup/pids"); err == nil { // cgroup v1
		dir = filepath.Join("/sys/fs/cgroup/pids", cgroupParent(), pod)
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
