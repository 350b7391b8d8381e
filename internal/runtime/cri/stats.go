package cri

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
)

// ContainerStats returns what one container uses.
func (s *Server) ContainerStats(ctx context.Context,
	req *runtimeapi.ContainerStatsRequest,
) (*runtimeapi.ContainerStatsResponse, error) {
	c, err := s.containers.Get(req.GetContainerId())
	if err != nil {
		return nil, fmt.Errorf("get stats of container: %w", err)
	}
	m, err := s.measure(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("get stats of container %q: %w", c.ID, err)
	}
	return &runtimeapi.ContainerStatsResponse{Stats: m.stats()}, nil
}

// ListContainerStats returns what running containers use. One that ends meanwhile is left out.
func (s *Server) ListContainerStats(ctx context.Context,
	req *runtimeapi.ListContainerStatsRequest,
) (*runtimeapi.ListContainerStatsResponse, error) {
	return &runtimeapi.ListContainerStatsResponse{Stats: s.listContainerStats(ctx, req.GetFilter())}, nil
}

// StreamContainerStats is ListContainerStats for nodes with very many containers.
func (s *Server) StreamContainerStats(req *runtimeapi.StreamContainerStatsRequest,
	out runtimeapi.RuntimeService_StreamContainerStatsServer,
) error {
	return inBatches(s.listContainerStats(out.Context(), req.GetFilter()),
		func(batch []*runtimeapi.ContainerStats) error {
			return out.Send(&runtimeapi.StreamContainerStatsResponse{ContainerStats: batch})
		})
}

func (s *Server) listContainerStats(ctx context.Context,
	f *runtimeapi.ContainerStatsFilter,
) []*runtimeapi.ContainerStats {
	var out []*runtimeapi.ContainerStats
	for _, c := range s.containers.List(isRunning) {
		if !strings.HasPrefix(c.ID, f.GetId()) || !strings.HasPrefix(c.SandboxID, f.GetPodSandboxId()) ||
			!matches(f.GetLabelSelector(), c.Config.GetLabels()) {
			continue
		}
		m, err := s.measure(ctx, c)
		if err != nil {
			s.log.Debug("container not measured", "container", c.ID, "error", err)
			continue
		}

		out = append(out, m.stats())
	}

	return out
}

func isRunning(c store.Container) bool {
	return c.State() == runtimeapi.ContainerState_CONTAINER_RUNNING
}

// measurement is what one container uses.
type measurement struct {
	container store.Container
	engine.Usage
	nanoCores uint64 // of the last interval; 0 before there are two samples
	disk      uint64 // bytes
	inodes    uint64
	at        time.Time
}

// measure asks the engine. A container that does not run uses nothing but disk.
func (s *Server) measure(ctx context.Context, c store.Container) (measurement, error) {
	m := measurement{container: c, at: time.Now()}
	if isRunning(c) {
		usage, err := s.cfg.Engine.Usage(ctx, c.ID)
		if err != nil {
			return m, err
		}
		m.Usage = usage
		m.nanoCores = s.samples.nanoCores(c.ID, usage)
	}
	var err error
	m.disk, m.inodes, err = s.cfg.Engine.DiskUsage(ctx, c.ID)
	return m, err
}

func (m measurement) attributes() *runtimeapi.ContainerAttributes {
	c := m.container
	return &runtimeapi.ContainerAttributes{
		Id:          c.ID,
		Metadata:    c.Config.GetMetadata(),
		Labels:      c.Config.GetLabels(),
		Annotations: c.Config.GetAnnotations(),
	}
}

// stats returns the form for all platforms. The kubelet on Windows reads it too, unless it takes statistics from CRI
// alone. As from containerd on Windows, nothing says what is left of a limit: the kubelet there adds that up over all
// pods, takes the sum for what pods may still have of the node, and evicts
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/kubelet/server/stats/summary_sys_containers_windows.go).
func (m measurement) stats() *runtimeapi.ContainerStats {
	at := m.at.UnixNano()
	return &runtimeapi.ContainerStats{
		Attributes: m.attributes(),
		Cpu: &runtimeapi.CpuUsage{
			Timestamp:            at,
			UsageCoreNanoSeconds: number(uint64(m.CPU)),
			UsageNanoCores:       number(m.nanoCores),
		},
		Memory: &runtimeapi.MemoryUsage{
			Timestamp:       at,
			WorkingSetBytes: number(m.WorkingSet),
			UsageBytes:      number(m.Commit),
			RssBytes:        number(m.Commit),
			PageFaults:      number(m.PageFaults),
			MajorPageFaults: number(0),
		},
		WritableLayer: &runtimeapi.FilesystemUsage{
			Timestamp:  at,
			FsId:       fsID(),
			UsedBytes:  number(m.disk),
			InodesUsed: number(m.inodes),
		},
	}
}

// windows returns the form for Windows nodes.
func (m measurement) windows() *runtimeapi.WindowsContainerStats {
	at := m.at.UnixNano()
	return &runtimeapi.WindowsContainerStats{
		Attributes: m.attributes(),
		Cpu: &runtimeapi.WindowsCpuUsage{
			Timestamp:            at,
			UsageCoreNanoSeconds: number(uint64(m.CPU)),
			UsageNanoCores:       number(m.nanoCores),
		},
		Memory: &runtimeapi.WindowsMemoryUsage{
			Timestamp:         at,
			WorkingSetBytes:   number(m.WorkingSet),
			PageFaults:        number(m.PageFaults),
			CommitMemoryBytes: number(m.Commit),
		},
		WritableLayer: &runtimeapi.WindowsFilesystemUsage{
			Timestamp: at,
			FsId:      fsID(),
			UsedBytes: number(m.disk),
		},
	}
}

func fsID() *runtimeapi.FilesystemIdentifier {
	return &runtimeapi.FilesystemIdentifier{Mountpoint: hostDrive}
}

func number(n uint64) *runtimeapi.UInt64Value { return &runtimeapi.UInt64Value{Value: n} }

// sampler remembers the last sample of each container's CPU time, from which it computes the current use, and the
// containers in which the kernel has killed a process for lack of memory.
type sampler struct {
	mu   sync.Mutex
	last map[string]sample
	oom  map[string]bool
}

func (s *sampler) sawOutOfMemory(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.oom == nil {
		s.oom = map[string]bool{}
	}
	s.oom[id] = true
}

func (s *sampler) outOfMemory(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.oom[id]
}

type sample struct {
	usage     engine.Usage
	nanoCores uint64
}

// minInterval is the shortest time over which a rate is computed; sooner calls get the last rate.
const minInterval = 500 * time.Millisecond

func (s *sampler) nanoCores(id string, u engine.Usage) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string]sample{}
	}

	old, ok := s.last[id]
	interval := u.At.Sub(old.usage.At)
	switch {
	case !ok:
		s.last[id] = sample{usage: u}
		return 0
	case interval < minInterval || u.CPU < old.usage.CPU:
		return old.nanoCores
	}

	rate := uint64(float64(u.CPU-old.usage.CPU) / interval.Seconds())
	s.last[id] = sample{usage: u, nanoCores: rate}
	return rate
}

func (s *sampler) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.last, id)
	delete(s.oom, id)
}
