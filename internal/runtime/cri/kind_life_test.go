package cri_test

import (
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

// everyKind has a request for a pod of each kind, with what is to be seen of it.
var everyKind = []struct {
	name, handler string
	config        func(name string) *runtimeapi.PodSandboxConfig
	container     func(*containerConfig)
	// made are the calls that a pod's life from RunPodSandbox to RemovePodSandbox makes of the network and of machines.
	made []string
	// systems are those of the Host Compute Service, with "pod" and "app" for the ids.
	systems []string
	// engine says whether the engine's container is of the kind.
	engine func(k engine.Kind, pod string) bool
}{
	{
		name:    "process",
		config:  critest.PodConfig,
		made:    []string{"Network.Setup", "Network.Share", "Network.Share", "Network.Teardown"},
		systems: []string{"pod", "app"},
		engine:  func(k engine.Kind, _ string) bool { return k == nil },
	},
	{
		name:   "host-process",
		config: critest.HostProcessPod,
		container: func(c *containerConfig) {
			c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{
				HostProcess: true, RunAsUsername: `NT AUTHORITY\SYSTEM`,
			}
		},
		engine: func(k engine.Kind, _ string) bool { _, ok := k.(*engine.HostProcess); return ok },
	},
	{
		name:    "machine",
		handler: hypervisor,
		config:  critest.PodConfig,
		made: []string{
			"MachinesReady", "Network.Setup", "StartMachine", "Network.Share", "Network.Share", "Network.Teardown",
		},
		systems: []string{"pod@vm"},
		engine:  func(k engine.Kind, pod string) bool { return k == engine.InMachine{ID: pod} },
	},
}

// TestEveryKind has a pod of each kind live from its making to its removal. Between, another server takes it over,
// which chooses its kind from what lies on disk.
func TestEveryKind(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the files of a HostProcess container belong to root")
	}

	for _, tc := range everyKind {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t, func(c *cri.Config) {
				c.Handlers = append(c.Handlers, hypervisor)
				c.HostProcess = &cri.HostProcess{
					Name:       critest.NodeName,
					NetNS:      c.StateDir,
					BindFilter: true,
				}
			})

			resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{
				Config: tc.config("pod"), RuntimeHandler: tc.handler,
			})
			if err != nil {
				t.Fatal(err)
			}

			pod := resp.GetPodSandboxId()
			var change []func(*containerConfig)
			if tc.container != nil {
				change = append(change, tc.container)
			}
			app := n.Run(t, pod, "app", change...)
			if c, running := n.Engine.Container(app); !running || !tc.engine(c.Kind, pod) {
				t.Errorf("the engine's container, running %t: %+v", running, c)
			}

			n.Stop(t)
			n.Start(t)
			if status := n.Status(t, app); status.GetState() != runtimeapi.ContainerState_CONTAINER_RUNNING {
				t.Errorf("after the server's restart the container is in state %v", status.GetState())
			}
			if diff := cmp.Diff(tc.systems, systemsOf(n, pod, app)); diff != "" {
				t.Errorf("compute systems (-want +got):\n%s", diff)
			}

			second := n.Create(t, pod, "second", change...)
			if c, _ := n.Engine.Container(second); !tc.engine(c.Kind, pod) {
				t.Errorf("the engine's container after the server's restart: %+v", c)
			}
			stop(t, n, pod)
			remove(t, n, pod)
			made := slices.DeleteFunc(n.Calls.Made("Images"), func(call string) bool {
				return strings.HasPrefix(call, "Engine.")
			})

			if diff := cmp.Diff(strings.Join(tc.made, "\n"), strings.Join(made, "\n")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// systemsOf returns the ids of the compute systems, with "pod" and "app" for those of a pod and its container.
func systemsOf(n *critest.Node, pod, app string) []string {
	var systems []string
	for _, s := range n.Server.ComputeSystems() {
		systems = append(systems, strings.NewReplacer(pod, "pod", app, "app").Replace(s.ID))
	}
	return systems
}

// TestTwoKindsAtOnce: a pod that asks for a virtual machine and for the host gets neither.
func TestTwoKindsAtOnce(t *testing.T) {
	testrun.Once(t, testrun.Race)
	for _, tc := range []struct {
		name string
		host *cri.HostProcess
		code codes.Code
		want string
	}{
		{"no-host", nil, codes.Unimplemented, "the host's Windows has no HostProcess containers"},
		{
			"host", &cri.HostProcess{Name: critest.NodeName}, codes.InvalidArgument,
			"a HostProcess pod runs in the host, not in a virtual machine",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t, func(c *cri.Config) {
				c.Handlers, c.HostProcess = append(c.Handlers, hypervisor), tc.host
			})
			_, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{
				Config: critest.HostProcessPod("both"), RuntimeHandler: hypervisor,
			})
			expect(t, err, tc.code, tc.want)
		})
	}
}
