package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	tasksapi "github.com/containerd/containerd/api/services/tasks/v1"
	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/errdefs"
	"github.com/containerd/errdefs/pkg/errgrpc"
	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/cgroup"
	"mullion.dev/mullion/internal/base/cleanup"
	"mullion.dev/mullion/internal/runtime/vm"
	"mullion.dev/mullion/internal/runtime/vm/link"
	"mullion.dev/mullion/internal/runtime/vm/qemu"
)

// Machines says how virtual machines are made. All paths are absolute.
type Machines struct {
	// Bin is the folder of Mullion's programs.
	Bin string
	// Dir is where the machines' folders are. Others can enter the folders above it. It is made if it is missing.
	Dir string
	// Cache is a folder for the guest's initial file system.
	Cache string
}

// shim is the name of containerd's runtime that runs the machines and what is in them: a program.
func (m *Machines) shim() string { return filepath.Join(m.Bin, "mullion-vm") }

// Machine is a virtual machine that a pod has for itself. For containerd it is a container without files, so Remove,
// Signal, Wait, Usage and List are for machines too; it runs from its making on.
type Machine struct {
	// ID names the machine, and the pod's cgroup that its own is in.
	ID     string
	Labels map[string]string
	// NetNS is the path of the network namespace whose interfaces the guest gets.
	NetNS    string
	Hostname string
	// CPUs is the number of processors, Memory the guest's memory in bytes.
	CPUs, Memory int64
}

// labelMachine of a container names the machine that it is in.
const labelMachine = "mullion.dev/machine"

// boots is what is found out once about the machine's virtual machines.
type boots struct {
	mu          sync.Mutex
	accelerator qemu.Accelerator
	parts       qemu.Parts
	initrd      string
}

// machineUsers is how many pairs of users machines have, behind the users of containers: so many that no two machines
// at a time come to the same one by chance.
const machineUsers = 1 << 24

// machineUser is whom a machine runs as. Each has two users of its own: the files of a process in /proc, its memory
// among them, are open to others of the same user, in whatever namespaces they are.
func (e *Engine) machineUser(id string) qemu.User {
	ids := e.opts.IDs
	name := fnv.New32a()
	_, _ = name.Write([]byte(id)) // never fails
	// Odd: no program in a container has such a one (UserMask).
	return qemu.User{ID: ids.Base + ids.Size + 2*(name.Sum32()%machineUsers) + 1, Files: ids.Base, Size: ids.Size}
}

// MachinesReady returns nil if virtual machines can be started, else what they lack.
func (e *Engine) MachinesReady(ctx context.Context) error {
	if e.opts.Machines == nil {
		return fmt.Errorf("there are no virtual machines on this node: %w", errdefs.ErrNotImplemented)
	}
	e.boots.mu.Lock()
	defer e.boots.mu.Unlock()
	if e.boots.initrd != "" {
		return nil
	}
	parts, err := qemu.Find(e.opts.Machines.Bin)
	if err != nil {
		return fmt.Errorf("%w: %w", err, errdefs.ErrNotImplemented)
	}
	accelerator, err := parts.Choose(ctx, e.machineUser(""))
	if err != nil {
		return fmt.Errorf("no guest boots: %w: %w", err, errdefs.ErrNotImplemented)
	}
	if err := os.MkdirAll(e.opts.Machines.Cache, 0o700); err != nil {
		return err
	}
	initrd := filepath.Join(e.opts.Machines.Cache, "initrd")
	if err := parts.WriteInitrd(initrd); err != nil {
		return err
	}
	e.opts.Log.Info("virtual machines can be started", "accelerator", accelerator, "kernel", parts.Kernel)
	e.boots.parts, e.boots.accelerator, e.boots.initrd = parts, accelerator, initrd
	return nil
}

// machineDir is the folder of a machine. Its name is cut because the path of a socket has 108 bytes at most.
func (e *Engine) machineDir(id string) string {
	return filepath.Join(e.opts.Machines.Dir, id[:min(16, len(id))])
}

