package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
)

// benchmarks are the results of a run, by benchmark and unit.
type benchmarks map[[2]string]float64

// network runs the benchmarks of the hosts' data plane, in namespaces of their own. Each run makes all of them, so that
// what is compared is measured under the same load.
func (b *bench) network(ctx context.Context) ([]figure, error) {
	program := filepath.Join(filepath.Dir(b.data), "dataplane.test")
	build := exec.CommandContext(ctx, "go", "test", "-vet=off", "-tags", "kernel", "-c", "-o", program,
		"mullion.dev/mullion/internal/network/dataplane")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the data plane's benchmarks: %w\n%s", err, out)
	}

	throughput := figure{
		what:  "TCP throughput pod to pod, of a bare veth pair's",
		asked: "≥ 0.9",
		unit:  "×",
	}

	cost := figure{what: "processor time of a byte pod to pod, of a bare veth pair's", unit: "×"}
	change := figure{
		what:  "one change among 5,000 load balancers with 20,000 backends",
		asked: "≤ 20 ms",
		unit:  "ms",
	}

	look := figure{what: "looking for differences at 5,000 load balancers", unit: "ms"}
	services := []string{"10", "1000", "5000"}
	through := make([]figure, len(services))
	costs := make([]figure, len(services))
	latency := make([]figure, len(services))
	for i, n := range services {
		through[i] = figure{
			what:  "TCP throughput through one ClusterIP of " + n + ", of pod to pod's",
			asked: "≥ 0.9",
			unit:  "×",
		}
		costs[i] = figure{
			what: "processor time of a byte through one ClusterIP of " + n + ", of pod to pod's",
			unit: "×",
		}

		latency[i] = figure{
			what:  "added to a new connection by one ClusterIP of " + n,
			asked: "≤ 50 µs",
			unit:  "µs",
		}
	}

	for range b.runs {
		got, err := runBenchmarks(ctx, program)
		if err != nil {
			return nil, err
		}
		take := func(f *figure, benchmark, unit string, scale float64) {
			f.values = append(f.values, got[[2]string{benchmark, unit}]*scale)
		}
		take(&throughput, "Throughput", "pod-speed", 1)
		take(&cost, "Throughput", "pod-cpu", 1)

		for i, n := range services {
			take(&through[i], "Throughput", "clusterip-of-"+n+"-speed", 1)
			take(&costs[i], "Throughput", "clusterip-of-"+n+"-cpu", 1)
			take(&latency[i], "Connect", "clusterip-of-"+n+"-added-µs", 1)
		}

		take(&change, "Change/of-5000", "median-µs", 1e-3)
		take(&look, "Differences", "ns/op", 1e-6)
	}

	return slices.Concat([]figure{throughput, cost}, through, costs, latency, []figure{change, look}), nil
}

var (
	benchmarkLine = regexp.MustCompile(`(?m)^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)
	valueUnit     = regexp.MustCompile(`(\S+) (\S+)`)
)

func runBenchmarks(ctx context.Context, program string) (benchmarks, error) {
	cmd := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", ".", "-test.benchtime", "5s")
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
