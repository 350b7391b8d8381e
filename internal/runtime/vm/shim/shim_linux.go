// Package shim is containerd's shim of virtual machines: it serves containerd's task API for a machine and for the
// containers in it. The machine's task is QEMU, which it boots; calls for the others it passes on to the agent in the
// guest, after it has mounted on the host what the container is to see. What the guest answers is not trusted: process
// ids and paths are the host's own, texts are cut, and a guest that does not answer is ended.
package shim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	"github.com/containerd/containerd/v2/core/mount"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/errdefs"
	"github.com/containerd/log"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/runtime/vm"
)

// killed is the exit code of what ended with its machine: 128 and SIGKILL's number.
const killed = 128 + 9

// Main is the shim's whole life, as containerd calls it: it starts the shim, or removes what a killed one has left.
func Main(ctx context.Context) {
	registry.Register(&plugin.Registration{
		Type:     plugins.TTRPCPlugin,
		ID:       "task",
		Requires: []plugin.Type{plugins.EventPlugin, plugins.InternalPlugin},
		InitFn: func(ic *plugin.InitContext) (any, error) {
			publisher, err := ic.GetByID(plugins.EventPlugin, "publisher")
			if err != nil {
				return nil, err
			}
			end, err := ic.GetByID(plugins.InternalPlugin, "shutdown")
			if err != nil {
				return nil, err
			}

			out := log.G(ic.Context).Logger // that of all, ttrpc too
			out.SetOutput(&boundedLog{to: out.Out, now: time.Now})
			return newService(ic.Context, publisher.(shim.Publisher), end.(shutdown.Service)), nil
		},
	})

	shim.RunShim(ctx, keeper{manager.NewShimManager("mullion-vm")}, func(c *shim.Config) {
		c.NoReaper, c.NoSubreaper = true, true // QEMU and virtiofsd are waited for one by one
	})
}

// keeper starts shims as containerd's own manager of runc does: one for each group of containers.
type keeper struct{ shim.Shim }

// Stop removes what a shim has left of a container that was killed, or to which containerd has lost the connection:
// QEMU and virtiofsd end with it.
func (keeper) Stop(_ context.Context, id string) (shim.StopStatus, error) {
	bundle, err := os.Getwd()
	if err != nil {
		return shim.StopStatus{}, err
	}

	spec, machine, err := readSpec(filepath.Join(filepath.Dir(bundle), id))
	if err != nil {
		return shim.StopStatus{}, err
	}
	if machine == id {
		err = errors.Join(endProcesses(spec.Cgroup), removeMachine(spec))
	} else {
		err = removeShared(spec, id)
	}

	return shim.StopStatus{ExitStatus: killed, ExitedAt: time.Now()}, err
}

// endPatience is how long killed processes may take to end.
const endPatience = 5 * time.Second

// endProcesses kills the processes of a cgroup, and returns when none is left. A missing cgroup is no error.
func endProcesses(name string) error {
	if path.Clean("/"+name) == "/" { // in which is everything
		return fmt.Errorf("end the processes of a machine without a cgroup: %w", errdefs.ErrInvalidArgument)
	}
	all, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for deadline := time.Now().Add(endPatience); ; <-tick.C {
		left := 0
		for _, h := range all {
			text, err := os.ReadFile(filepath.Join(h.Dir, name, "cgroup.procs"))
			if err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, unix.ENODEV) {
				return err
			}

			for line := range strings.FieldsSeq(string(text)) {
				pid, err := strconv.Atoi(line)
				if err != nil || pid <= 1 {
					continue // of another namespace of processes
				}
				left++
				if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
					return fmt.Errorf("end process %d of %q: %w", pid, name, err)
				}
			}
		}

		switch {
		case left == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%d processes in %q do not end", left, name)
		}
	}
}

// readSpec reads from a bundle which machine the container is of, by its own id.
func readSpec(bundle string) (spec vm.Spec, machine string, err error) {
	s, err := readOCI(bundle)
	if err != nil {
		return spec, "", err
	}
	if err := json.Unmarshal([]byte(s.Annotations[vm.Annotation]), &spec); err != nil {
		return spec, "", fmt.Errorf("read the machine in bundle %q: %w", bundle, err)
	}
	return spec, s.Annotations[vm.GroupAnnotation], nil
}

func readOCI(bundle string) (*specs.Spec, error) {
	text, err := os.ReadFile(filepath.Join(bundle, "config.json"))
	if err != nil {
		return nil, err
	}
	var s specs.Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("read specification in bundle %q: %w", bundle, err)
	}
	return &s, nil
}

// removeMachine unmounts and removes a machine's folder. One that is gone is no error.
func removeMachine(spec vm.Spec) error {
	containers, err := os.ReadDir(spec.Share())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, c := range containers {
		if err := removeShared(spec, c.Name()); err != nil {
			return err
		}
	}

	if err := mount.UnmountRecursive(spec.Share(), unmountFlags); err != nil {
		return fmt.Errorf("unmount what the machine shares: %w", err)
	}

	// Remove, not RemoveAll: a container that is being made may have mounted a volume there, which that would empty.
	if err := os.Remove(spec.Share()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return os.RemoveAll(spec.Dir)
}

// removeShared unmounts and removes what the guest sees of a container.
func removeShared(spec vm.Spec, id string) error {
	dir := spec.Shared(id)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if err := mount.UnmountRecursive(path, unmountFlags); err != nil {
			return fmt.Errorf("unmount what the guest sees of container %q: %w", id, err)
		}
		// Remove, not RemoveAll: if it were still mounted, RemoveAll would delete what is there.
		if err := os.Remove(path); err != nil {
			return err
		}
	}

	if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}

	return nil
}
