package cri

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"runtime"
	"strconv"

	"github.com/containerd/errdefs"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// IsolationAnnotation of a pod, with the value "process", has a pod that asks for Hyper-V isolation run in process
// isolation.
const IsolationAnnotation = "mullion.dev/isolation"

// hypervisorHandler is containerd's runtime handler of Hyper-V isolation on Windows
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/config/config_windows.go).
const hypervisorHandler = "runhcs-wcow-hypervisor"

// experimentAnnotation of a pod, with the value "hyperv", asks for the runtime handler of Hyper-V isolation. It
// belonged to Kubernetes' experiment with Docker, until 1.21
// (https://kubernetes.io/docs/reference/labels-annotations-taints/#experimental-windows-kubernetes-io-isolation-type).
const experimentAnnotation = "experimental.windows.kubernetes.io/isolation-type"

// Annotations of a pod with Hyper-V isolation for the size of its virtual machine, and what it is without them; names
// and sizes are hcsshim's (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/pkg/annotations/annotations.go,
// internal/uvm/create.go).
const (
	processorsAnnotation = "io.microsoft.virtualmachine.computetopology.processor.count"
	memoryAnnotation     = "io.microsoft.virtualmachine.computetopology.memory.sizeinmb"

	defaultProcessors = 2
	defaultMemory     = 1024 // MB
	// leastMemory is what a guest's kernel and one Windows program need, in MB.
	leastMemory = 256
	// mostMemory is more than any machine has, in MB.
	mostMemory = 1 << 24
)

// Machines is the part of an engine that makes virtual machines. They are removed, waited for and measured as
// containers are.
type Machines interface {
	// MachinesReady returns nil if virtual machines can be started, else why not.
	MachinesReady(ctx context.Context) error
	// StartMachine returns when containers can be made in the machine. If it returns an error, nothing is left behind.
	StartMachine(ctx context.Context, m engine.Machine) error
	// DialMachine connects to a port of a machine's loopback addresses.
	DialMachine(ctx context.Context, id string, port uint16) (net.Conn, error)
}

// machine is the kind of pod that has a virtual machine for itself: Hyper-V isolation. Its containers are like ordinary
// ones, on the guest's kernel.
type machine struct{ process }

// machineOf returns the kind of a pod that asks for a virtual machine, else nil.
func machineOf(s *Server, sb store.Sandbox) kind {
	if sb.Handler == hypervisorHandler && sb.Config.GetAnnotations()[IsolationAnnotation] != "process" {
		return machine{process{s}}
	}
	return nil
}

// check refuses a pod that would get less isolation than it asks for. The first words are Windows' own, of
// STATUS_HV_NOT_PRESENT (https://learn.microsoft.com/openspecs/windows_protocols/ms-erref), which a Windows Server
// without Hyper-V says of such a container.
func (m machine) check(ctx context.Context, sb store.Sandbox) error {
	if asked := sb.Config.GetAnnotations()[IsolationAnnotation]; asked != "" {
		return fmt.Errorf("annotation %s is %q; it can be process: %w", IsolationAnnotation, asked, errdefs.ErrInvalidArgument)
	}
	if other := hostProcessOf(m.s, sb); other != nil {
		return cmp.Or(other.check(ctx, sb),
			fmt.Errorf("a HostProcess pod runs in the host, not in a virtual machine: %w", errdefs.ErrInvalidArgument))
	}

	if _, _, err := machineSize(sb.Config.PodSandboxConfig); err != nil {
		return err
	}
	if err := m.s.cfg.Engine.MachinesReady(ctx); err != nil {
		return fmt.Errorf("no hypervisor is present on this system (0xc0351000): %w; to run the pod in process isolation, "+
			"with the machine's kernel, give it the annotation %s: process", err, IsolationAnnotation)
	}
	return nil
}

// handlerOf returns the runtime handler that a pod asks for, by its RuntimeClass or by the annotation of the
// experiment.
func handlerOf(req *runtimeapi.RunPodSandboxRequest) string {
	if handler := req.GetRuntimeHandler(); handler != "" {
		return handler
	}
	if req.GetConfig().GetAnnotations()[experimentAnnotation] == "hyperv" {
		return hypervisorHandler
	}
	return ""
}

// machineSize returns the processors of a pod's virtual machine, and its memory in bytes.
func machineSize(config *runtimeapi.PodSandboxConfig) (cpus, memory int64, err error) {
	cpus, err = sizeOf(config, processorsAnnotation, min(defaultProcessors, int64(runtime.NumCPU())), 1,
		int64(runtime.NumCPU()))
	if err != nil {
		return 0, 0, err
	}
	memory, err = sizeOf(config, memoryAnnotation, defaultMemory, leastMemory, mostMemory)
	return cpus, memory << 20, err
}

