package cri_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"k8s.io/client-go/tools/remotecommand"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/admission"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
)

// crowd is a node with two places, both taken by programs that start until free is called, or run, if they say so.
type crowd struct {
	*critest.Node
	pod, app string
	begun    atomic.Int32
	says     bool
	free     func()
}

func newCrowd(t *testing.T, says bool, change ...func(*cri.Config)) *crowd {
	t.Helper()
	gate := make(chan struct{})
	n := critest.NewNode(t, append(change, func(c *cri.Config) { c.Places = 2 })...)
	c := &crowd{
		Node: n,
		says: says,
		free: sync.OnceFunc(func() { close(gate) }),
	}

	n.Engine.OnExec = func(ctx context.Context, p critest.Program) (uint32, error) {
		c.begun.Add(1)
		if p.Args[0] != "block" {
			return program(ctx, p)
		}
		if c.says {
			if err := p.Started(); err != nil {
				return 0, err
			}
		}

		select {
		case <-gate:
		case <-ctx.Done():
		}

		return 0, ctx.Err()
	}

	c.pod = n.RunPod(t, "web")
	c.app = n.Run(t, c.pod, "app")
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() {
			if _, err := c.sync(context.WithoutCancel(t.Context()), 0, "block"); err != nil {
				t.Errorf("a program that had its turn: %v", err)
			}
		})
	}

	t.Cleanup(running.Wait)
	t.Cleanup(c.free)
	for deadline := time.Now().Add(10 * time.Second); c.begun.Load() < 2; {
		if time.Now().After(deadline) {
			t.Fatal("two programs have not begun")
		}
		<-time.After(time.Millisecond)
	}

	return c
}

func (c *crowd) sync(ctx context.Context, seconds int64, cmd ...string) (*runtimeapi.ExecSyncResponse, error) {
	return c.ExecSync(ctx, &runtimeapi.ExecSyncRequest{
		ContainerId: c.app,
		Cmd:         cmd,
		Timeout:     seconds,
	})
}

// until waits until the figures are so.
func (c *crowd) until(t *testing.T, what string, is func(admission.Load) bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !is(c.Server.Load()); {
		if time.Now().After(deadline) {
			t.Fatalf("it is not so that %s: %+v", what, c.Server.Load())
		}
		<-time.After(time.Millisecond)
	}
}

// TestProbeWhoseTimeIsOver: a probe whose time passes before it is its turn has timed out, as the kubelet counts it,
// and was never started. When there is a place again, the next one is.
func TestProbeWhoseTimeIsOver(t *testing.T) {
	c := newCrowd(t, false)
	_, err := c.sync(t.Context(), 1, "exit", "0")
	expect(t, err, codes.DeadlineExceeded, "timeout of 1 s exceeded", "it was not started: it waited 1", "2 at a time")
	if n := c.begun.Load(); n != 2 {
		t.Errorf("%d programs were started, want the 2 that had their turn", n)
	}
	if l := c.Server.Load(); l.NotStarted != 1 || l.Late != 0 || len(l.Pods) != 1 || l.Pods[0].Name != "web" {
		t.Errorf("%+v", l)
	}

	c.free()
	resp, err := c.sync(t.Context(), 10, "exit", "0")
	if err != nil || resp.GetExitCode() != 0 {
		t.Errorf("with a place free: %v, %v", resp, err)
	}
	c.until(t, "all places are given back", func(l admission.Load) bool {
		return l.Starting["probe"]+l.Waiting["probe"]+l.Starting["proven"] == 0
	})
}

