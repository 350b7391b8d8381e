package cri_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/cri/critest"
)

func TestStartContainer(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app")
	n.Calls.Reset()
	if err := startContainer(t, n, id); err != nil {
		t.Fatal(err)
	}

	st := n.Status(t, id)
	if st.GetState() != running || st.GetStartedAt() < st.GetCreatedAt() {
		t.Errorf("status: %v", st)
	}
	if diff := cmp.Diff([]string{`C:\app\app.exe`, "serve"}, n.Engine.Process(id).Args); diff != "" {
		t.Errorf("program (-want +got):\n%s", diff)
	}

	if got := n.Network.Sharing(pod); !slices.Equal(got, []string{id}) {
		t.Errorf("the network knows of %q in the pod, want the container", got)
	}
	expect(t, startContainer(t, n, id), codes.FailedPrecondition, "CONTAINER_RUNNING")
	expect(t, startContainer(t, n, "0123"), codes.NotFound)
	if diff := cmp.Diff([]string{"Engine.Start", "Network.Share"}, n.Calls.Made("Engine.Wait")); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestStartContainerIsUndone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		config  func(*containerConfig)
		prepare func(t *testing.T, n *critest.Node, id string)
		words   string
	}{
		{
			"user", func(c *containerConfig) {
				c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: "nobody"}
			},
			func(t *testing.T, _ *critest.Node, _ string) { t.Helper() },
			"The user name or password is incorrect. (0x52e)",
		},
		{
			"line",
			func(c *containerConfig) { c.Args = []string{strings.Repeat("a", 1<<15)} },
			func(t *testing.T, _ *critest.Node, _ string) { t.Helper() },
			": The filename or extension is too long. (0xce)",
		},
		{
			"keeper", nil, func(t *testing.T, n *critest.Node, _ string) {
				t.Helper()
				n.StopKeeper()
				t.Cleanup(func() { n.StartKeeper(t) })
			}, "start keeper: no command line",
		},
		{
			"log", nil, func(t *testing.T, n *critest.Node, _ string) {
				t.Helper()
				folder := hostPath(t, n, `C:\var\log\pods\web\app`)
				if err := os.WriteFile(folder, nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}, "make folder of log",
		},
		{
			"engine", nil, func(t *testing.T, n *critest.Node, _ string) {
				t.Helper()
				n.Calls.Fail("Engine.Start", errors.New("runc is gone"))
			}, "runc is gone",
		},
		{
			"windows", nil, func(t *testing.T, n *critest.Node, _ string) {
				t.Helper()
				n.Engine.OnStart = func(_ string, p *critest.Process) error {
					return p.Refuse(2, "The system cannot find the file specified.")
				}
			}, ": The system cannot find the file specified.",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			pod := n.RunPod(t, "web")
			config := []func(*containerConfig){}
			if tc.config != nil {
				config = append(config, tc.config)
			}

			id := n.Create(t, pod, "app", config...)
			tc.prepare(t, n, id)
			expect(t, startContainer(t, n, id), codes.Unknown, `start container "`+id+`"`, tc.words)
			if _, running := n.Engine.Container(id); running {
				t.Error("it runs")
			}

			expectStartError(t, n.Status(t, id), tc.words)
			if fifos := listDir(t, n.Config.RunDir, "fifo"); len(fifos) > 0 {
				t.Errorf("FIFOs: %q", fifos)
			}
			expect(t, startContainer(t, n, id), codes.FailedPrecondition, "CONTAINER_EXITED")
		})
	}
}

// TestStartContainerThatIsRefusedAndStays: the report lies where the container's user can write, so a program can have
// its own start refused.
func TestStartContainerThatIsRefusedAndStays(t *testing.T) {
	for name, report := range map[string]func(n *critest.Node, id string, p *critest.Process) error{
		"refused": func(_ *critest.Node, _ string, p *critest.Process) error {
			return p.ReportRefused(5, "Access is denied.")
		},
		"no-utf8": func(_ *critest.Node, _ string, p *critest.Process) error {
			return p.ReportRefused(5, "\xff")
		},
		"long": func(_ *critest.Node, _ string, p *critest.Process) error {
			return p.ReportRefused(5, strings.Repeat("ä", 20_000))
		},
		"not-a-file": func(n *critest.Node, id string, _ *critest.Process) error {
			c, _ := n.Engine.Container(id)
			return os.Mkdir(filepath.Join(c.WorkDir, "report"), 0o700)
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := critest.NewNode(t)
			n.Engine.OnStart = func(id string, p *critest.Process) error { return report(n, id, p) }
			id := n.Create(t, n.RunPod(t, "web"), "app")
			expect(t, startContainer(t, n, id), codes.Unknown, "start container")
			if _, runs := n.Engine.Container(id); runs {
				t.Error("it is said not to have started, and runs")
			}

			st := n.Status(t, id)
			expectStartError(t, st, "")
			if len(st.GetMessage()) > 4096 {
				t.Errorf("a message of %d bytes", len(st.GetMessage()))
			}
		})
	}
}

