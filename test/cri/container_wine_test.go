//go:build wine

package cri

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/runtime/engine"
)

func TestContainerRunsAndLogs(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "hello")
	start := time.Now()
	id := n.run1(t, pod, config, nil, nil)
	started := time.Since(start)
	st := n.waitExit(t, id)
	t.Logf("create and start %v, to the end %v", started, time.Since(start))
	if st.ExitCode != 0 || st.Reason != "Completed" {
		t.Errorf("exit code %d, reason %q, message %q", st.ExitCode, st.Reason, st.Message)
	}

	want := "stdout F hello from Windows\nstderr F and from stderr\n"
	for _, line := range strings.SplitAfter(strings.TrimSuffix(want, "\n"), "\n") {
		if !strings.Contains(n.log(t, id), strings.TrimSpace(line)) {
			t.Errorf("log lacks %q:\n%s", line, n.log(t, id))
		}
	}

	if _, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
		t.Errorf("a second RemoveContainer: %v", err)
	}

	_, err := n.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if status.Code(err) != codes.NotFound {
		t.Errorf("ContainerStatus of a removed container: %v, want NotFound", err)
	}
}

func TestExitCodesHave32Bits(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "exit")
	for _, tc := range []struct {
		code uint32
		want int32
	}{{7, 7}, {256, 256}, {0xc0000005, -1073741819}} {
		id := n.run1(t, pod, config, []string{"exit", fmt.Sprint(tc.code)},
			func(c *runtimeapi.ContainerConfig) { c.Metadata.Attempt = tc.code })
		if st := n.waitExit(t, id); st.ExitCode != tc.want || st.Reason != "Error" {
			t.Errorf("exit %#x: code %d, reason %q, want %d, Error", tc.code, st.ExitCode, st.Reason, tc.want)
		}
	}
}

