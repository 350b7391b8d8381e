package cri

import (
	"context"
	"fmt"
	"strings"
	"time"

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

// ComputeSystems returns the running containers and, as Windows has a container for each, the sandboxes of ready pods.
// A
// pod with Hyper-V isolation is its virtual machine: what runs in there the host does not see. HostProcess containers
// are not among them: on Windows they are jobs of the host.
func (s *Server) ComputeSystems() []ComputeSystem {
	var out []ComputeSystem
	inMachine := map[string]bool{}
	for _, sb := range s.readySandboxes() {
		switch inMachine[sb.ID] = isIsolated(sb); {
		case isIsolated(sb):
			out = append(out, ComputeSystem{ID: sb.ID + machineSuffix, Started: sb.CreatedAt, Machine: true})
		case !isHostProcess(sb):
			out = append(out, ComputeSystem{ID: sb.ID, Started: sb.CreatedAt})
		}
	}
	for _, c := range s.containers.List(isRunning) {
		if !c.HostProcess && !inMachine[c.SandboxID] {
			out = append(out, ComputeSystem{ID: c.ID, Started: c.StartedAt})
		}
	}
	return out
}

// ComputeUsage returns what one of the ComputeSystems uses. A sandbox, which has no process here, uses
// nothing; a virtual machine is measured on the node.
func (s *Server) ComputeUsage(ctx context.Context, id string) (engine.Usage, error) {
	id, machine := strings.CutSuffix(id, machineSuffix)
	if _, err := s.sandboxes.Get(id); err == nil && !machine {
		return engine.Usage{At: time.Now()}, nil
	}
	usage, err := s.cfg.Engine.Usage(ctx, id)
	if err != nil {
		return engine.Usage{}, fmt.Errorf("measure container %q: %w", id, err)
	}
	return usage, nil
}

// JobObject returns the limits of the job object that Windows has for one of the ComputeSystems. A sandbox, which has
// no process here, has none.
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
