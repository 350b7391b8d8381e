package cri_test

import (
	"errors"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// usage returns what a container uses seconds after its start: half a processor.
func usage(seconds int) engine.Usage {
	at := time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC)
	return engine.Usage{
		At:         at,
		CPU:        time.Duration(seconds) * time.Second / 2,
		WorkingSet: 3000,
		Commit:     4000,
		PageFaults: 5,
		Processes:  6,
	}
}

func limited(c *containerConfig) {
	c.Windows.Resources = &runtimeapi.WindowsContainerResources{MemoryLimitInBytes: 10000}
}

func TestContainerStats(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Run(t, pod, "app", limited)
	get := func() (*runtimeapi.ContainerStats, error) {
		resp, err := n.ContainerStats(t.Context(), &runtimeapi.ContainerStatsRequest{ContainerId: id})
		return resp.GetStats(), err
	}

	// Of two samples less than half a second apart no rate can be told, so the last one stays.
	short := usage(10)
	short.At = short.At.Add(400 * time.Millisecond)
	for i, tc := range []struct {
		usage     engine.Usage
		nanoCores uint64
	}{{usage(0), 0}, {usage(10), 5e8}, {short, 5e8}, {usage(30), 5e8}} {
		n.Engine.SetUsage(id, tc.usage)
		stats, err := get()
		if err != nil {
			t.Fatal(err)
		}
		if got := stats.GetCpu().GetUsageNanoCores().GetValue(); got != tc.nanoCores {
			t.Errorf("sample %d: %d nanocores, want %d", i, got, tc.nanoCores)
		}
	}

	stats, err := get()
	if err != nil {
		t.Fatal(err)
	}

	got := map[string]uint64{
		"cpu":         stats.GetCpu().GetUsageCoreNanoSeconds().GetValue(),
		"working set": stats.GetMemory().GetWorkingSetBytes().GetValue(),
		"commit":      stats.GetMemory().GetUsageBytes().GetValue(),
		"available":   stats.GetMemory().GetAvailableBytes().GetValue(),
		"faults":      stats.GetMemory().GetPageFaults().GetValue(),
		"disk":        stats.GetWritableLayer().GetUsedBytes().GetValue(),
	}

	want := map[string]uint64{
		"cpu": 15e9, "working set": 3000, "commit": 4000, "available": 0, "faults": 5, "disk": 4096,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}

	n.Calls.Fail("Engine.Usage", errors.New("no cgroup"))
	_, err = get()
	expect(t, err, codes.Unknown, "get stats of container", "no cgroup")
	n.Calls.Reset()
	// A container that has ended uses disk, and nothing else.
	if err := stopContainer(t, n, id, 0); err != nil {
		t.Fatal(err)
	}

	if stats, err = get(); err != nil || stats.GetCpu().GetUsageCoreNanoSeconds().GetValue() != 0 ||
		stats.GetWritableLayer().GetUsedBytes().GetValue() != 4096 {
		t.Errorf("stats of a container that has ended: %v, %v", stats, err)
	}
	_, err = n.ContainerStats(t.Context(), &runtimeapi.ContainerStatsRequest{ContainerId: "0123"})
	expect(t, err, codes.NotFound)
}