// StartMachine boots a virtual machine and returns when containers can be made in it. If it returns an error, nothing
// is left behind.
func (e *Engine) StartMachine(ctx context.Context, m Machine) error {
	if err := e.MachinesReady(ctx); err != nil {
		return err
	}
	if err := e.checkMemory(m); err != nil {
		return err
	}
	ctx = e.with(ctx)
	var undo cleanup.Stack
	defer func() { _ = undo.Clean() }()
	spec := vm.Spec{
		Dir:         e.machineDir(m.ID),
		Parts:       e.boots.parts,
		Initrd:      e.boots.initrd,
		Accelerator: e.boots.accelerator,
		User:        e.machineUser(m.ID),
		CPUs:        m.CPUs,
		Memory:      m.Memory,
		OOMScore:    e.oomScore(Resources{MemoryLimit: m.Memory}), // that of a container with as much
		NetNS:       m.NetNS,
		Hostname:    m.Hostname,
		Cgroup:      e.machineCgroup(m.ID),
	}
	if err := os.MkdirAll(e.opts.Machines.Dir, 0o711); err != nil {
		return err
	}
	if err := e.limitPod(m.ID); err != nil {
		return err
	}
	undo.Add(func() error { return e.RemovePod(m.ID) })
	if err := limitMachine(spec); err != nil {
		return fmt.Errorf("limit machine %q: %w", m.ID, err)
	}
	annotations, err := machineAnnotations(m.ID, spec)
	if err != nil {
		return err
	}
	options := e.runtimeOptions(0)
	options.ShimCgroup = spec.Cgroup
	_, err = e.client.NewContainer(ctx, m.ID,
		client.WithContainerLabels(m.Labels),
		client.WithRuntime(e.opts.Machines.shim(), options),
		client.WithSpec(&specs.Spec{Version: specs.Version, Annotations: annotations}))
	if err != nil {
		return fmt.Errorf("create machine %q: %w", m.ID, err)
	}
	undo.Add(func() error { return e.Remove(context.WithoutCancel(ctx), m.ID) })
	if _, err := e.client.TaskService().Create(ctx, &tasksapi.CreateTaskRequest{ContainerID: m.ID}); err != nil {
		return fmt.Errorf("boot machine %q: %w", m.ID, errgrpc.ToNative(err))
	}
	if _, err := e.client.TaskService().Start(ctx, &tasksapi.StartRequest{ContainerID: m.ID}); err != nil {
		return fmt.Errorf("start machine %q: %w", m.ID, errgrpc.ToNative(err))
	}
	undo.Release()
	return nil
}

// checkMemory refuses a machine that this one has not got the memory for.
func (e *Engine) checkMemory(m Machine) error {
	if m.Memory > e.memory.capacity {
		return fmt.Errorf("a virtual machine of %d MB on a node that has %d MB: %w", m.Memory>>20, e.memory.capacity>>20,
			errdefs.ErrInvalidArgument)
	}
	return nil
}

func machineAnnotations(id string, spec vm.Spec) (map[string]string, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("encode machine %q: %w", id, err)
	}
	return map[string]string{vm.GroupAnnotation: id, vm.Annotation: string(text)}, nil
}

// limitMachine makes a machine's cgroup, in which are QEMU, virtiofsd and the shim: a guest that has taken over QEMU
// gets no more of the node than the pod was to have.
func limitMachine(spec vm.Spec) error {
	all, err := cgroup.Hierarchies()
	if err != nil {
		return err
	}
	for _, h := range all {
		if _, err := h.Make(spec.Cgroup); err != nil {
			return err
		}
	}
	for _, limit := range []error{
		cgroup.LimitMemory(spec.Cgroup, spec.Memory+qemu.Overhead(spec.Accelerator)),
		cgroup.LimitCPU(spec.Cgroup, spec.CPUs*cpuPeriod),
	} {
		if limit != nil && !errors.Is(limit, cgroup.ErrNoController) {
			return limit
		}
	}
	return nil
}

func (e *Engine) machineCgroup(pod string) string {
	return path.Join(e.opts.CgroupParent, pod, "machine")
}

// removeMachineCgroup removes the cgroup of a pod's machine when the shim has left it, which is a moment after the
// machine has gone. One that is not there is no error.
func (e *Engine) removeMachineCgroup(pod string) error {
	deadline := time.Now().Add(5 * time.Second)
	for {
		err := cgroup.Remove(e.machineCgroup(pod))
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // The kernel does not tell when a cgroup is empty.
	}
}

// inMachine makes c's record and specification those of a container in a virtual machine.
func (e *Engine) inMachine(c *Container, s *specs.Spec) error {
	labels := map[string]string{labelMachine: c.Machine}
	maps.Copy(labels, c.Labels)
	c.Labels = labels
	// The shim has the rest already.
	annotations, err := machineAnnotations(c.Machine, vm.Spec{Dir: e.machineDir(c.Machine)})
	s.Annotations = annotations
	return err
}

// machineOf returns the machine that a container is in, "" if it is in none.
func (e *Engine) machineOf(ctx context.Context, id string) (string, error) {
	if e.opts.Machines == nil {
		return "", nil
	}
	record, err := e.client.ContainerService().Get(ctx, id)
	if err != nil {
		return "", fmt.Errorf("look at container %q: %w", id, err)
	}
	return record.Labels[labelMachine], nil
}

// DialMachine connects to a port of a machine's guest, on its loopback addresses.
func (e *Engine) DialMachine(ctx context.Context, id string, port uint16) (net.Conn, error) {
	if e.opts.Machines == nil {
		return nil, fmt.Errorf("there are no virtual machines on this node: %w", errdefs.ErrNotImplemented)
	}
	spec := vm.Spec{Dir: e.machineDir(id)}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", spec.PortSocket())
	if err != nil {
		return nil, fmt.Errorf("connect to machine %q: %w", id, err)
	}
	if err := link.Ask(conn, link.Request{Kind: link.Dial, Port: port}); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to port %d of machine %q: %w", port, id, err), conn.Close())
	}
	return conn, nil
}
