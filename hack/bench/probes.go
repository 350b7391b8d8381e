package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	probed    = 50 // pods on one node
	probesFor = time.Minute
	probeEach = 5 // seconds
)

// execProbed is a pod whose readiness a program tells, once every five seconds. The kubelet waits a second for it, as
// it does unless a manifest says otherwise.
const execProbed = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%%q,"labels":{"app":"bench"}},"spec":{"nodeSelector":{"kubernetes.io/os":"%s"},
"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"%s","imagePullPolicy":"Never",
"readinessProbe":{"exec":{"command":[%s]},"periodSeconds":%d}}]}}`

// probes measures fifty pods with a program for a probe: whether they become Ready and stay so, how long the kubelet
// waits for the program, and what the probes cost beside the same pods without any. A static program on Linux is beside
// the two shells of Windows.
func (b *bench) probes(ctx context.Context) ([]figure, error) {
	if err := b.linuxImage(ctx); err != nil {
		return nil, err
	}

	var all []figure
	for _, side := range []struct{ what, os, node, image, command string }{
		{"Linux: a static program", "linux", "linux-1", "mullion.local/bench-linux:v1", `"/webserver","-h"`},
		{"Windows: cmd /c exit 0", "windows", "win-1", "mullion.local/webserver:v1", `"cmd","/c","exit 0"`},
		{
			"Windows: powershell -Command exit 0", "windows", "win-1", "mullion.local/webserver:v1",
			`"powershell","-Command","exit 0"`,
		},
	} {
		spec := fmt.Sprintf(execProbed, side.os, side.image, side.command, probeEach)
		got, err := b.probedBy(ctx, side.what, side.node, onNode(spec, side.node))
		all = append(all, got...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

func (b *bench) probedBy(ctx context.Context, what, node, spec string) ([]figure, error) {
	what = fmt.Sprintf("%d pods with a probe every %d s, %s: ", probed, probeEach, what)
	ready := figure{what: what + "created to all Ready", unit: "s"}
	least := figure{
		what:  what + "Ready at least, in a minute",
		asked: strconv.Itoa(probed),
		unit:  "pods",
	}
	late := figure{
		what:  what + "99 of 100 are answered within",
		asked: "≤ 0.5 s",
		unit:  "s",
	}
	cost := figure{what: what + "processor time a second, with that of the idle cluster", unit: "s"}

	used, err := b.processors()
	if err != nil {
		return nil, err
	}
	var pods strings.Builder
	for i := range probed {
		fmt.Fprintf(&pods, spec+"\n", fmt.Sprintf("probed-%d", i))
	}

	started := time.Now()
	if err := b.mullion(ctx, pods.String(), "kubectl", "create", "-f", "-"); err != nil {
		return nil, err
	}
	defer func() {
		_ = b.kubectl(context.WithoutCancel(ctx), "delete", "pod", "-l", "app=bench", "--wait=true", "--timeout="+toCome.String())
	}()
	err = b.kubectl(ctx, "wait", "--for=condition=Ready", "pod", "-l", "app=bench", "--timeout=300s")
	if err != nil { // that they do not become Ready is a figure
		least.values = append(least.values, 0)
		return []figure{least}, nil //nolint:nilerr // see above
	}
	ready.values = append(ready.values, time.Since(started).Seconds())

	before, err := b.answered(ctx, node)
	if err != nil {
		return nil, err
	}
	began, at := time.Now(), 0.0
	if at, err = used(); err != nil {
		return nil, err
	}

	fewest := probed
	for time.Since(began) < probesFor {
		if err := pause(ctx, 5*time.Second); err != nil {
			return nil, err
		}
		n, err := b.readyPods(ctx)
		if err != nil {
			return nil, err
		}
		fewest = min(fewest, n)
	}

	after, err := used()
	if err != nil {
		return nil, err
	}
	least.values = append(least.values, float64(fewest))
	cost.values = append(cost.values, (after-at)/time.Since(began).Seconds())

	with, err := b.answered(ctx, node)
	if err != nil {
		return nil, err
	}
	late.values = append(late.values, quantile(0.99, before, with))
	return []figure{ready, least, late, cost}, nil
}

func (b *bench) readyPods(ctx context.Context) (int, error) {
	out, err := b.output(ctx, "kubectl", "get", "pod", "-l", "app=bench", "-o",
		`jsonpath={range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}`)
	return strings.Count(out, "True"), err
}

func (b *bench) output(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, "mullion"), append([]string{"--data-dir", b.data}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("mullion %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// answered returns how many probes of a node's kubelet were answered within so many seconds, by its own count: a
// cumulative histogram, by its upper bounds.
func (b *bench) answered(ctx context.Context, node string) (map[float64]float64, error) {
	text, err := b.output(ctx, "kubectl", "get", "--raw", "/api/v1/nodes/"+node+"/proxy/metrics/probes")
	if err != nil {
		return nil, err
	}
	return probeTimes(text)
}

func probeTimes(text string) (map[float64]float64, error) {
	within := map[float64]float64{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		labels, ok := strings.CutPrefix(lines.Text(), "prober_probe_duration_seconds_bucket{")
		if !ok || !strings.Contains(labels, `probe_type="Readiness"`) {
			continue
		}

		_, rest, _ := strings.Cut(labels, `le="`)
		bound, _, _ := strings.Cut(rest, `"`)
		_, count, _ := strings.Cut(labels, "} ")
		at, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			return nil, fmt.Errorf("read the kubelet's metrics: %w", err)
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(count), 64)
		if err != nil {
			return nil, fmt.Errorf("read the kubelet's metrics: %w", err)
		}
		within[at] += n
	}

	return within, lines.Err()
}

// quantile returns within what time that part of the probes between two counts was answered, as Prometheus reckons it:
// evenly within a bucket. Above the last bound it is infinite.
func quantile(part float64, before, after map[float64]float64) float64 {
	var bounds []float64
	for bound := range after {
		bounds = append(bounds, bound)
	}
	slices.Sort(bounds)
	if len(bounds) == 0 {
		return math.NaN()
	}

	last := bounds[len(bounds)-1]
	wanted := part * (after[last] - before[last])
	low, below := 0.0, 0.0
	for _, bound := range bounds {
		n := after[bound] - before[bound]
		if n >= wanted {
			return low + (bound-low)*(wanted-below)/(n-below)
		}
		low, below = bound, n
	}

	return last
}