func TestListContainerStats(t *testing.T) {
	n := critest.NewNode(t)
	web, db := n.RunPod(t, "web"), n.RunPod(t, "db")
	app := n.Run(t, web, "app")
	n.Create(t, web, "new")
	gone := n.Run(t, web, "gone")
	n.Run(t, db, "db")
	n.Engine.Lose(gone) // It ends during the call: it is left out without an error.
	for _, tc := range []struct {
		name   string
		filter *runtimeapi.ContainerStatsFilter
		want   []string
	}{
		{"no-filter", nil, []string{"app", "db"}},
		{"pod", &runtimeapi.ContainerStatsFilter{PodSandboxId: web}, []string{"app"}},
		{"id", &runtimeapi.ContainerStatsFilter{Id: app[:12]}, []string{"app"}},
		{
			"label", &runtimeapi.ContainerStatsFilter{LabelSelector: map[string]string{"container": "db"}},
			[]string{"db"},
		},
		{"nothing", &runtimeapi.ContainerStatsFilter{Id: app, PodSandboxId: db}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var list, streamed []string
			resp, err := n.ListContainerStats(t.Context(), &runtimeapi.ListContainerStatsRequest{Filter: tc.filter})
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range resp.GetStats() {
				list = append(list, s.GetAttributes().GetMetadata().GetName())
			}

			stream, err := n.StreamContainerStats(t.Context(),
				&runtimeapi.StreamContainerStatsRequest{Filter: tc.filter})
			if err != nil {
				t.Fatal(err)
			}

			for m, err := stream.Recv(); !errors.Is(err, io.EOF); m, err = stream.Recv() {
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range m.GetContainerStats() {
					streamed = append(streamed, s.GetAttributes().GetMetadata().GetName())
				}
			}

			for _, got := range [][]string{list, streamed} {
				slices.Sort(got)
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("containers (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestPodSandboxStats(t *testing.T) {
	n := critest.NewNode(t)
	pod, old := n.RunPod(t, "web"), n.RunPod(t, "old")
	stop(t, n, old)
	for _, id := range []string{n.Run(t, pod, "first", limited), n.Run(t, pod, "second", limited)} {
		n.Engine.SetUsage(id, usage(10))
	}

	n.Create(t, pod, "new")
	resp, err := n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod})
	if err != nil {
		t.Fatal(err)
	}

	w := resp.GetStats().GetWindows()
	got := map[string]uint64{
		"containers":  uint64(len(w.GetContainers())),
		"cpu":         w.GetCpu().GetUsageCoreNanoSeconds().GetValue(),
		"working set": w.GetMemory().GetWorkingSetBytes().GetValue(),
		"commit":      w.GetMemory().GetCommitMemoryBytes().GetValue(),
		"available":   w.GetMemory().GetAvailableBytes().GetValue(),
		"processes":   w.GetProcess().GetProcessCount().GetValue(),
		"received":    w.GetNetwork().GetDefaultInterface().GetRxBytes().GetValue(),
		"interfaces":  uint64(len(w.GetNetwork().GetInterfaces())),
	}

	want := map[string]uint64{
		"containers": 2, "cpu": 10e9, "working set": 6000, "commit": 8000, "available": 0, "processes": 12,
		"received": 11, "interfaces": 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stats (-want +got):\n%s", diff)
	}

	// What cannot be measured is left out; the rest is told.
	n.Calls.Fail("Network.Stats", errors.New("no namespace"))
	list, err := n.ListPodSandboxStats(t.Context(), &runtimeapi.ListPodSandboxStatsRequest{})
	if err != nil || len(list.GetStats()) != 1 || list.GetStats()[0].GetWindows().GetNetwork() != nil ||
		len(list.GetStats()[0].GetWindows().GetContainers()) != 2 {
		t.Errorf("stats of the running pods: %v, %v", list, err)
	}
	_, err = n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: "0123"})
	expect(t, err, codes.NotFound)
}

// TestPodSandboxMetrics: each metric has a descriptor with its labels.
func TestPodSandboxMetrics(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Run(t, pod, "app")
	n.Engine.SetUsage(id, usage(10))
	described, err := n.ListMetricDescriptors(t.Context(), &runtimeapi.ListMetricDescriptorsRequest{})
	if err != nil {
		t.Fatal(err)
	}

	var names []string
	for _, d := range described.GetDescriptors() {
		names = append(names, d.GetName())
		want := []string{"container", "id", "image", "namespace", "pod"}
		if diff := cmp.Diff(want, d.GetLabelKeys()); diff != "" || d.GetHelp() == "" {
			t.Errorf("descriptor %v: labels (-want +got):\n%s", d, diff)
		}
	}

	resp, err := n.ListPodSandboxMetrics(t.Context(), &runtimeapi.ListPodSandboxMetricsRequest{})
	if err != nil || len(resp.GetPodMetrics()) != 1 || len(resp.GetPodMetrics()[0].GetContainerMetrics()) != 1 {
		t.Fatalf("metrics: %v, %v", resp, err)
	}

	var got []string
	for _, m := range resp.GetPodMetrics()[0].GetContainerMetrics()[0].GetMetrics() {
		got = append(got, m.GetName())
		if diff := cmp.Diff([]string{"app", id, critest.AppImage, "default", "web"}, m.GetLabelValues()); diff != "" {
			t.Errorf("labels of %s (-want +got):\n%s", m.GetName(), diff)
		}
		if m.GetName() == "container_cpu_usage_seconds_total" && m.GetValue().GetValue() != 5 {
			t.Errorf("processor time: %v", m)
		}
	}

	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("metrics (-described +got):\n%s", diff)
	}
}
