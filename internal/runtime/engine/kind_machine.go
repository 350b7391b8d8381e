package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
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
	"mullion.dev/mullion/internal/runtime/userns"
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

// shim returns the name of containerd's runtime that runs the machines and what is in them: a program.
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

// InMachine makes a container run in a virtual machine, whose network namespace is the container's.
type InMachine struct {
	// ID is the machine's.
	ID string
}

func (m InMachine) in(e *Engine) kind { return machine{process{e}, m.ID} }

// machine is the kind of container that runs in the virtual machine of an id.
type machine struct {
	process
	id string
}

// labelMachine of a container names the machine that it is in.
const labelMachine = "mullion.dev/machine"

// machineTrace finds a container in a machine by its label.
func (e *Engine) machineTrace() trace {
	return trace{
		find: func(ctx context.Context, id string) (kind, error) {
			if e.opts.Machines == nil {
				return nil, nil
			}
			record, err := e.client.ContainerService().Get(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("look at container %q: %w", id, err)
			}

			if of := record.Labels[labelMachine]; of != "" {
				return machine{process{e}, of}, nil
			}
			return nil, nil
		},
		removePod: e.removeMachineCgroup,
	}
}

// memoryMounts are none: a machine has a memory of its own.
func (machine) memoryMounts() []BindMount { return nil }

// finish labels the container's record, and tells the shim whose the container is. The shim has the rest already.
func (m machine) finish(c *Container, s *specs.Spec) (runtime string, err error) {
	if _, err := m.process.finish(c, s); err != nil {
		return "", err
	}
	c.addLabels(map[string]string{labelMachine: m.id})
	s.Annotations, err = machineAnnotations(m.id, vm.Spec{Dir: m.e.machineDir(m.id)})
	return m.e.opts.Machines.shim(), err
}

// ids returns the ids that are on disk: a machine has a kernel of its own.
func (m machine) ids(Container) IDRange { return m.e.opts.IDs }

// limit sets none: the container is in another kernel.
func (machine) limit(context.Context, string, uint32) error { return nil }

func (machine) limitsChanged(context.Context, string) error { return nil }

// killExec has the guest find the processes.
func (m machine) killExec(ctx context.Context, id, exec string) (int, error) {
	_, err := m.e.client.TaskService().Kill(ctx, &tasksapi.KillRequest{
		ContainerID: id, ExecID: exec, Signal: uint32(unix.SIGKILL), All: true,
	})
	if err = errgrpc.ToNative(err); errdefs.IsNotFound(err) {
		return 0, nil
	}
	return 0, err
}

// boots is what is found out once about the machine's virtual machines.
type boots struct {
	mu          sync.Mutex
	accelerator qemu.Accelerator
	parts       qemu.Parts
	initrd      string
}

// machineUser is whom a machine runs as. Each has two users of its own: the files of a process in /proc, its memory
// among them, are open to others of the same user, in whatever namespaces they are.
func (e *Engine) machineUser(id string) qemu.User {
	ids := e.opts.IDs
	name := fnv.New32a()
	_, _ = name.Write([]byte(id)) // never fails
	// Odd: no program in a container has such a one (UserMask).
	return qemu.User{
		ID:    userns.Machines().Base + userns.MachineUsers*(name.Sum32()%userns.MachinePairs),
		Files: ids.Base,
		Size:  ids.Size,
	}
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
	e.boots.parts = parts
	e.boots.accelerator = accelerator
	e.boots.initrd = initrd

	return nil
}

// machineDir returns the folder of a machine. Its name is cut because the path of a socket has 108 bytes at most.
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
