package cri

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// ComputeSystem is what the Host Compute Service of Windows shows of a container, or of a pod's sandbox.
type ComputeSystem struct {
	ID      string
	Started time.Time
	// Machine says that it is the virtual machine of a pod.
	Machine bool
}

// machineSuffix ends the id of a pod's virtual machine, as hcsshim has it
// (https://github.com/microsoft/hcsshim/blob/v0.15.0-rc.4/cmd/containerd-shim-runhcs-v1/pod.go).
const machineSuffix = "@vm"

// ComputeSystems returns the sandboxes of ready pods and the running containers, as far as the host sees them: the
// pods' kinds say which. Sandboxes come first.
func (s *Server) ComputeSystems() []ComputeSystem {
	running := map[string][]store.Container{}
	for _, c := range s.containers.List(isRunning) {
		running[c.SandboxID] = append(running[c.SandboxID], c)
	}

	var out, inPods []ComputeSystem
	for _, sb := range s.sandboxes.List(nil) {
		pod, containers := s.kindOf(sb.ID).systems(sb, running[sb.ID])
		out, inPods = append(out, pod...), append(inPods, containers...)
	}
	slices.SortFunc(inPods, func(a, b ComputeSystem) int { return strings.Compare(a.ID, b.ID) })
	return append(out, inPods...)
}

// ComputeUsage returns what one of the ComputeSystems uses. A sandbox without a pause container has no process and uses
// nothing; a virtual machine is measured on the node.
func (s *Server) ComputeUsage(ctx context.Context, id string) (engine.Usage, error) {
	id, machine := strings.CutSuffix(id, machineSuffix)
	if sb, err := s.sandboxes.Get(id); err == nil && !machine && sb.PauseImage == "" {
		return engine.Usage{At: time.Now()}, nil
	}
	usage, err := s.cfg.Engine.Usage(ctx, id)
	if err != nil {
		return engine.Usage{}, fmt.Errorf("measure container %q: %w", id, err)
	}
	return usage, nil
}

// ComputeTraffic counts what went through the network interfaces of one of the ComputeSystems. They are the sandbox's:
// a container and a virtual machine have none of their own.
func (s *Server) ComputeTraffic(ctx context.Context, id string) NetworkStats {
	sb, err := s.sandboxes.Get(id)
	if err != nil {
		return NetworkStats{}
	}
	return s.traffic(ctx, sb)
}

// JobObject returns the limits of the job object that Windows has for one of the ComputeSystems. A sandbox, also one
// with a pause container, has none.
func (s *Server) JobObject(id string) (jobobject.Limits, error) {
	if _, err := s.sandboxes.Get(id); err == nil {
		return s.jobLimits(nil), nil
	}
	c, err := s.containers.Get(id)
	if err != nil {
		return jobobject.Limits{}, fmt.Errorf("find job object of container: %w", err)
	}
	return s.jobLimits(c.Config.GetWindows().GetResources()), nil
}
