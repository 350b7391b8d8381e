package cri_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/testing/protocmp"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
)

func TestRunPodSandbox(t *testing.T) {
	n := critest.NewNode(t)
	n.Calls.Before("Network.Setup", func(id string) error {
		if got := n.PodState(t, id); got != notReady {
			t.Errorf("a pod that is being connected is in state %v", got)
		}
		return nil
	})

	id := n.RunPod(t, "web", func(c *podConfig) {
		c.Annotations = map[string]string{"note": "kept"}
		c.PortMappings = []*runtimeapi.PortMapping{
			{ContainerPort: 80}, {
				ContainerPort: 53,
				HostPort:      5353,
				HostIp:        "10.0.0.1",
				Protocol:      runtimeapi.Protocol_UDP,
			},
		}
	})

	if diff := cmp.Diff([]string{"Network.Setup"}, n.Calls.Made("Engine.List")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	pod, _ := n.Network.Pod(id)
	want := cri.Pod{
		ID:        id,
		Name:      "web",
		Namespace: "default",
		UID:       "uid-web",
		Hostname:  "web",
		DNS: cri.DNS{
			Servers:  []string{"10.96.0.10"},
			Searches: []string{"default.svc.cluster.local", "cluster.local"},
		},
		Ports:       []cri.PortMapping{{Protocol: "UDP", HostIP: "10.0.0.1", HostPort: 5353, ContainerPort: 53}},
		Labels:      map[string]string{"app": "web"},
		Annotations: map[string]string{"note": "kept"},
	}

	if diff := cmp.Diff(want, pod); diff != "" {
		t.Errorf("the network's pod (-want +got):\n%s", diff)
	}
	resp, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: id, Verbose: true})
	if err != nil {
		t.Fatal(err)
	}

	st := resp.GetStatus()
	wantNetwork := &runtimeapi.PodSandboxNetworkStatus{
		Ip: "10.9.0.1", AdditionalIps: []*runtimeapi.PodIP{{Ip: "fd00:9::1"}},
	}
	if diff := cmp.Diff(wantNetwork, st.GetNetwork(), protocmp.Transform()); diff != "" || st.GetState() != ready {
		t.Errorf("state %v, addresses (-want +got):\n%s", st.GetState(), diff)
	}

	if !strings.Contains(resp.GetInfo()["info"], n.Network.NetNS(id)) {
		t.Errorf("verbose status lacks the network namespace: %v", resp.GetInfo())
	}
	logs, err := n.HostPath(`C:\var\log\pods\web`)
	if err != nil {
		t.Fatal(err)
	}

	if info, err := os.Stat(logs); err != nil || !info.IsDir() {
		t.Errorf("log folder: %v, %v", info, err)
	}
}