func sizeOf(config *runtimeapi.PodSandboxConfig, annotation string, without, least, most int64) (int64, error) {
	text, there := config.GetAnnotations()[annotation]
	if !there {
		return without, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fmt.Errorf("annotation %s is %q; it can be a number from %d to %d: %w", annotation, text, least, most,
			errdefs.ErrInvalidArgument)
	}
	return n, nil
}

// start boots the pod's virtual machine.
func (m machine) start(ctx context.Context, sb store.Sandbox) error {
	cpus, memory, err := machineSize(sb.Config.PodSandboxConfig)
	if err != nil {
		return err
	}
	return m.s.cfg.Engine.StartMachine(ctx, engine.Machine{
		ID:       sb.ID,
		Labels:   map[string]string{labelNode: m.s.cfg.Node, labelSandbox: sb.ID},
		NetNS:    sb.NetNS,
		Hostname: hostName(sb),
		CPUs:     cpus,
		Memory:   memory,
	})
}

// watch stops the pod when its virtual machine ends: a machine does not start again, so the kubelet has to make the pod
// anew.
func (m machine) watch(sb store.Sandbox) { m.s.watchFor(sb, "virtual machine") }

// watchFor stops a pod when what the engine has under the sandbox's id ends by itself. what is its name in the log.
func (s *Server) watchFor(sb store.Sandbox, what string) {
	s.watchers.Go(func() {
		ctx := s.life()
		_, err := s.cfg.Engine.Wait(ctx, sb.ID)
		if ctx.Err() != nil {
			return // The next server watches again.
		}

		// Whoever stops the pod has ended it, and says so before the pod's lock is free.
		unlock := s.locks.lock(sb.ID)
		current, getErr := s.sandboxes.Get(sb.ID)
		unlock()
		if getErr != nil || !current.StoppedAt.IsZero() {
			return
		}

		s.log.Warn("stopping a pod of which a part has ended", "part", what, "sandbox", sb.ID, "error", err)
		if err := s.stopSandbox(ctx, sb); err != nil {
			s.log.Error("pod not stopped of which a part has ended", "part", what, "sandbox", sb.ID, "error", err)
		}
	})
}

// stop ends and removes the pod's virtual machine.
func (m machine) stop(ctx context.Context, sb store.Sandbox) error {
	if err := m.s.cfg.Engine.Remove(ctx, sb.ID); err != nil {
		return fmt.Errorf("remove virtual machine: %w", err)
	}
	return nil
}

func (m machine) dial(ctx context.Context, sb store.Sandbox, port uint16) (net.Conn, error) {
	return m.s.cfg.Engine.DialMachine(ctx, sb.ID, port)
}

// systems has the virtual machine: what runs in there the host does not see.
func (machine) systems(sb store.Sandbox, _ []store.Container) (pod, containers []ComputeSystem) {
	if sb.State() != runtimeapi.PodSandboxState_SANDBOX_READY {
		return nil, nil
	}
	return []ComputeSystem{{ID: sb.ID + machineSuffix, Started: sb.CreatedAt, Machine: true}}, nil
}

// complete has the container made in the virtual machine.
func (m machine) complete(sb store.Sandbox, c *store.Container, spec *engine.Container) error {
	spec.Kind = engine.InMachine{ID: sb.ID}
	return m.process.complete(sb, c, spec)
}

// admit refuses what a container in a virtual machine would not get.
func (machine) admit(sb store.Sandbox, config *runtimeapi.ContainerConfig) error {
	if len(pipesOf(config)) > 0 {
		return fmt.Errorf("a pod with Hyper-V isolation cannot mount named pipes of the host: %w", errdefs.ErrNotImplemented)
	}
	if config.GetWindows().GetSecurityContext().GetCredentialSpec() != "" {
		return fmt.Errorf("a pod with Hyper-V isolation cannot have a credential spec: %w", errdefs.ErrNotImplemented)
	}
	return checkFits(sb, config.GetWindows().GetResources())
}

func checkFits(sb store.Sandbox, r *runtimeapi.WindowsContainerResources) error {
	if len(r.GetAffinityCpus()) > 0 {
		return fmt.Errorf("a container in a virtual machine cannot be bound to processors of the node: %w",
			errdefs.ErrNotImplemented)
	}
	_, memory, err := machineSize(sb.Config.PodSandboxConfig)
	if limit := r.GetMemoryLimitInBytes(); err == nil && limit > memory {
		return fmt.Errorf("the memory limit of %d MB is more than the pod's virtual machine has, which is %d MB; "+
			"the pod's annotation %s changes that: %w", limit>>20, memory>>20, memoryAnnotation, errdefs.ErrInvalidArgument)
	}
	return err
}