// TestPersonGoesFirst: who runs a program by hand does not wait behind probes.
func TestPersonGoesFirst(t *testing.T) {
	c := newCrowd(t, false)
	resp, err := c.Exec(t.Context(), &runtimeapi.ExecRequest{
		ContainerId: c.app, Cmd: []string{"cat"}, Stdin: true, Stdout: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = remote(t, resp.GetUrl(), remotecommand.StreamOptions{Stdin: strings.NewReader("echo"), Stdout: &out})
	if err != nil || out.String() != "echo" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// TestStartWaits: a start waits for its turn, gives up with its caller without having begun, and can be tried again.
func TestStartWaits(t *testing.T) {
	c := newCrowd(t, false)
	id := c.Create(t, c.pod, "second")
	for what, start := range map[string]func(ctx context.Context) error{
		"container": func(ctx context.Context) error {
			_, err := c.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id})
			return err
		},
		"pod": func(ctx context.Context) error {
			_, err := c.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{
				Config: &podConfig{
					Metadata: &runtimeapi.PodSandboxMetadata{
						Name:      "late",
						Namespace: "default",
						Uid:       "7",
					},
				},
			})

			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		expect(t, start(ctx), codes.DeadlineExceeded)
		cancel()
		if _, runs := c.Engine.Container(id); runs {
			t.Errorf("%s: it was started", what)
		}
	}

	if names := listPods(t, c.Node, nil); len(names) != 1 {
		t.Errorf("a pod whose turn did not come is there: %q", names)
	}
	// The caller is answered at once, the server gives up a moment later.
	c.until(t, "no start waits for nobody", func(l admission.Load) bool { return l.Waiting["start"] == 0 })
	c.free()
	if err := startContainer(t, c.Node, id); err != nil {
		t.Error(err)
	}
}

// TestRunningHoldsNoPlace: a program that runs in a container holds no place for long, so what it waits for can start.
func TestRunningHoldsNoPlace(t *testing.T) {
	c := newCrowd(t, true)
	id := c.Create(t, c.pod, "waited-for")
	begin := time.Now()
	if err := startContainer(t, c.Node, id); err != nil { // while both run still
		t.Fatal(err)
	}
	if waited := time.Since(begin); waited > 5*time.Second {
		t.Errorf("the start waited %s", waited)
	}
}

// TestWaitsAreTold: a pod whose programs are not started gets an event with figures, one in a while.
func TestWaitsAreTold(t *testing.T) {
	told := make(chan cri.Notice, 10)
	c := newCrowd(t, false, func(config *cri.Config) { config.Tell = func(n cri.Notice) { told <- n } })
	for range 2 {
		_, err := c.sync(t.Context(), 1, "exit", "0")
		expect(t, err, codes.DeadlineExceeded)
	}

	select {
	case n := <-told:
		if n.Pod != "web" || n.Reason != cri.ReasonWaits || (!strings.Contains(n.Message, "of 2 programs that the kubelet") &&
			!strings.Contains(n.Message, "1 of 1 programs")) || !strings.Contains(n.Message, "2 programs at a time") {
			t.Errorf("%+v", n)
		}
	case <-time.After(20 * time.Second):
		t.Error("nobody was told")
	}
}

// TestTurnGoesAhead: a pod goes ahead of others while it starts, and while a program in it has its turn, no longer, and
// none does that only waits.
func TestTurnGoesAhead(t *testing.T) {
	c := newCrowd(t, false)
	ahead := func(want ...string) {
		t.Helper()
		var got []string
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
			if got = c.Engine.Lifted(); slices.Equal(got, want) {
				return
			}
		}
		t.Errorf("%q go ahead, want %q", got, want)
	}
	ahead(c.pod)
	if _, err := c.sync(t.Context(), 1, "exit", "0"); err == nil {
		t.Error("a third program had its turn")
	}

	c.free()
	ahead()

	other := c.RunPod(t, "other")
	inStart := false
	c.Engine.OnStart = func(_ string, p *critest.Process) error {
		inStart = slices.Contains(c.Engine.Lifted(), other)
		return p.Started()
	}
	c.Run(t, other, "app")
	if !inStart {
		t.Error("a pod whose container starts does not go ahead")
	}

	ahead()
}

// TestAheadIsTakenBack: what a server that was killed left ahead of others is as they are under the next.
func TestAheadIsTakenBack(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	n.Run(t, pod, "app")
	n.Stop(t)
	if err := n.Engine.Lift(pod, true); err != nil {
		t.Fatal(err)
	}
	n.Start(t)
	if got := n.Engine.Lifted(); len(got) > 0 {
		t.Errorf("%q go ahead", got)
	}
}
