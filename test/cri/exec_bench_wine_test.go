//go:build wine

package cri

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/containerd/containerd/v2/client"
	"github.com/containerd/containerd/v2/pkg/cio"
	"github.com/containerd/containerd/v2/pkg/namespaces"
	"github.com/containerd/containerd/v2/pkg/oci"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/cgroup"
)

// BenchmarkExec measures what one program costs that is run in a container, as a probe is: the time until it has ended,
// and what processors do for it, in the container and beside it. A Windows container and a Linux one of the same
// containerd take turns:
//
//	go test -tags wine -run '^$' -bench '^BenchmarkExec$' -benchtime 20x ./test/cri
func BenchmarkExec(b *testing.B) {
	n := newNode(b)
	pod, config := n.pod(b, "bench")
	id := n.run1(b, pod, config, []string{"sleep"}, nil)
	linux := newLinuxContainer(b, n.machine)
	used := countProcessors(b)

	windows := func() error {
		_, err := n.ExecSync(b.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id,
			Cmd:         []string{"cmd", "/c", "exit 0"},
			Timeout:     60,
		})
		return err
	}

	sides := []*execCost{{name: "windows", run: windows}, {name: "linux", run: linux.exec}}
	for _, side := range sides {
		side.measure(b, used) // warms up, and is not counted
		*side = execCost{name: side.name, run: side.run}
	}

	for b.Loop() {
		for _, side := range sides {
			side.measure(b, used)
		}
	}

	for _, side := range sides {
		side.report(b)
	}
}

// execCost is what one side's programs took.
type execCost struct {
	name         string
	run          func() error
	took, worked []time.Duration
}

// settleTime is how long what is left of a program is counted, as the work of forgetting it.
const settleTime = 300 * time.Millisecond

func (c *execCost) measure(b *testing.B, used func() time.Duration) {
	b.Helper()
	before, began := used(), time.Now()
	if err := c.run(); err != nil {
		b.Fatalf("%s: %v", c.name, err)
	}
	c.took = append(c.took, time.Since(began))
	time.Sleep(settleTime)
	c.worked = append(c.worked, used()-before)
}

// report says the median, and a quarter of the measures to each side of it.
func (c *execCost) report(b *testing.B) {
	b.Helper()
	for what, values := range map[string][]time.Duration{"wall": c.took, "cpu": c.worked} {
		slices.Sort(values)
		part := func(of float64) float64 { return float64(values[int(float64(len(values)-1)*of)].Microseconds()) / 1e3 }
		b.ReportMetric(part(0.5), fmt.Sprintf("%s-%s-ms", c.name, what))
		b.Logf("%s %s: median %.1f ms, quartiles %.1f and %.1f, %d runs", c.name, what, part(0.5), part(0.25),
			part(0.75), len(values))
	}
}

// countProcessors counts the time of processors that this process, containerd, its shims and all containers have had.
func countProcessors(b *testing.B) func() time.Duration {
	b.Helper()
	own := fmt.Sprintf("/mullion-bench-%d", os.Getpid())
	if err := cgroup.Make(own); err != nil {
		b.Fatal(err)
	}

	moveTree(b, own)
	b.Cleanup(func() {
		moveTree(b, "/")
		if err := cgroup.Remove(own); err != nil {
			b.Error(err)
		}
	})

	p, err := cgroup.FindProcessors()
	if err != nil {
		b.Fatal(err)
	}

	return func() time.Duration {
		mine, err := p.Time(own)
		if err != nil {
			b.Fatal(err)
		}
		theirs, err := p.Time(cgroupParent())
		if err != nil {
			b.Fatal(err)
		}

		return mine + theirs
	}
}

// moveTree moves this process, containerd and its shims to a cgroup where processors' time is counted. The others
// follow as children.
func moveTree(b *testing.B, name string) {
	b.Helper()
	root := "/sys/fs/cgroup/cpuacct"
	if !exists(root) {
		root = "/sys/fs/cgroup"
	}
	pids := append([]int{os.Getpid(), shared.containerd.Process.Pid}, shims(b, shared.socket)...)
	for _, pid := range pids {
		if err := os.WriteFile(filepath.Join(root, name, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			b.Fatal(err)
		}
	}
}

// shims returns the shims of a containerd.
func shims(b *testing.B, socket string) (pids []int) {
	b.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		b.Fatal(err)
	}

	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(line, []byte("\x00"+socket+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			b.Fatal(err)
		}
		pids = append(pids, pid)
	}

	return pids
}

// linuxContainer is a container of a static Linux program.
type linuxContainer struct {
	ctx  context.Context //nolint:containedctx // one of containerd's namespace, for all calls
	task client.Task
	spec *oci.Spec
	dir  string
	runs int
}

func newLinuxContainer(b *testing.B, m *machine) *linuxContainer {
	b.Helper()
	dir := filepath.Join(m.dir, "linux")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}

	build := exec.Command("go", "build", "-o", filepath.Join(dir, "prog"), "./testdata/linuxprog")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("build Linux program: %v\n%s", err, out)
	}

	c, err := client.New(m.socket)
	if err != nil {
		b.Fatal(err)
	}

	ctx := namespaces.WithNamespace(context.WithoutCancel(b.Context()), namespace)
	made, err := c.NewContainer(ctx, "linux", client.WithNewSpec(oci.WithRootFSPath(dir),
		oci.WithProcessArgs("/prog", "sleep"), oci.WithCgroup(cgroupParent()+"/linux")))
	if err != nil {
		b.Fatal(err)
	}

	task, err := made.NewTask(ctx, cio.NullIO)
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		_, err := task.Delete(ctx, client.WithProcessKill)
		if err == nil {
			err = made.Delete(ctx)
		}
		if err != nil {
			b.Error(err)
		}
		_ = c.Close()
	})

	if err := task.Start(ctx); err != nil {
		b.Fatal(err)
	}
	spec, err := made.Spec(ctx)
	if err != nil {
		b.Fatal(err)
	}
	return &linuxContainer{
		ctx:  ctx,
		task: task,
		spec: spec,
		dir:  m.dir,
	}
}

// exec does what containerd's CRI server does for ExecSync
// (https://github.com/containerd/containerd/blob/v2.4.2/internal/cri/server/container_execsync.go, execInternal).
func (l *linuxContainer) exec() error {
	l.runs++
	process := *l.spec.Process
	process.Args = []string{"/prog"}
	p, err := l.task.Exec(l.ctx, fmt.Sprint("run-", l.runs), &process,
		cio.NewCreator(cio.WithStreams(nil, io.Discard, io.Discard), cio.WithFIFODir(l.dir)))
	if err != nil {
		return err
	}

	ended, err := p.Wait(l.ctx)
	if err != nil {
		return err
	}
	if err := p.Start(l.ctx); err != nil {
		return err
	}

	if status := <-ended; status.ExitCode() != 0 || status.Error() != nil {
		return fmt.Errorf("exit code %d, %w", status.ExitCode(), status.Error())
	}
	_, err = p.Delete(l.ctx)
	return err
}