func TestRunPodSandboxRefuses(t *testing.T) {
	n := critest.NewNode(t)
	for _, tc := range []struct {
		name    string
		handler string
		change  func(*podConfig)
		code    codes.Code
		words   string
	}{
		{"no-metadata", "", func(c *podConfig) { c.Metadata = nil }, codes.InvalidArgument, "no metadata"},
		{"handler", "runsc", func(*podConfig) {}, codes.InvalidArgument, `no runtime for "runsc"`},
		{
			"host-process", "", func(c *podConfig) { c.Windows = critest.HostProcessPod("x").GetWindows() },
			codes.Unimplemented, "no HostProcess containers",
		},
		{
			"port-too-large", "", func(c *podConfig) { c.PortMappings = []*runtimeapi.PortMapping{{HostPort: 65536}} },
			codes.InvalidArgument, "host port 65536",
		},
		{
			"port-negative", "", func(c *podConfig) { c.PortMappings = []*runtimeapi.PortMapping{{HostPort: -1}} },
			codes.InvalidArgument, "host port -1",
		},
		{
			"dns", "", func(c *podConfig) { c.DnsConfig.Servers = []string{"dns.example"} },
			codes.InvalidArgument, `DNS server "dns.example"`,
		},
		{"log-folder", "", func(c *podConfig) { c.LogDirectory = `D:\log` }, codes.Unknown, `"D:\\log"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := critest.PodConfig("refused")
			tc.change(config)
			req := &runtimeapi.RunPodSandboxRequest{Config: config, RuntimeHandler: tc.handler}
			_, err := n.RunPodSandbox(t.Context(), req)
			expect(t, err, tc.code, "run ", tc.words)
			if left := n.Left(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}

			if made := n.Calls.Made("Engine.List"); len(made) > 0 {
				t.Errorf("calls for a pod that is refused: %q", made)
			}
		})
	}
}

func TestRunPodSandboxIsUndone(t *testing.T) {
	boom := errors.New("no addresses left")
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, n *critest.Node)
		calls   []string
		words   string
	}{
		{
			"log-folder-is-a-file", func(t *testing.T, n *critest.Node) {
				t.Helper()
				logs, err := n.HostPath(`C:\var\log\pods\web`)
				if err != nil {
					t.Fatal(err)
				}
				if err := errors.Join(os.MkdirAll(filepath.Dir(logs), 0o700),
					os.WriteFile(logs, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
			}, nil, "make log folder",
		},
		{
			"network", func(t *testing.T, n *critest.Node) { t.Helper(); n.Calls.Fail("Network.Setup", boom) },
			[]string{"Network.Setup"},
			"connect to network: no addresses left",
		},
		{
			"checkpoint", func(t *testing.T, n *critest.Node) {
				t.Helper()
				n.Calls.After("Network.Setup", func(id string) error {
					n.BreakDisk(t, "sandboxes", id)
					return nil
				})
			},
			[]string{"Network.Setup", "Network.Teardown"},
			"write checkpoint",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			tc.prepare(t, n)
			_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("web")})
			expect(t, err, codes.Unknown, `run sandbox of pod "default/web"`, tc.words)
			if diff := cmp.Diff(tc.calls, n.Calls.Made("Engine.List")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}

			if left := n.Left(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			if pods := listPods(t, n, nil); len(pods) > 0 {
				t.Errorf("pods: %q", pods)
			}
		})
	}
}

func TestStopPodSandbox(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	first, second := n.Run(t, pod, "running"), n.Create(t, pod, "created")
	n.Calls.Reset()
	stop(t, n, pod)
	want := []string{"Engine.Signal killed all", "Network.Share", "Network.Teardown"}
	if diff := cmp.Diff(want, n.Calls.Made()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	if st := n.Status(t, first); st.GetState() != exited || st.GetExitCode() != 137 {
		t.Errorf("the container that ran: %v", st)
	}
	if st := n.Status(t, second); st.GetState() != created {
		t.Errorf("the container that did not run: %v", st)
	}
	if got := n.PodState(t, pod); got != notReady {
		t.Errorf("state %v after StopPodSandbox", got)
	}

	n.Calls.Reset()
	stop(t, n, pod)
	if made := n.Calls.Made(); len(made) > 0 {
		t.Errorf("calls for a pod that is stopped: %q", made)
	}

	stop(t, n, "0123")
	err := createContainer(t, n, pod, critest.ContainerConfig("late"))
	expect(t, err, codes.FailedPrecondition, "is not running")
	_, err = n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: second})
	expect(t, err, codes.FailedPrecondition, "is not running")

	// What the containers shared is gone with the last of them, before the sandbox is removed.
	for i, id := range []string{first, second} {
		n.Calls.Reset()
		if err := removeContainer(t, n, id); err != nil {
			t.Errorf("RemoveContainer: %v", err)
		}
		if released := slices.Contains(n.Calls.Made(), "Engine.RemovePod"); released != (i == 1) {
			t.Errorf("calls after container %d was removed: %q", i+1, n.Calls.Made())
		}
	}
}

func TestStopPodSandboxAgainAfterAnError(t *testing.T) {
	for _, tc := range []struct{ call, words string }{
		{"Engine.Signal", "no containerd"}, {"Network.Teardown", "disconnect from network: no containerd"},
	} {
		t.Run(tc.call, func(t *testing.T) {
			n := critest.NewNode(t)
			pod := n.RunPod(t, "web")
			container := n.Run(t, pod, "c")
			n.Calls.Fail(tc.call, errors.New("no containerd"))
			_, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod})
			expect(t, err, codes.Unknown, "stop sandbox", tc.words)
			_, err = n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod})
			expect(t, err, codes.Unknown, "stop sandbox", tc.words)
			if got := n.PodState(t, pod); got != ready {
				t.Errorf("state %v after a StopPodSandbox that did not work", got)
			}

			n.Calls.Reset()
			stop(t, n, pod)
			if st := n.Status(t, container); st.GetState() != exited {
				t.Errorf("container: %v", st)
			}
			if pods := n.Network.Pods(); len(pods) > 0 {
				t.Errorf("connected pods: %q", pods)
			}
		})
	}
}

func TestRemovePodSandbox(t *testing.T) {
	n := critest.NewNode(t)
	pod, other := n.RunPod(t, "web"), n.RunPod(t, "other")
	gone, stays := n.Run(t, pod, "running"), n.Run(t, other, "stays")
	n.Create(t, pod, "created")
	remove(t, n, pod)
	remove(t, n, pod)
	_, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod})
	expect(t, err, codes.NotFound)
	_, err = n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: gone})
	expect(t, err, codes.NotFound)
	if diff := cmp.Diff([]string{stays}, n.Engine.Containers()); diff != "" {
		t.Errorf("containers (-want +got):\n%s", diff)
	}

	if st := n.Status(t, stays); st.GetState() != running {
		t.Errorf("the other pod's container: %v", st)
	}
	remove(t, n, other)
	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestRemovePodSandboxAgainAfterAnError(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	n.Run(t, pod, "c")
	n.Calls.Fail("Engine.Remove", errors.New("no containerd"))
	_, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod})
	expect(t, err, codes.Unknown, "remove sandbox", "no containerd")
	if got := n.PodState(t, pod); got != notReady {
		t.Errorf("state %v after a RemovePodSandbox that did not work", got)
	}

	n.Calls.Reset()
	remove(t, n, pod)
	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestListPodSandbox(t *testing.T) {
	n := critest.NewNode(t)
	web := n.RunPod(t, "web", func(c *podConfig) { c.Labels["tier"] = "front" })
	db := n.RunPod(t, "db")
	old := n.RunPod(t, "old")
	stop(t, n, old)
	state := func(s runtimeapi.PodSandboxState) *runtimeapi.PodSandboxStateValue {
		return &runtimeapi.PodSandboxStateValue{State: s}
	}

	for _, tc := range []struct {
		name   string
		filter *runtimeapi.PodSandboxFilter
		want   []string
	}{
		{"no-filter", nil, []string{"db", "old", "web"}},
		{"ready", &runtimeapi.PodSandboxFilter{State: state(ready)}, []string{"db", "web"}},
		{"not-ready", &runtimeapi.PodSandboxFilter{State: state(notReady)}, []string{"old"}},
		{"id", &runtimeapi.PodSandboxFilter{Id: db}, []string{"db"}},
		{"beginning-of-id", &runtimeapi.PodSandboxFilter{Id: web[:20]}, []string{"web"}},
		{"label", &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"tier": "front"}}, []string{"web"}},
		{"labels", &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"tier": "front", "app": "db"}}, nil},
		{"label-without-value", &runtimeapi.PodSandboxFilter{LabelSelector: map[string]string{"tier": ""}}, nil},
		{"id-and-state", &runtimeapi.PodSandboxFilter{Id: old, State: state(ready)}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, listPods(t, n, tc.filter)); diff != "" {
				t.Errorf("pods (-want +got):\n%s", diff)
			}
			stream, err := n.StreamPodSandboxes(t.Context(), &runtimeapi.StreamPodSandboxesRequest{Filter: tc.filter})
			if err != nil {
				t.Fatal(err)
			}

			var names []string
			for m, err := stream.Recv(); !errors.Is(err, io.EOF); m, err = stream.Recv() {
				if err != nil {
					t.Fatal(err)
				}
				for _, item := range m.GetPodSandboxes() {
					names = append(names, item.GetMetadata().GetName())
				}
			}

			slices.Sort(names)
			if diff := cmp.Diff(tc.want, names); diff != "" {
				t.Errorf("pods as a stream (-want +got):\n%s", diff)
			}
		})
	}

	want := []string{web, db, old}
	slices.Sort(want)
	if diff := cmp.Diff(want, n.Server.Sandboxes()); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

// TestStopPodSandboxWaitsForItsRun: a pod is listed while it is being connected, so that it can be stopped then.
func TestStopPodSandboxWaitsForItsRun(t *testing.T) {
	n := critest.NewNode(t)
	connecting, goOn := make(chan string, 1), make(chan struct{})
	n.Calls.Before("Network.Setup", func(id string) error {
		connecting <- id
		<-goOn
		return nil
	})

	ran, removed := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("web")})
		ran <- err
	}()

	id := <-connecting
	go func() {
		_, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id})
		removed <- err
	}()

	select {
	case err := <-removed:
		t.Errorf("a pod that is being connected was removed: %v", err)
		close(goOn)
	case <-time.After(50 * time.Millisecond):
		close(goOn)
		if err := <-removed; err != nil {
			t.Errorf("RemovePodSandbox: %v", err)
		}
	}

	if err := <-ran; err != nil {
		t.Errorf("RunPodSandbox: %v", err)
	}
	if left := n.Left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// TestRunPodSandboxThatCannotBeUndone: what is connected must not be forgotten before it is disconnected.
func TestRunPodSandboxThatCannotBeUndone(t *testing.T) {
	for name, restart := range map[string]bool{"the-kubelet-removes-it": false, "the-next-server-removes-it": true} {
		t.Run(name, func(t *testing.T) {
			n := critest.NewNode(t)
			var repair func()
			n.Calls.After("Network.Setup", func(id string) error {
				repair = n.BreakDisk(t, "sandboxes", id)
				return nil
			})
			n.Calls.Fail("Network.Teardown", errors.New("no such plugin"))
			_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: critest.PodConfig("web")})
			expect(t, err, codes.Unknown, "write checkpoint")
			repair()
			if !n.Log.Has("pod not undone") {
				t.Error("nobody is told")
			}

			n.Calls.Reset()
			if got := podStates(t, n); got != "web=NOTREADY" {
				t.Errorf("pods: %q", got)
			}

			if restart {
				n.Stop(t)
				n.Start(t)
			} else {
				for _, id := range n.Server.Sandboxes() {
					remove(t, n, id)
				}
			}

			if left := n.Left(); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}
