package cri_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
)

func TestStopContainer(t *testing.T) {
	for _, tc := range []struct {
		name     string
		grace    int64
		stubborn bool
		prepare  func(n *critest.Node)
		calls    []string
		code     int32
	}{
		{"asked", 60, false, nil, []string{"Engine.Exec"}, -1073741510}, // 0xc000013a
		{"at-once", 0, false, nil, []string{"Engine.Signal killed all"}, 137},
		{"stubborn", 1, true, nil, []string{"Engine.Exec", "Engine.Signal killed all"}, 137},
		{
			"not-delivered", 60, false, func(n *critest.Node) {
				n.Calls.Fail("Engine.Exec",
					errors.New("no more processes"))
			},
			[]string{"Engine.Exec", "Engine.Signal terminated"},
			143,
		},
		{
			"without-run", 60, false, func(n *critest.Node) { n.Config.Launch.Run = "" },
			[]string{"Engine.Signal terminated"},
			143,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			if tc.prepare != nil {
				tc.prepare(n)
				n.Stop(t)
				n.Start(t)
			}

			pod := n.RunPod(t, "web")
			id := n.Run(t, pod, "app")
			n.Engine.Process(id).Stubborn = tc.stubborn
			n.Calls.Forget()
			for range 2 {
				if err := stopContainer(t, n, id, tc.grace); err != nil {
					t.Errorf("StopContainer: %v", err)
				}
			}

			if st := n.Status(t, id); st.GetState() != exited || st.GetExitCode() != tc.code ||
				st.GetReason() != "Error" {
				t.Errorf("status: %v", st)
			}
			if got := n.Network.Sharing(pod); len(got) > 0 {
				t.Errorf("the network still knows of %q in the pod", got)
			}

			if diff := cmp.Diff(tc.calls, n.Calls.Made("Engine.Wait", "Network.Share")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// TestStopTellsOfPrograms: what a container's first program has left is killed untold, and an event of the pod names
// it.
func TestStopTellsOfPrograms(t *testing.T) {
	for leaves, want := range map[string]string{
		"":                        "",
		"1 prog.exe":              `first program, app.exe; 1 program that it had started was killed: prog.exe. Make`,
		"2 a.exe, b\xff.exe":      "; 2 programs that it had started were killed: a.exe, b\uFFFD.exe. Make",
		"nothing":                 "",
		"99999999999999 prog.exe": "",
	} {
		var told []cri.Notice
		n := critest.NewNode(t, func(c *cri.Config) { c.Tell = func(n cri.Notice) { told = append(told, n) } })
		pod := n.RunPod(t, "web")
		id := n.Run(t, pod, "app")
		n.Engine.Process(id).Leaves = leaves
		if err := stopContainer(t, n, id, 60); err != nil {
			t.Errorf("StopContainer: %v", err)
		}

		switch {
		case want == "" && len(told) > 0:
			t.Errorf("left %q: told %+v", leaves, told)
		case want == "":
		case len(told) != 1 || told[0].Pod != "web" || told[0].UID == "" || told[0].Reason != cri.ReasonUntold ||
			!strings.Contains(told[0].Message, want):
			t.Errorf("left %q: told %+v, want %q", leaves, told, want)
		}
	}
}

func TestStopContainerThatDoesNotRun(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app")
	n.Calls.Reset()
	for _, id := range []string{id, "0123"} {
		if err := stopContainer(t, n, id, 1); err != nil {
			t.Errorf("StopContainer: %v", err)
		}
	}

	if made := n.Calls.Made(); len(made) > 0 {
		t.Errorf("calls: %q", made)
	}
	if st := n.Status(t, id); st.GetState() != created {
		t.Errorf("state %v, want created", st.GetState())
	}
}

func TestRemoveContainer(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	before := n.Left()
	ended := n.Run(t, pod, "ended")
	if err := n.Engine.Process(ended).Exit(0); err != nil {
		t.Fatal(err)
	}

	n.WaitExit(t, ended)
	for _, id := range []string{n.Create(t, pod, "created"), n.Run(t, pod, "running"), ended} {
		n.Calls.Fail("Engine.Remove", errors.New("no containerd"))
		expect(t, removeContainer(t, n, id), codes.Unknown, "remove container", "no containerd")
		n.Calls.Reset()
		for range 2 {
			if err := removeContainer(t, n, id); err != nil {
				t.Errorf("RemoveContainer: %v", err)
			}
		}

		_, err := n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
		expect(t, err, codes.NotFound)
	}

	if diff := cmp.Diff(before, n.Left()); diff != "" {
		t.Errorf("left behind (-before +after):\n%s", diff)
	}
}

// TestStartContainerThatCannotBeRecorded: a container whose start is not in its checkpoint must not run.
func TestStartContainerThatCannotBeRecorded(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app")
	repair := n.BreakDisk(t, "containers", id)
	expect(t, startContainer(t, n, id), codes.Unknown, "write checkpoint")
	if got := n.Engine.Containers(); len(got) > 0 {
		t.Errorf("containers of the engine: %q", got)
	}
	repair()
	if err := removeContainer(t, n, id); err != nil {
		t.Errorf("RemoveContainer: %v", err)
	}
}

// TestRemoveContainerKilledInItsStart: a server that was killed between opening the streams and the start leaves FIFOs
// of a container that was never started.
func TestRemoveContainerKilledInItsStart(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app")
	n.KillIn(t, "Engine.Start", false, func() { _ = startContainer(t, n, id) })
	n.Calls.Reset()
	if st := n.Status(t, id); st.GetState() != created {
		t.Errorf("status: %v", st)
	}

	if err := removeContainer(t, n, id); err != nil {
		t.Errorf("RemoveContainer: %v", err)
	}
	if fifos := listDir(t, n.Config.RunDir, "fifo"); len(fifos) > 0 {
		t.Errorf("FIFOs: %q", fifos)
	}
}
