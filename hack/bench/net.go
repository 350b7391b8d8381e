package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// benchmarks are a run's results: benchmark and unit to the value.
type benchmarks map[[2]string]float64

// network measures the host's data plane by its own benchmarks, in namespaces of their own. Each run goes through all of
// them, so that what is compared is measured under the same load.
func (b *bench) network(ctx context.Context) ([]figure, error) {
	program := filepath.Join(filepath.Dir(b.data), "dataplane.test")
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-tags", "kernel", "-c", "-o", program, "mullion.dev/mullion/internal/dataplane")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the data plane's benchmarks: %w\n%s", err, out)
	}
	throughput := figure{what: "TCP throughput pod to pod, of a bare veth pair's", asked: "≥ 0.9", unit: "×"}
	change := figure{what: "one change among 5,000 load balancers with 20,000 backends", asked: "≤ 20 ms", unit: "ms"}
	look := figure{what: "looking for differences at 5,000 load balancers", unit: "ms"}
	services := []string{"10", "1000", "5000"}
	through, latency := make([]figure, len(services)), make([]figure, len(services))
	for i, n := range services {
		through[i] = figure{what: "TCP throughput through one ClusterIP of " + n + ", of pod to pod's", asked: "≥ 0.9", unit: "×"}
		latency[i] = figure{what: "added to a new connection by one ClusterIP of " + n, asked: "≤ 50 µs", unit: "µs"}
	}
	for range b.runs {
		got, err := runBenchmarks(ctx, program)
		if err != nil {
			return nil, err
		}
		pod, podConnect := got[[2]string{"Throughput/pod", "MB/s"}], got[[2]string{"Connect/pod", "median-µs"}]
		throughput.values = append(throughput.values, pod/got[[2]string{"Throughput/veth", "MB/s"}])
		for i, n := range services {
			through[i].values = append(through[i].values, got[[2]string{"Throughput/clusterip-of-" + n, "MB/s"}]/pod)
			latency[i].values = append(latency[i].values, got[[2]string{"Connect/clusterip-of-" + n, "median-µs"}]-podConnect)
		}
		change.values = append(change.values, got[[2]string{"Change/of-5000", "median-µs"}]/1000)
		look.values = append(look.values, got[[2]string{"Differences", "ns/op"}]/1e6)
	}
	figures := append([]figure{throughput}, through...)
	return append(append(figures, latency...), change, look), nil
}

var (
	benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	valueUnit     = regexp.MustCompile(`(\S+) (\S+)`)
)

func runBenchmarks(ctx context.Context, program string) (benchmarks, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", ".")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run the data plane's benchmarks: %w\n%s%s", err, out, errs.String())
	}
	got := benchmarks{}
	for _, line := range benchmarkLine.FindAllStringSubmatch(string(out), -1) {
		for _, v := range valueUnit.FindAllStringSubmatch(line[2], -1) {
			if x, err := strconv.ParseFloat(v[1], 64); err == nil {
				got[[2]string{line[1], v[2]}] = x
			}
		}
	}
	return got, nil
}
