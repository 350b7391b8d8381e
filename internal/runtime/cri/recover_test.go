package cri_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
)

// TestServerKilledInACall: the next server finds what was begun, or cleans it up.
func TestServerKilledInACall(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	run := func(t *testing.T, n *critest.Node, _, _ string) {
		t.Helper()
		_, _ = n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("new")})
	}
	create := func(t *testing.T, n *critest.Node, pod, _ string) {
		t.Helper()
		_ = createContainer(t, n, pod, critest.ContainerConfig("new"))
	}

	start := func(t *testing.T, n *critest.Node, _, c string) { t.Helper(); _ = startContainer(t, n, c) }
	stopPod := func(t *testing.T, n *critest.Node, pod, _ string) {
		t.Helper()
		_, _ = n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod})
	}

	removeIt := func(t *testing.T, n *critest.Node, _, c string) { t.Helper(); _ = removeContainer(t, n, c) }
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, n *critest.Node, pod, container string)
		call string
		// after says that the call has had its effect.
		after bool
		// runs says that the container runs before the call.
		runs       bool
		pods       string
		containers string
	}{
		{"run-before-network", run, "Network.Setup", false, false, "web=READY", "app=CREATED"},
		{"run-after-network", run, "Network.Setup", true, false, "web=READY", "app=CREATED"},
		{"create-before-engine", create, "Engine.Create", false, false, "web=READY", "app=CREATED"},
		{"create-after-engine", create, "Engine.Create", true, false, "web=READY", "app=CREATED"},
		{"start-before-engine", start, "Engine.Start", false, false, "web=READY", "app=CREATED"},
		{"start-after-engine", start, "Engine.Start", true, false, "web=READY", "app=RUNNING"},
		{"stop-before-kill", stopPod, "Engine.Signal", false, true, "web=READY", "app=RUNNING"},
		{"stop-after-kill", stopPod, "Engine.Signal", true, true, "web=READY", "app=EXITED"},
		{"stop-before-teardown", stopPod, "Network.Teardown", false, true, "web=READY", "app=EXITED"},
		{"stop-after-teardown", stopPod, "Network.Teardown", true, true, "web=NOTREADY", "app=EXITED"},
		{"remove-before-engine", removeIt, "Engine.Remove", false, true, "web=READY", "app=EXITED"},
		{"remove-after-engine", removeIt, "Engine.Remove", true, true, "web=READY", "app=EXITED"},
		{"remove-created", removeIt, "Engine.Remove", true, false, "web=READY", "app=EXITED"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			pod := n.RunPod(t, "web")
			id := n.Create(t, pod, "app")
			if tc.runs {
				if err := startContainer(t, n, id); err != nil {
					t.Fatal(err)
				}
			}

			n.KillIn(t, tc.call, tc.after, func() { tc.do(t, n, pod, id) })
			n.Calls.Reset()
			var pods, containers string
			critest.Eventually(t, "containers are as expected", func() bool {
				pods, containers = podStates(t, n), containerStates(t, n)
				return (pods == tc.pods && containers == tc.containers) || t.Failed()
			})

			engineIDs, networkIDs := n.Engine.Containers(), n.Network.Pods()
			if len(engineIDs) > 1 || len(networkIDs) > 1 {
				t.Errorf("containers %q, connected pods %q", engineIDs, networkIDs)
			}

			// The kubelet asks again.
			stop(t, n, pod)
			remove(t, n, pod)
			if left := n.Left(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

func podStates(t *testing.T, n *critest.Node) string {
	t.Helper()
	resp, err := n.ListPodSandbox(t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, p := range resp.GetItems() {
		states = append(states, p.GetMetadata().GetName()+"="+strings.TrimPrefix(p.GetState().String(), "SANDBOX_"))
	}
	return strings.Join(states, " ")
}

func containerStates(t *testing.T, n *critest.Node) string {
	t.Helper()
	resp, err := n.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, c := range resp.GetContainers() {
		states = append(states, c.GetMetadata().GetName()+"="+strings.TrimPrefix(c.GetState().String(), "CONTAINER_"))
	}
	return strings.Join(states, " ")
}

// TestContainersOutliveTheServer: what they write and how they end while no server is there is not lost.
func TestContainersOutliveTheServer(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	ends := n.Run(t, pod, "ends")
	goesOn := n.Run(t, pod, "goes-on")
	lost := n.Run(t, pod, "lost")
	n.Stop(t)
	for _, id := range []string{ends, goesOn} {
		if _, err := fmt.Fprintln(n.Engine.Process(id).Stdout, "nobody is there"); err != nil {
			t.Fatal(err)
		}
	}

	if err := n.Engine.Process(ends).Exit(0xc0000005); err != nil {
		t.Fatal(err)
	}
	n.Engine.Lose(lost)
	n.Start(t)
	if st := n.WaitExit(t, ends); st.GetExitCode() != -1073741819 || st.GetReason() != "Error" {
		t.Errorf("the one that ended: %v", st)
	}

	expectUnknown(t, n.WaitExit(t, lost), "the container was lost")
	if st := n.Status(t, goesOn); st.GetState() != running {
		t.Errorf("the one that goes on: %v", st)
	}
	for _, id := range []string{ends, goesOn} {
		critest.Eventually(t, "log has the line", func() bool {
			return n.ContainerLog(t, id) == "stdout F nobody is there\n"
		})
	}

	if err := n.Engine.Process(goesOn).Exit(0); err != nil {
		t.Fatal(err)
	}
	if st := n.WaitExit(t, goesOn); st.GetReason() != "Completed" {
		t.Errorf("the one that went on: %v", st)
	}
}

func TestReboot(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	ran, notStarted := n.Run(t, pod, "ran"), n.Create(t, pod, "new")
	n.Stop(t)
	n.Engine.Reboot()
	if err := n.Network.Reboot(); err != nil {
		t.Fatal(err)
	}

	n.Start(t)
	if got := n.PodState(t, pod); got != notReady {
		t.Errorf("pod without network namespace: %v", got)
	}
	expectUnknown(t, n.Status(t, ran), "the container's process was lost")
	if st := n.Status(t, notStarted); st.GetState() != created {
		t.Errorf("container that did not run: %v", st)
	}
	expect(t, startContainer(t, n, notStarted), codes.FailedPrecondition, "is not running")
}

// TestOtherNodesContainersAreLeftAlone: all Windows hosts of a machine share one containerd.
func TestOtherNodesContainersAreLeftAlone(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	n := critest.MakeNode(t)
	for _, node := range []string{critest.NodeName, "win-2"} {
		c := engine.Container{ID: "of-" + node, Labels: map[string]string{"mullion.dev/node": node}}
		if err := n.Engine.Create(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	n.Start(t)
	if got := n.Engine.Containers(); len(got) != 1 || got[0] != "of-win-2" {
		t.Errorf("containers %q, want the other node's", got)
	}
}

func TestServerDoesNotStart(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(n *critest.Node)
		words   string
	}{
		{
			"no-containerd", func(n *critest.Node) { n.Calls.Fail("Engine.List", errors.New("no containerd")) },
			"no containerd",
		},
		{"no-keeper", func(n *critest.Node) { n.StopKeeper() }, "start keeper: no command line"},
		{"keeper-is-not-there", func(n *critest.Node) {
			n.StopKeeper()
			n.Config.Keeper = []string{"/nowhere/keeper"}
		}, "/nowhere/keeper"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.MakeNode(t)
			tc.prepare(n)
			if err := n.TryStart(t); err == nil || !strings.Contains(err.Error(), tc.words) {
				t.Errorf("start: %v, want %q", err, tc.words)
			}
			if n.Engine.Listening() {
				t.Error("a server that did not start goes on listening")
			}
		})
	}
}

// TestPurge: a node goes away, with its pods.
func TestPurge(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	n.Run(t, pod, "app")
	n.RunPod(t, "db")
	n.Stop(t)
	config := n.WithStream(t)
	defer config.Stream.Close()

	server, err := cri.New(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Purge(t.Context()); err != nil {
		t.Errorf("Purge: %v", err)
	}

	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	n.StartKeeper(t) // Purge has ended it.
	n.Start(t)
}

// TestServerStartsBesideAPodThatCannotBeTakenDown: the other pods have to be served.
func TestServerStartsBesideAPodThatCannotBeTakenDown(t *testing.T) {
	for name, lose := range map[string]func(t *testing.T, n *critest.Node){
		"half-made": func(t *testing.T, n *critest.Node) {
			t.Helper()
			n.Calls.Fail("Network.Teardown", errors.New("no such plugin"))
			n.KillIn(t, "Network.Setup", true, func() {
				_, _ = n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("lost")})
			})
		},
		"without-namespace": func(t *testing.T, n *critest.Node) {
			t.Helper()
			id := n.RunPod(t, "lost")
			n.Stop(t)
			if err := os.Remove(n.Network.NetNS(id)); err != nil {
				t.Fatal(err)
			}
			n.Calls.Fail("Network.Teardown", errors.New("no such plugin"))
			n.Start(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := critest.NewNode(t)
			app := n.Run(t, n.RunPod(t, "web"), "app")
			lose(t, n)
			if !n.Log.Has("pod not taken down") {
				t.Error("nobody is told")
			}
			if st := n.Status(t, app); st.GetState() != running {
				t.Errorf("the other pod's container: %v", st)
			}

			states := strings.Fields(podStates(t, n))
			slices.Sort(states)
			if diff := cmp.Diff([]string{"lost=NOTREADY", "web=READY"}, states); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}

			n.Calls.Reset()
			for _, id := range n.Server.Sandboxes() {
				stop(t, n, id)
				remove(t, n, id)
			}

			if left := n.Left(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestContainerThatEndsWhileItsServerIsKilled: it has run before it ended.
func TestContainerThatEndsWhileItsServerIsKilled(t *testing.T) {
	testrun.Once(t, testrun.Race)
	n := critest.NewNode(t)
	n.Engine.OnStart = func(_ string, p *critest.Process) error { return errors.Join(p.Started(), p.Exit(3)) }
	id := n.Create(t, n.RunPod(t, "web"), "app")
	n.KillIn(t, "Engine.Start", true, func() { _ = startContainer(t, n, id) })
	st := n.WaitExit(t, id)
	if st.GetExitCode() != 3 || st.GetReason() != "Error" {
		t.Errorf("status: %v", st)
	}
	if st.GetStartedAt() > st.GetFinishedAt() || st.GetCreatedAt() > st.GetStartedAt() {
		t.Errorf("created %d, started %d, finished %d", st.GetCreatedAt(), st.GetStartedAt(), st.GetFinishedAt())
	}
}