func TestUsersAndHostname(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "who")
	for _, tc := range []struct{ ask, want string }{
		{"", "ContainerAdministrator"},
		{"ContainerUser", "ContainerUser"},
		{"containeradministrator", "ContainerAdministrator"},
		{`User Manager\ContainerUser`, "ContainerUser"},
	} {
		id := n.run1(t, pod, config, []string{"whoami"}, func(c *runtimeapi.ContainerConfig) {
			c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: tc.ask}
		})
		n.waitExit(t, id)
		got := strings.ToLower(n.log(t, id))
		for _, want := range []string{`\` + strings.ToLower(tc.want) + " ", "host=who ", `dir=c:\app`} {
			if !strings.Contains(got, want) {
				t.Errorf("as %q: %q lacks %q", tc.ask, got, want)
			}
		}
	}

	id := n.create(t, pod, config, []string{"whoami"}, func(c *runtimeapi.ContainerConfig) {
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: "FooLish"}
	})
	_, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
	if err == nil || !strings.Contains(err.Error(), "The user name or password is incorrect") {
		t.Errorf("start as an unknown user: %v", err)
	}

	if st := n.status(t, id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.Reason != "StartError" ||
		st.ExitCode != 128 {
		t.Errorf("status after a start that was refused: %v %q %d", st.State, st.Reason, st.ExitCode)
	}
}

// TestHostNameWithDots: a pod's hostnameOverride may be a whole domain name, and programs see it so.
func TestHostNameWithDots(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "override.example.host")
	id := n.run1(t, pod, config, []string{"whoami"}, nil)
	n.waitExit(t, id)
	if log := n.log(t, id); !strings.Contains(log, "host=override.example.host ") {
		t.Errorf("no such host name in %q", log)
	}
}

func TestEnvironmentIsWindows(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "env")
	id := n.run1(t, pod, config, []string{"env"}, func(c *runtimeapi.ContainerConfig) {
		c.Envs = []*runtimeapi.KeyValue{
			{
				Key:   "COLOR",
				Value: []byte("blue"),
			}, {Key: "LD_PRELOAD", Value: []byte("/evil.so")}, {Key: "Text", Value: []byte("a=b ü")},
		}
	})
	n.waitExit(t, id)
	log := n.log(t, id)
	for _, want := range []string{"From_Image=yes\n", "COLOR=blue\n", "Text=a=b ü\n", "LD_PRELOAD=/evil.so\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("environment lacks %q:\n%s", want, log)
		}
	}

	for _, unwanted := range []string{"Color=red", "WINEPREFIX="} {
		if strings.Contains(log, unwanted) {
			t.Errorf("environment has %q", unwanted)
		}
	}
}

func TestProgramThatIsNotThere(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "gone")
	id := n.create(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) { c.Command = []string{"nosuchprogram"} })
	_, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
	const words = ": The system cannot find the file specified."
	if err == nil || !strings.Contains(err.Error(), "hcs::System::CreateProcess "+id+words) {
		t.Errorf("StartContainer: %v", err)
	}

	eventually(t, "container has ended",
		func() bool { return n.status(t, id).State == runtimeapi.ContainerState_CONTAINER_EXITED })
	if st := n.status(t, id); st.Reason != "StartError" || st.ExitCode != 128 ||
		!strings.Contains(st.Message, "cannot find the file") {
		t.Errorf("reason %q, code %d, message %q", st.Reason, st.ExitCode, st.Message)
	}
}

// TestProgramThatTakesItsStartBack: the report of how it fares lies where the program can write.
func TestProgramThatTakesItsStartBack(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "liar")
	id := n.run1(t, pod, config, []string{"report"}, nil)
	n.waitLog(t, id, "reported: <nil>")
	if st := n.status(t, id); st.State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Errorf("it runs, and is in state %v", st.State)
	}

	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Errorf("StopContainer: %v", err)
	}
	if st := n.status(t, id); st.ExitCode != 137 || st.Reason != "Error" {
		t.Errorf("exit code %d, reason %q, message %q", st.ExitCode, st.Reason, st.Message)
	}
	if left := processesOf(t, id); len(left) > 0 {
		t.Errorf("processes %v run", left)
	}
}

func TestStopAsksFirst(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "stop")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.waitLog(t, id, "sleeping")
	start := time.Now()
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{
		ContainerId: id,
		Timeout:     20,
	}); err != nil {
		t.Fatalf("StopContainer: %v", err)
	}

	t.Logf("stopped in %v", time.Since(start))
	if st := n.status(t, id); st.State != runtimeapi.ContainerState_CONTAINER_EXITED || st.ExitCode != 0 {
		t.Errorf("state %v, exit code %d", st.State, st.ExitCode)
	}
	if !strings.Contains(n.log(t, id), "asked to end: terminated") {
		t.Errorf("log: %s", n.log(t, id))
	}

	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{
		ContainerId: id,
		Timeout:     1,
	}); err != nil {
		t.Errorf("a second StopContainer: %v", err)
	}
}

// TestStopTellsFirstProgram: a shell is the first program, so what it has started learns nothing of the stop, is
// killed, and an event says so.
func TestStopTellsFirstProgram(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "shell")
	id := n.create(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) {
		c.Command = []string{"cmd", "/c", `C:\app\winprog.exe sleep`}
	})
	if _, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}

	n.waitLog(t, id, "sleeping")
	start := time.Now()
	request := &runtimeapi.StopContainerRequest{ContainerId: id, Timeout: 20}
	if _, err := n.StopContainer(t.Context(), request); err != nil {
		t.Fatalf("StopContainer: %v", err)
	}
	if took := time.Since(start); took > 15*time.Second {
		t.Errorf("stopped after %v", took)
	}

	if log := n.log(t, id); strings.Contains(log, "asked to end") {
		t.Errorf("the shell's program was told: %s", log)
	}
	const want = "first program, cmd; 1 program that it had started was killed: winprog.exe."
	if told := n.told(); len(told) != 1 || !strings.Contains(told[0].Message, want) {
		t.Errorf("told %+v, want %q", told, want)
	}
}

func TestStopKillsAfterGrace(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	n := newNode(t)
	pod, config := n.pod(t, "kill")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	n.waitLog(t, id, "sleeping")
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: id}); err != nil {
		t.Fatalf("StopContainer: %v", err)
	}

	if st := n.status(t, id); st.ExitCode != 137 || st.Reason != "Error" {
		t.Errorf("exit code %d, reason %q, want 137, Error", st.ExitCode, st.Reason)
	}
	if _, err := n.StopPodSandbox(t.Context(), &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Errorf("StopPodSandbox: %v", err)
	}
	if n.network.up[pod] {
		t.Error("the pod is still connected")
	}

	if _, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Errorf("RemovePodSandbox: %v", err)
	}
	list, err := n.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil || len(list.Containers) != 0 {
		t.Errorf("containers of a removed pod: %v %v", list, err)
	}
}

// hostsFile is the hosts file in a container.
const hostsFile = `C:\Windows\System32\drivers\etc\hosts`

func TestMounts(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "mounts")
	volume := filepath.Join(n.hostDrive(), "var", "lib", "kubelet", "pods", "vol")
	own := filepath.Join(n.hostDrive(), "var", "lib", "kubelet", "pods", "uid-mounts")
	hosts := filepath.Join(own, "etc-hosts")
	if err := errors.Join(os.MkdirAll(volume, 0o777), os.MkdirAll(own, 0o755)); err != nil {
		t.Fatal(err)
	}

	if err := os.Chmod(volume, 0o777); err != nil {
		t.Fatal(err)
	}

	for file, text := range map[string]string{
		hosts:                          "10.0.0.7 seven\n",
		filepath.Join(volume, "a.txt"): "from the volume",
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}

	mounts := []*runtimeapi.Mount{
		{HostPath: `c:\VAR\lib\kubelet\pods\vol`, ContainerPath: "/data/Vol"},
		{HostPath: `C:\var\lib\kubelet\pods\vol`, ContainerPath: `c:\APP\ro`, Readonly: true},
		{HostPath: `c:\var\lib\kubelet\pods\uid-mounts\etc-hosts`, ContainerPath: hostsFile},
	}

	with := func(c *runtimeapi.ContainerConfig) { c.Mounts = mounts }
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"read", `C:\data\vol\a.txt`}, "from the volume<nil>"},
		{[]string{"read", `C:\app\ro\A.TXT`}, "from the volume<nil>"},
		{[]string{"read", hostsFile}, "10.0.0.7 seven"},
		{[]string{"write", hostsFile, "10.0.0.8 eight"}, "stdout F <nil>"}, // to a copy, that the container has alone
		{[]string{"read", strings.ToLower(hostsFile)}, "10.0.0.7 seven"},
		{[]string{"write", `C:\data\vol\b.txt`, "B"}, "stdout F <nil>"},
		{[]string{"write", `C:\app\ro\c.txt`, "C"}, "denied"},
		{[]string{"write", `C:\new.txt`, "D"}, "stdout F <nil>"},
		{[]string{"write", `C:\windows\system32\new.txt`, "D"}, "stdout F <nil>"},
	} {
		id := n.run1(t, pod, config, tc.args, with)
		n.waitExit(t, id)
		if log := n.log(t, id); !strings.Contains(log, tc.want) {
			t.Errorf("%v: %q lacks %q", tc.args, log, tc.want)
		}
		if err := os.Remove(n.logFile(t, id)); err != nil {
			t.Error(err)
		}
	}

	if data, err := os.ReadFile(filepath.Join(volume, "b.txt")); err != nil || string(data) != "B" {
		t.Errorf("what the container wrote: %q %v", data, err)
	}
	if data, err := os.ReadFile(hosts); err != nil || string(data) != "10.0.0.7 seven\n" {
		t.Errorf("the kubelet's hosts file: %q %v", data, err)
	}

	// A source that is not there becomes a folder, which the container may write to.
	id := n.run1(t, pod, config, []string{"write", `C:\made\d.txt`, "D"}, func(c *runtimeapi.ContainerConfig) {
		c.Mounts = []*runtimeapi.Mount{{HostPath: `c:\not\there`, ContainerPath: `C:\made`}}
	})
	n.waitExit(t, id)
	if data, err := os.ReadFile(filepath.Join(n.hostDrive(), "not", "there", "d.txt")); err != nil ||
		string(data) != "D" {
		t.Errorf("what the container wrote to a folder that was made: %q %v; log %q", data, err, n.log(t, id))
	}
}

func TestExecSync(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "exec")
	id := n.run1(t, pod, config, []string{"sleep"}, nil)
	start := time.Now()
	resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{"cmd", "/c", "ver"},
		Timeout:     20,
	})
	if err != nil {
		t.Fatalf("ExecSync: %v", err)
	}

	t.Logf("cmd /c ver in %v", time.Since(start))
	if !strings.Contains(string(resp.Stdout), n.ver()) || resp.ExitCode != 0 {
		t.Errorf("stdout %q, exit code %d", resp.Stdout, resp.ExitCode)
	}

	resp, err = n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{"/app/winprog", "hello"},
		Timeout:     20,
	})
	if err != nil || string(resp.Stdout) != "hello from Windows\n" || string(resp.Stderr) != "and from stderr\n" {
		t.Errorf("exec winprog hello: %v %v", resp, err)
	}

	resp, err = n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{`c:\app\winprog`, "exit", "3221225477"},
		Timeout:     20,
	})
	if err != nil || resp.ExitCode != -1073741819 {
		t.Errorf("exec exit 0xc0000005: %v %v", resp, err)
	}

	_, err = n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
		ContainerId: id,
		Cmd:         []string{`c:\app\winprog`, "tick"},
		Timeout:     1,
	})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("exec that takes too long: %v, want DeadlineExceeded", err)
	}

	_, err = n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{ContainerId: id, Cmd: []string{"nosuch"}})
	form := regexp.MustCompile(`failed to exec in container: failed to start exec "[0-9a-f]+": hcs::System::CreateProcess ` + id +
		`: The system cannot find the file specified\.: unknown$`)
	if err == nil || !form.MatchString(err.Error()) {
		t.Errorf("exec of what is not there: %v", err)
	}
}

// TestHTTPServerAPI checks that both users of containers can listen by http.sys, without a reservation of the URL. The
// driver and Wine's services start with the first call.
func TestHTTPServerAPI(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "httpsys")
	for attempt, user := range []string{"ContainerAdministrator", "ContainerUser"} {
		id := n.run1(t, pod, config, []string{"httpsys", "http://+:8080/", "http://127.0.0.1:8080/x"}, func(c *runtimeapi.ContainerConfig) {
			c.Metadata.Attempt = uint32(attempt)
			c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: user}
		})

		start := time.Now()
		n.waitExit(t, id)
		t.Logf("%s: %v", user, time.Since(start))
		if got := n.log(t, id); !strings.Contains(got, "answered 204") || !strings.Contains(got, "Microsoft-HTTPAPI/2.0") {
			t.Errorf("%s: %s", user, got)
		}
	}
}

func TestPortForwardReachesLoopbackOfPod(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "listen")
	id := n.run1(t, pod, config, []string{"listen", "127.0.0.1:7070"}, nil)
	n.waitLog(t, id, "listening")
	conn, err := engine.DialIn(t.Context(), "/var/run/netns/mt-cri-"+pod[:8], "localhost:7070")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	fmt.Fprintln(conn, "hi")
	buf := make([]byte, 64)
	read, _ := conn.Read(buf)
	if diff := cmp.Diff("you said hi\n", string(buf[:read])); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if _, err := net.DialTimeout("tcp", "127.0.0.1:7070", 200*time.Millisecond); err == nil {
		t.Error("the pod's loopback can be reached from outside")
	}
}
