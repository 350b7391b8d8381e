package cri

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// PodSandboxStats returns what a pod uses.
func (s *Server) PodSandboxStats(ctx context.Context,
	req *runtimeapi.PodSandboxStatsRequest,
) (*runtimeapi.PodSandboxStatsResponse, error) {
	sb, err := s.sandboxes.Get(req.GetPodSandboxId())
	if err != nil {
		return nil, fmt.Errorf("get stats of sandbox: %w", err)
	}
	return &runtimeapi.PodSandboxStatsResponse{Stats: s.sandboxStats(ctx, sb)}, nil
}

// ListPodSandboxStats returns what pods use.
func (s *Server) ListPodSandboxStats(ctx context.Context,
	req *runtimeapi.ListPodSandboxStatsRequest,
) (*runtimeapi.ListPodSandboxStatsResponse, error) {
	return &runtimeapi.ListPodSandboxStatsResponse{Stats: s.listSandboxStats(ctx, req.GetFilter())}, nil
}

// StreamPodSandboxStats is ListPodSandboxStats for nodes with very many pods.
func (s *Server) StreamPodSandboxStats(req *runtimeapi.StreamPodSandboxStatsRequest,
	out runtimeapi.RuntimeService_StreamPodSandboxStatsServer,
) error {
	return inBatches(s.listSandboxStats(out.Context(), req.GetFilter()),
		func(batch []*runtimeapi.PodSandboxStats) error {
			return out.Send(&runtimeapi.StreamPodSandboxStatsResponse{PodSandboxStats: batch})
		})
}

func (s *Server) listSandboxStats(ctx context.Context,
	f *runtimeapi.PodSandboxStatsFilter,
) []*runtimeapi.PodSandboxStats {
	var out []*runtimeapi.PodSandboxStats
	for _, sb := range s.readySandboxes() {
		if strings.HasPrefix(sb.ID, f.GetId()) && matches(f.GetLabelSelector(), sb.Config.GetLabels()) {
			out = append(out, s.sandboxStats(ctx, sb))
		}
	}
	return out
}

func (s *Server) readySandboxes() []store.Sandbox {
	return s.sandboxes.List(
		func(sb store.Sandbox) bool { return sb.State() == runtimeapi.PodSandboxState_SANDBOX_READY })
}

// sandboxStats sums up the containers, and the pause container. What cannot be measured at the moment is left out.
func (s *Server) sandboxStats(ctx context.Context, sb store.Sandbox) *runtimeapi.PodSandboxStats {
	at := time.Now().UnixNano()
	w := &runtimeapi.WindowsPodSandboxStats{}
	pause := s.measurePause(ctx, sb)
	cpu, cores := uint64(pause.CPU), pause.nanoCores
	set, commit := pause.WorkingSet, pause.Commit
	faults, processes := pause.PageFaults, pause.Processes
	for _, c := range s.containersOf(sb.ID) {
		if !isRunning(c) {
			continue
		}
		m, err := s.measure(ctx, c)
		if err != nil {
			s.log.Debug("container not measured", "container", c.ID, "error", err)
			continue
		}

		w.Containers = append(w.Containers, m.windows())
		cpu, cores = cpu+uint64(m.CPU), cores+m.nanoCores
		set, commit = set+m.WorkingSet, commit+m.Commit
		faults, processes = faults+m.PageFaults, processes+m.Processes
	}

	w.Cpu = &runtimeapi.WindowsCpuUsage{
		Timestamp:            at,
		UsageCoreNanoSeconds: number(cpu),
		UsageNanoCores:       number(cores),
	}

	w.Memory = &runtimeapi.WindowsMemoryUsage{
		Timestamp:         at,
		WorkingSetBytes:   number(set),
		CommitMemoryBytes: number(commit),
		PageFaults:        number(faults),
	}
	w.Process = &runtimeapi.WindowsProcessUsage{Timestamp: at, ProcessCount: number(processes)}
	w.Network = s.networkUsage(ctx, sb)

	return &runtimeapi.PodSandboxStats{
		Attributes: &runtimeapi.PodSandboxAttributes{
			Id:          sb.ID,
			Metadata:    sb.Config.GetMetadata(),
			Labels:      sb.Config.GetLabels(),
			Annotations: sb.Config.GetAnnotations(),
		},
		Windows: w,
	}
}

// errNoEndpoint says that a pod has no endpoint of its own.
var errNoEndpoint = errors.New("the pod has no endpoint of its own")

// traffic counts what went through a pod's interfaces. It has no time where there are none, or they cannot be counted
// at the moment.
func (s *Server) traffic(ctx context.Context, sb store.Sandbox) NetworkStats {
	stats, err := s.kindOf(sb.ID).network().Stats(ctx, podOf(sb))
	if err == nil {
		return stats
	}
	if !errors.Is(err, errNoEndpoint) {
		s.log.Debug("network of pod not measured", "sandbox", sb.ID, "error", err)
	}
	return NetworkStats{}
}

func (s *Server) networkUsage(ctx context.Context, sb store.Sandbox) *runtimeapi.WindowsNetworkUsage {
	stats := s.traffic(ctx, sb)
	if stats.At.IsZero() {
		return nil // as containerd
	}

	usage := &runtimeapi.WindowsNetworkUsage{Timestamp: stats.At.UnixNano()}
	for i, n := range stats.Interfaces {
		item := &runtimeapi.WindowsNetworkInterfaceUsage{
			Name:             n.Name,
			RxBytes:          number(n.RxBytes),
			TxBytes:          number(n.TxBytes),
			RxPacketsDropped: number(n.RxDropped),
			TxPacketsDropped: number(n.TxDropped),
		}

		if i == 0 {
			usage.DefaultInterface = item
		}
		usage.Interfaces = append(usage.Interfaces, item)
	}

	return usage
}
