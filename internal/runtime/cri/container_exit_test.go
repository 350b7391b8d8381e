package cri_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/critest"
)

func TestContainerExit(t *testing.T) {
	exit := func(code uint32) func(*critest.Node, string) error {
		return func(n *critest.Node, id string) error { return n.Engine.Process(id).Exit(code) }
	}

	for _, tc := range []struct {
		name   string
		end    func(n *critest.Node, id string) error
		code   int32
		reason string
	}{
		{"completed", exit(0), 0, "Completed"},
		{"error", exit(3), 3, "Error"},
		{"more-than-8-bits", exit(256), 256, "Error"},
		{"access-violation", exit(0xc0000005), -1073741819, "Error"},
		{"like-killed", exit(137), 137, "Error"},
		{"no-report", func(n *critest.Node, id string) error { n.Engine.Process(id).End(1); return nil }, 1, "Error"},
		{
			"out-of-memory", func(n *critest.Node, id string) error { n.Engine.RunOutOfMemory(id); return nil },
			137, "OOMKilled",
		},
		{
			"forged-before-it-is-killed", func(n *critest.Node, id string) error {
				p := n.Engine.Process(id)
				err := p.ReportRefused(5, "Access is denied.")
				p.End(137)
				return err
			}, 137, "Error",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			critest.Eventually(t, "the server listens for want of memory", n.Engine.Listening)
			id := n.Run(t, n.RunPod(t, "web"), "app")
			if err := tc.end(n, id); err != nil {
				t.Fatal(err)
			}

			st := n.WaitExit(t, id)
			if st.GetExitCode() != tc.code || st.GetReason() != tc.reason {
				t.Errorf("exit code %d, reason %q, want %d, %q", st.GetExitCode(), st.GetReason(), tc.code, tc.reason)
			}
			if st.GetFinishedAt() < st.GetStartedAt() {
				t.Errorf("finished %d before it started %d", st.GetFinishedAt(), st.GetStartedAt())
			}
		})
	}
}

func TestContainerExitThatContainerdCannotTell(t *testing.T) {
	n := critest.NewNode(t)
	n.Calls.Before("Engine.Wait", func(id string) error {
		n.Engine.Process(id).End(0)
		return errors.New("ttrpc: closed")
	})
	id := n.Run(t, n.RunPod(t, "web"), "app")
	expectUnknown(t, n.WaitExit(t, id), "ttrpc: closed")
}

// TestLogIsWholeWhenTheEndIsTold: the kubelet reads or deletes the log as soon as it hears of the end.
func TestLogIsWholeWhenTheEndIsTold(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	p := n.Engine.Process(id)
	// As much as a FIFO holds, in lines so short that the keeper is not done at once.
	const lines = 30000
	if _, err := p.Stdout.WriteString(strings.Repeat("x\n", lines)); err != nil {
		t.Fatal(err)
	}

	if err := p.Exit(0); err != nil {
		t.Fatal(err)
	}
	n.WaitExit(t, id)
	if got := strings.Count(n.ContainerLog(t, id), "stdout F x\n"); got != lines {
		t.Errorf("log has %d lines of %d", got, lines)
	}
}

// TestContainerEvents has what an evented kubelet hears of a pod's whole life.
func TestContainerEvents(t *testing.T) {
	n := critest.NewNode(t)
	stream, err := n.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
	if err != nil {
		t.Fatal(err)
	}

	names := map[string]string{}
	next := func() *runtimeapi.ContainerEventResponse {
		e, err := stream.Recv()
		if err != nil {
			t.Fatalf("receive event: %v", err)
		}
		return e
	}

	// The subscription works once an event arrives; events before it may be missed.
	first := make(chan struct{})
	go func() {
		defer close(first)
		next()
	}()

	critest.Eventually(t, "the server sends events", func() bool {
		select {
		case <-first:
			return true
		default:
			n.RunPod(t, "earlier")
			return false
		}
	})

	// take checks the next events. The event of a stop must have the exit code.
	take := func(want ...string) {
		t.Helper()
		var got []string
		for len(got) < len(want) {
			e := next()
			if names[e.GetContainerId()] == "" {
				continue // of a pod before
			}

			kind := strings.TrimSuffix(strings.TrimPrefix(e.GetContainerEventType().String(), "CONTAINER_"), "_EVENT")
			text := names[e.GetContainerId()] + " " + kind
			for _, c := range e.GetContainersStatuses() {
				if kind == "STOPPED" && c.GetId() == e.GetContainerId() {
					text += fmt.Sprintf(" %d", c.GetExitCode())
				}
			}

			got = append(got, text)
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}

	pod := n.RunPod(t, "web")
	app, refused := n.Create(t, pod, "app"), n.Create(t, pod, "refused")
	names[pod] = "pod"
	names[app] = "app"
	names[refused] = "refused"
	take("pod CREATED", "pod STARTED", "app CREATED", "refused CREATED")
	if err := startContainer(t, n, app); err != nil {
		t.Fatal(err)
	}

	if err := n.Engine.Process(app).Exit(3); err != nil {
		t.Fatal(err)
	}

	take("app STARTED", "app STOPPED 3")
	n.Engine.OnStart = func(_ string, p *critest.Process) error { return p.Refuse(2, "not found") }
	expect(t, startContainer(t, n, refused), codes.Unknown)
	take("refused STOPPED 128")
	stop(t, n, pod)
	take("pod STOPPED")
	if err := removeContainer(t, n, refused); err != nil {
		t.Fatal(err)
	}

	remove(t, n, pod)
	take("refused DELETED", "app DELETED", "pod DELETED")
}

// TestEventsEndWithTheServer: an evented kubelet has to notice that it hears nothing any more.
func TestEventsEndWithTheServer(t *testing.T) {
	n := critest.NewNode(t)
	for range 2 {
		stream, err := n.GetContainerEvents(t.Context(), &runtimeapi.GetEventsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		n.Stop(t)
		if _, err := stream.Recv(); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("end of events: %v, want an error", err)
		}
		n.Start(t)
	}
}

// TestContainerExitOnAFullDisk: the kubelet must hear of the end once there is room again, without a StopContainer.
func TestContainerExitOnAFullDisk(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	repair := n.BreakDisk(t, "containers", id)
	if err := n.Engine.Process(id).Exit(3); err != nil {
		t.Fatal(err)
	}

	critest.Eventually(t, "the end is not recorded", func() bool { return n.Log.Has("end of container not recorded") })
	if err := stopContainer(t, n, id, 0); err != nil {
		t.Errorf("StopContainer: %v", err)
	}
	repair()
	if st := n.WaitExit(t, id); st.GetExitCode() != 3 || st.GetReason() != "Error" {
		t.Errorf("status: %v", st)
	}
}