// TestStartContainerThatCannotBeKilled: a container that runs is said to run, and can be stopped, whatever it says of
// its start.
func TestStartContainerThatCannotBeKilled(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	n := critest.NewNode(t)
	n.Engine.OnStart = func(_ string, p *critest.Process) error { return p.ReportRefused(5, "Access is denied.") }
	id := n.Create(t, n.RunPod(t, "web"), "app")
	n.Calls.Fail("Engine.Signal", errors.New("containerd is away"))
	expect(t, startContainer(t, n, id), codes.Unknown, "Access is denied", "containerd is away")
	if st := n.Status(t, id); st.GetState() != running {
		t.Errorf("status: %v", st)
	}

	n.Calls.Reset()
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Errorf("StopContainer: %v", err)
	}
	expectStartError(t, n.Status(t, id), "Access is denied")
}

// TestStartContainerKillsBeforeItsEndIsTold: nobody hears of the end of a container in which something runs.
func TestStartContainerKillsBeforeItsEndIsTold(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	n := critest.NewNode(t)
	n.Engine.OnStart = func(_ string, p *critest.Process) error { return p.ReportRefused(5, "Access is denied.") }
	id := n.Create(t, n.RunPod(t, "web"), "app")
	n.Calls.Before("Engine.Signal", func(string) error {
		if st := n.Status(t, id); st.GetState() != running {
			t.Errorf("before it is killed: %v", st)
		}
		return nil
	})
	expect(t, startContainer(t, n, id), codes.Unknown, "Access is denied")
	expectStartError(t, n.Status(t, id), "Access is denied")
}

// TestRefusalAfterTheStart: a program that runs cannot take its own start back.
func TestRefusalAfterTheStart(t *testing.T) {
	n := critest.NewNode(t)
	id := n.Run(t, n.RunPod(t, "web"), "app")
	if err := n.Engine.Process(id).ReportRefused(5, "\xff"); err != nil {
		t.Fatal(err)
	}

	n.Stop(t)
	n.Start(t)
	if st := n.Status(t, id); st.GetState() != running {
		t.Errorf("status: %v", st)
	}
	if err := n.Engine.Process(id).Exit(3); err != nil {
		t.Fatal(err)
	}

	if st := n.WaitExit(t, id); st.GetExitCode() != 3 || st.GetReason() != "Error" {
		t.Errorf("status: %v", st)
	}
}

// TestStartContainerRefusedWithoutServer: the server is killed in the start, and Windows refuses the program.
func TestStartContainerRefusedWithoutServer(t *testing.T) {
	n := critest.NewNode(t)
	n.Engine.OnStart = func(string, *critest.Process) error { return nil }
	id := n.Create(t, n.RunPod(t, "web"), "app")
	n.KillIn(t, "Engine.Start", true, func() { _ = startContainer(t, n, id) })
	if st := n.Status(t, id); st.GetState() != running {
		t.Errorf("status: %v", st)
	}
	if err := n.Engine.Process(id).Refuse(193, "%1 is not a valid Win32 application."); err != nil {
		t.Fatal(err)
	}
	expectStartError(t, n.WaitExit(t, id), "hcs::System::CreateProcess "+id+": %1 is not a valid Win32 application.")
}

// TestStartContainerWhileThePodIsStopped: nothing runs in a pod that is stopped, whichever comes first.
func TestStartContainerWhileThePodIsStopped(t *testing.T) {
	testrun.Once(t, testrun.Race)

	for _, call := range []string{"Engine.Start", "Network.Teardown"} {
		t.Run(call, func(t *testing.T) {
			n := critest.NewNode(t)
			pod := n.RunPod(t, "web")
			id := n.Create(t, pod, "app")
			if call == "Engine.Start" {
				n.Calls.Before(call, func(string) error { stop(t, n, pod); return nil })
				expect(t, startContainer(t, n, id), codes.FailedPrecondition, "is not running")
				expectStartError(t, n.Status(t, id), "is not running")
			} else {
				n.Calls.Before(call, func(string) error { return startContainer(t, n, id) })
				stop(t, n, pod)
			}

			if _, runs := n.Engine.Container(id); runs {
				t.Error("it runs")
			}
			if st := n.Status(t, id); st.GetState() != exited {
				t.Errorf("status: %v", st)
			}
		})
	}
}
