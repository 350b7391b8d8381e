package cri

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
)

// metric is one metric of a container, named as cAdvisor names it
// (https://github.com/google/cadvisor/blob/v0.52.1/docs/storage/prometheus.md).
type metric struct {
	name, help string
	kind       runtimeapi.MetricType
	value      func(measurement) uint64
}

func containerMetrics() []metric {
	counter, gauge := runtimeapi.MetricType_COUNTER, runtimeapi.MetricType_GAUGE
	return []metric{
		{
			"container_cpu_usage_seconds_total", "Cumulative CPU time consumed in seconds.", counter,
			func(m measurement) uint64 { return uint64(m.CPU / time.Second) },
		},
		{
			"container_memory_working_set_bytes", "Current working set in bytes.", gauge,
			func(m measurement) uint64 { return m.WorkingSet },
		},
		{
			"container_memory_usage_bytes", "Current committed memory in bytes.", gauge,
			func(m measurement) uint64 { return m.Commit },
		},
		{
			"container_memory_failures_total", "Cumulative count of page faults.", counter,
			func(m measurement) uint64 { return m.PageFaults },
		},
		{
			"container_fs_usage_bytes", "Bytes of the writable layer.", gauge,
			func(m measurement) uint64 { return m.disk },
		},
		{
			"container_processes", "Number of processes inside the container.", gauge,
			func(m measurement) uint64 { return m.Processes },
		},
		{
			"container_start_time_seconds", "Start time of the container since unix epoch in seconds.", gauge,
			func(m measurement) uint64 { return uint64(m.container.StartedAt.Unix()) },
		},
	}
}

// metricLabels returns the labels of every metric.
func metricLabels() []string { return []string{"container", "id", "image", "namespace", "pod"} }

// ListMetricDescriptors describes what ListPodSandboxMetrics tells.
func (s *Server) ListMetricDescriptors(context.Context,
	*runtimeapi.ListMetricDescriptorsRequest,
) (*runtimeapi.ListMetricDescriptorsResponse, error) {
	resp := &runtimeapi.ListMetricDescriptorsResponse{}
	for _, m := range containerMetrics() {
		resp.Descriptors = append(resp.Descriptors, &runtimeapi.MetricDescriptor{
			Name:      m.name,
			Help:      m.help,
			LabelKeys: metricLabels(),
		})
	}
	return resp, nil
}

// ListPodSandboxMetrics returns the metrics of the containers of running pods.
func (s *Server) ListPodSandboxMetrics(ctx context.Context,
	_ *runtimeapi.ListPodSandboxMetricsRequest,
) (*runtimeapi.ListPodSandboxMetricsResponse, error) {
	return &runtimeapi.ListPodSandboxMetricsResponse{PodMetrics: s.listMetrics(ctx)}, nil
}

// StreamPodSandboxMetrics is ListPodSandboxMetrics for nodes with very many pods.
func (s *Server) StreamPodSandboxMetrics(_ *runtimeapi.StreamPodSandboxMetricsRequest,
	out runtimeapi.RuntimeService_StreamPodSandboxMetricsServer,
) error {
	return inBatches(s.listMetrics(out.Context()), func(batch []*runtimeapi.PodSandboxMetrics) error {
		return out.Send(&runtimeapi.StreamPodSandboxMetricsResponse{PodSandboxMetrics: batch})
	})
}

func (s *Server) listMetrics(ctx context.Context) []*runtimeapi.PodSandboxMetrics {
	var out []*runtimeapi.PodSandboxMetrics
	for _, sb := range s.readySandboxes() {
		pod := &runtimeapi.PodSandboxMetrics{PodSandboxId: sb.ID}
		for _, c := range s.containersOf(sb.ID) {
			if !isRunning(c) {
				continue
			}
			if m, err := s.measure(ctx, c); err == nil {
				pod.ContainerMetrics = append(pod.ContainerMetrics, metricsOf(sb, c, m))
			}
		}

		out = append(out, pod)
	}

	return out
}

func metricsOf(sb store.Sandbox, c store.Container, m measurement) *runtimeapi.ContainerMetrics {
	meta := sb.Config.GetMetadata()
	labels := []string{c.Config.GetMetadata().GetName(), c.ID, c.ImageName, meta.GetNamespace(), meta.GetName()}
	out := &runtimeapi.ContainerMetrics{ContainerId: c.ID}
	for _, d := range containerMetrics() {
		out.Metrics = append(out.Metrics, &runtimeapi.Metric{
			Name:        d.name,
			Timestamp:   m.at.UnixNano(),
			MetricType:  d.kind,
			LabelValues: labels,
			Value:       number(d.value(m)),
		})
	}
	return out
}
