package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/cgroup"
)

// inTurn is how many pods of each system are measured, times the runs.
const inTurn = 4

const linuxPodSpec = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"bench"}},"spec":{"nodeSelector":{"kubernetes.io/os":"linux"},
"terminationGracePeriodSeconds":1,"containers":[{"name":"c","image":"mullion.local/bench-linux:v1","imagePullPolicy":"Never",
"readinessProbe":{"httpGet":{"path":"/healthz","port":80},"periodSeconds":1}}]}}`

// linuxImage builds the image of the Linux pods: the same web server as the Windows pods', as a static program.
func (b *bench) linuxImage(ctx context.Context) error {
	program := filepath.Join(filepath.Dir(b.data), "webserver")
	build := exec.CommandContext(ctx, "go", "build", "-ldflags", "-s -w", "-o", program, "./examples/webserver")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the Linux web server: %w\n%s", err, out)
	}
	return b.mullion(ctx, "", "image", "build", "--os", "linux", program, "-t", "mullion.local/bench-linux:v1")
}

// pair is a figure of a Windows pod and the same of a Linux pod of that cluster, measured in turns, so that both see
// the same load, with the ratio of the Windows figures to the Linux figures' median.
type pair struct{ linux, windows, ratio figure }

// newPair returns a pair without values, in seconds. what is of a pod, whose system comes before it.
func newPair(what, asked string) *pair {
	return &pair{
		linux:   figure{what: "Linux: " + what, unit: "s"},
		windows: figure{what: "Windows: " + what, unit: "s"},
		ratio: figure{
			what:  "Windows, of Linux' median: " + what,
			asked: asked,
			unit:  "×",
		},
	}
}

func (p *pair) add(linux, windows float64) {
	p.linux.values = append(p.linux.values, linux)
	p.windows.values = append(p.windows.values, windows)
}

// figures returns those that were measured, with their ratio.
func (p *pair) figures() []figure {
	if len(p.linux.values) == 0 {
		return nil
	}
	middle := median(p.linux.values)
	for _, w := range p.windows.values {
		p.ratio.values = append(p.ratio.values, w/middle)
	}
	return []figure{p.linux, p.windows, p.ratio}
}

func median(values []float64) float64 { return slices.Sorted(slices.Values(values))[len(values)/2] }

// against measures the start of Windows pods against that of Linux pods with the same program, one at a time, ten and
// fifty at once. Kubelets look at their containers once a second and ask for their readiness as often, so one pod's
// time says little.
func (b *bench) against(ctx context.Context) ([]figure, error) {
	one := newPair("a pod created to Ready", "≤ 1.0")
	ten := newPair("ten pods at once, created to all Ready", "≤ 1.1")
	fifty := newPair("fifty pods at once, created to all Ready", "≤ 1.1")
	if err := b.linuxImage(ctx); err != nil {
		return nil, err
	}

	for _, m := range []struct {
		pair      *pair
		pods, all int
	}{{one, 1, b.runs * inTurn}, {ten, 10, b.runs}, {fifty, 50, (b.runs + 1) / 2}} {
		for i := range m.all + 1 {
			var took [2]float64
			for at, spec := range []string{linuxPodSpec, podSpec} {
				var names []string
				for n := range m.pods {
					names = append(names, fmt.Sprintf("against-%d-%d-%d-%d", m.pods, at, i, n))
				}
				var err error
				if took[at], err = b.readyAfter(ctx, spec, names); err != nil {
					return nil, err
				}
			}

			if i > 0 { // the first unpacks the images
				m.pair.add(took[0], took[1])
			}
		}
	}

	return slices.Concat(one.figures(), ten.figures(), fifty.figures()), nil
}

// atOnce is how many programs one after the other make one measure of processor time. A cluster that idles takes some
// of it too, which is measured for idleTime before and subtracted.
const (
	atOnce   = 10
	idleTime = 10 * time.Second
)

// exec measures a program that ends at once, started by kubectl exec, in a Windows pod beside a Linux one: the time
// until kubectl has ended, and what the whole cluster's processes take for it. kubectl's own start,
// which is in both sides' times, is measured beside them.
func (b *bench) exec(ctx context.Context) ([]figure, error) {
	const what = "kubectl exec of a program that ends at once"
	took := newPair(what+", with kubectl's own start", "")
	worked := newPair(what+": processor time of the cluster", "≤ 0.25")
	own := figure{what: "kubectl's own start (kubectl version --client)", unit: "s"}
	if err := b.linuxImage(ctx); err != nil {
		return nil, err
	}

	used, err := b.processors()
	if err != nil {
		return nil, err
	}

	sides := []struct {
		spec    string
		program []string
	}{
		{fmt.Sprintf(linuxPodSpec, "exec-linux"), []string{"exec", "exec-linux", "--", "/webserver", "-h"}},
		{fmt.Sprintf(podSpec, "exec-windows"), []string{"exec", "exec-windows", "--", "cmd", "/c", "exit 0"}},
	}

	var names []string
	for _, side := range sides {
		if err := b.mullion(ctx, side.spec, "kubectl", "create", "-f", "-"); err != nil {
			return nil, err
		}
		names = append(names, "pod/"+side.program[1])
	}

	if err := b.kubectl(ctx, append([]string{"wait", "--for=condition=Ready", "--timeout=120s"}, names...)...); err != nil {
		return nil, err
	}

	for range b.runs * 2 {
		start := time.Now()
		if err := b.kubectl(ctx, "version", "--client"); err != nil {
			return nil, err
		}

		own.values = append(own.values, time.Since(start).Seconds())
		var wall [2]float64
		for at, side := range sides {
			if wall[at], err = b.timed(ctx, "", append([]string{"kubectl"}, side.program...)...); err != nil {
				return nil, err
			}
		}

		took.add(wall[0], wall[1])
	}

	for range b.runs {
		var each [2]float64
		for at, side := range sides {
			if each[at], err = b.worked(ctx, used, side.program); err != nil {
				return took.figures(), err
			}
		}
		worked.add(each[0], each[1])
	}

	err = b.kubectl(ctx, append([]string{"delete", "--wait=true"}, names...)...)
	return slices.Concat([]figure{own}, took.figures(), worked.figures()), err
}

// worked returns the seconds of processors that the cluster takes for one program that kubectl starts.
func (b *bench) worked(ctx context.Context, used func() (float64, error), program []string) (float64, error) {
	idle, err := used()
	if err != nil {
		return 0, err
	}
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(idleTime):
	}

	before, err := used()
	if err != nil {
		return 0, err
	}

	start := time.Now()
	for range atOnce {
		if err := b.kubectl(ctx, program...); err != nil {
			return 0, err
		}
	}

	after, err := used()
	itself := (before - idle) * time.Since(start).Seconds() / idleTime.Seconds()
	return (after - before - itself) / atOnce, err
}

func (b *bench) kubectl(ctx context.Context, args ...string) error {
	return b.mullion(ctx, "", append([]string{"kubectl"}, args...)...)
}

// processors returns what counts the seconds of processors that the cluster's processes have had. kubectl is none of
// them.
func (b *bench) processors() (func() (float64, error), error) {
	s, err := b.status()
	if err != nil {
		return nil, err
	}
	p, err := cgroup.FindProcessors()
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		var all time.Duration
		for _, group := range slices.Compact([]string{s.CgroupParent, b.paths().OwnCgroup()}) {
			t, err := p.Time(group)
			if err != nil {
				return 0, err
			}
			all += t
		}

		return all.Seconds(), nil
	}, nil
}
