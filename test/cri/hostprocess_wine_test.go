//go:build wine

package cri

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/spec"
)

// newHostNode starts a server with a Windows host that runs, and shows these processors or the machine's.
func newHostNode(t *testing.T, shown ...spec.Processors) *node {
	t.Helper()
	n := makeNode(t)
	n.startHost(t)
	for _, p := range shown {
		n.show(t, p)
	}
	n.up(t)
	return n
}

func (n *node) engineHost() *engine.Host {
	if n.host == nil {
		return nil
	}
	return &engine.Host{
		Prefix: filepath.Dir(n.hostDrive()),
		Tmp:    n.host.Tmp,
		Shared: n.host.Shared,
		PID:    n.host.PID,
	}
}

// startHost mounts the host's prefix and starts its first process and its Wine.
func (n *node) startHost(t *testing.T) {
	t.Helper()
	prefix := filepath.Dir(n.hostDrive())
	for _, dir := range []string{"upper", "work"} {
		if err := os.Mkdir(filepath.Join(n.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	options := fmt.Sprintf("lowerdir=%s,upperdir=%s/upper,workdir=%s/work,redirect_dir=on", strings.Join(n.layers, ":"),
		n.dir, n.dir)
	if err := unix.Mount("overlay", prefix, "overlay", 0, options); err != nil {
		t.Fatalf("mount prefix: %v", err)
	}
	pin := filepath.Join(n.dir, "netns")
	if _, err := netns.Ensure(pin); err != nil {
		t.Fatal(err)
	}

	run := filepath.Join(n.dir, "run")
	h := winhost.Host{
		Name:      "hpc-host",
		Netns:     pin,
		StateFile: filepath.Join(run, "host-state.json"),
		Root:      filepath.Join(run, "root"),
		Folders:   []string{prefix, filepath.Join(run, "work")},
		Tmp:       filepath.Join(run, "tmp"),
		Shared:    filepath.Join(run, "hpc"),
		Loader:    n.system.LoaderArgv(),
		Env:       n.system.HostEnv(prefix),
		Dir:       n.hostDrive(),
	}

	if err := os.MkdirAll(filepath.Join(run, "work"), 0o700); err != nil {
		t.Fatal(err)
	}
	hosts := filepath.Join(run, "hosts")
	if err := os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	h.Binds = []winhost.Bind{{Source: hosts, Target: "/etc/hosts"}}
	if n.memory > 0 {
		h.Cgroup = n.cgroup()
		for _, m := range n.memoryMounts(t) {
			h.Binds = append(h.Binds, winhost.Bind{Source: m.Source, Target: m.Target})
		}
	}

	file := filepath.Join(run, "host.json")
	if err := h.Save(file); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	p := proc.New(proc.Spec{
		ID:           component.Sole("host"),
		Path:         self,
		Args:         []string{"host-init", file},
		Netns:        pin,
		Starter:      h.StartInit,
		Ready:        h.Ready,
		LogPath:      filepath.Join(run, "host.log"),
		ReadyTimeout: 30 * time.Second,
		Marker:       n.dir,
	})

	if err := p.Start(t.Context()); err != nil {
		t.Fatalf("start host: %v", err)
	}

	t.Cleanup(func() {
		if err := p.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		for _, mount := range []string{h.Shared, prefix} {
			if err := unix.Unmount(mount, unix.MNT_DETACH); err != nil {
				t.Errorf("unmount %s: %v", mount, err)
			}
		}

		if err := netns.Remove(pin); err != nil {
			t.Error(err)
		}
		n.checkNoMounts(t)
		if err := os.RemoveAll(n.dir); err != nil {
			t.Error(err)
		}
	})

	server := exec.CommandContext(t.Context(), n.system.ServerPath(), "-p") // as the kubelet keeps it running
	server.Env = h.Env
	if err := h.Run(t.Context(), server); err != nil {
		t.Fatalf("start wineserver: %v", err)
	}
	n.host = &h
	if out := n.onHost(t, "cmd", "/c", "ver"); !strings.Contains(out, n.ver()) {
		t.Fatalf("the host's version: %q", out)
	}
}

func (n *node) checkNoMounts(t *testing.T) {
	t.Helper()
	data, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, n.dir) {
			t.Errorf("mount left behind: %.200s", line)
		}
	}
}

// onHost runs a Windows program on the host and returns what it prints.
func (n *node) onHost(t *testing.T, program string, args ...string) string {
	t.Helper()
	out, err := n.host.Output(t.Context(), nil, nil, program, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n")
}

// hostPod runs a HostProcess pod.
func (n *node) hostPod(t *testing.T, name, user string) (string, *runtimeapi.PodSandboxConfig) {
	t.Helper()
	config := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name:      name,
			Uid:       "uid-" + name,
			Namespace: "default",
		},
		LogDirectory: `C:\var\log\pods\` + name,
		Linux: &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_NODE},
		}},
		Windows: &runtimeapi.WindowsPodSandboxConfig{SecurityContext: &runtimeapi.WindowsSandboxSecurityContext{
			HostProcess:   true,
			RunAsUsername: user,
		}},
	}

	resp, err := n.RunPodSandbox(t.Context(), &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatalf("RunPodSandbox: %v", err)
	}
	return resp.PodSandboxId, config
}

// inHost makes a container a HostProcess container that runs the test program with args.
func inHost(args ...string) func(*runtimeapi.ContainerConfig) {
	return func(c *runtimeapi.ContainerConfig) {
		c.Command = append([]string{`%CONTAINER_SANDBOX_MOUNT_POINT%\app\winprog.exe`}, args...)
		c.LogPath = strings.Join(args, "-")[:4] + `\0.log`
		c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{HostProcess: true}
	}
}

const system = `NT AUTHORITY\SYSTEM`

func TestHostProcessRunsInTheHost(t *testing.T) {
	n := newHostNode(t)
	n.onHost(t, "reg", "add", `HKLM\Software\Mullion Test`, "/v", "From", "/d", "host", "/f")
	pod, config := n.hostPod(t, "hpc", system)
	if st, err := n.PodSandboxStatus(t.Context(), &runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod}); err != nil ||
		st.Status.Network.Ip != "" || st.Status.Linux.Namespaces.Options.Network != runtimeapi.NamespaceMode_NODE {
		t.Errorf("status of pod: %v %v", st, err)
	}

	id := n.run1(t, pod, config, nil, inHost("whoami"))
	if st := n.waitExit(t, id); st.ExitCode != 0 {
		t.Errorf("exit code %d", st.ExitCode)
	}
	for _, want := range []string{`\system host=hpc-host`, `dir=c:\app`} {
		if log := strings.ToLower(n.log(t, id)); !strings.Contains(log, want) {
			t.Errorf("log lacks %q: %q", want, log)
		}
	}

	id = n.run1(t, pod, config, nil, inHost("exit", "3221225477"))
	if st := n.waitExit(t, id); st.ExitCode != -1073741819 {
		t.Errorf("exit code %d, want 0xc0000005", st.ExitCode)
	}

	id = n.run1(t, pod, config, nil, inHost("listen", "127.0.0.1:7071"))
	n.waitLog(t, id, "listening")
	for _, tc := range []struct {
		cmd  []string
		want string
	}{
		{[]string{"reg", "query", `HKLM\Software\Mullion Test`}, "host"},
		{[]string{"reg", "add", `HKLM\Software\Mullion Test`, "/v", "Back", "/d", "container", "/f"}, "success"},
		{[]string{"cmd", "/c", `echo written> C:\from-container.txt`}, ""},
		{[]string{"cmd", "/c", `echo own> C:\hpc\own.txt`}, ""},
		{[]string{"cmd", "/c", `del C:\hpc\own.txt & if not exist C:\hpc\own.txt echo gone`}, "gone"},
		{[]string{`C:\hpc\app\winprog.exe`, "read", `C:\from-container.txt`}, "written"},
		// at the image's root, which is not the drive's
		{[]string{"/app/winprog", "read", `C:\from-container.txt`}, "written"},
		{[]string{"cmd", "/c", `dir /b C:\hpc`}, "app"},
	} {
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id,
			Cmd:         tc.cmd,
			Timeout:     30,
		})
		if err != nil || !strings.Contains(strings.ToLower(string(resp.Stdout)), tc.want) {
			t.Errorf("exec %v: %v %v, want %q", tc.cmd, resp, err, tc.want)
		}
	}

	if got := n.onHost(t, "cmd", "/c", `type C:\from-container.txt & dir /b C:\hpc 2>nul & exit 0`); got != "written\n" {
		t.Errorf("the host sees %q, want what was written to C: and nothing in C:\\hpc", got)
	}
	if got := n.onHost(t, "reg", "query", `HKLM\Software\Mullion Test`); !strings.Contains(got, "container") {
		t.Errorf("the host's registry: %q", got)
	}

	conn, err := engine.DialIn(t.Context(), n.host.Netns, "127.0.0.1:7071")
	if err != nil {
		t.Fatalf("dial the container on the host: %v", err)
	}

	_ = conn.Close()
	stats, err := n.PodSandboxStats(t.Context(), &runtimeapi.PodSandboxStatsRequest{PodSandboxId: pod})
	if err != nil || len(stats.Stats.Windows.Containers) != 1 ||
		stats.Stats.Windows.Memory.WorkingSetBytes.Value < 1<<20 {
		t.Errorf("stats: %v %v", stats, err)
	}
}

// TestHostProcessIsRefused has what hcsshim and containerd refuse.
func TestHostProcessIsRefused(t *testing.T) {
	n := newHostNode(t)
	pod, config := n.hostPod(t, "refused", "")
	for user, want := range map[string]string{
		"":                       "empty username or group name passed",
		"ContainerAdministrator": "The user name or password is incorrect. (0x52e)",
	} {
		id := n.create(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) {
			inHost("hello")(c)
			c.Windows.SecurityContext.RunAsUsername = user
		})
		_, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
		if err == nil || !strings.Contains(err.Error(), "failed to create user process token: ") ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("start as %q: %v, want %q", user, err, want)
		}
	}

	mixed := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "mixed"},
		Image:    &runtimeapi.ImageSpec{Image: testImage},
		Windows:  &runtimeapi.WindowsContainerConfig{},
	}

	_, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId:  pod,
		Config:        mixed,
		SandboxConfig: config,
	})
	if err == nil || !strings.Contains(err.Error(),
		"pod spec and all containers inside must have the HostProcess field set to be valid") {
		t.Errorf("a container in a container in a HostProcess pod: %v", err)
	}
}

// TestHostProcessMounts shows volumes where the container wants them and below the mount point, to it alone.
func TestHostProcessMounts(t *testing.T) {
	n := newHostNode(t)
	volume := filepath.Join(n.hostDrive(), "volume")
	if err := os.Mkdir(volume, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(volume, "a.txt"), []byte("from the volume"), 0o644); err != nil {
		t.Fatal(err)
	}

	pod, config := n.hostPod(t, "mounts", "Administrators")
	id := n.run1(t, pod, config, nil, func(c *runtimeapi.ContainerConfig) {
		inHost("sleep")(c)
		c.Mounts = []*runtimeapi.Mount{
			{HostPath: `C:\volume`, ContainerPath: `/Data/In`},
			{HostPath: `C:\volume\a.txt`, ContainerPath: `C:\data\one.txt`, Readonly: true},
		}
	})
	n.waitLog(t, id, "sleeping")
	for _, tc := range []struct{ script, want string }{
		{`type C:\data\in\a.txt`, "from the volume"},
		{`type C:\hpc\data\in\a.txt`, "from the volume"},
		{`type C:\hpc\data\one.txt`, "from the volume"},
		{`echo no> C:\data\one.txt || echo refused`, "refused"},
		{`echo from below> C:\hpc\data\one.txt && type C:\data\one.txt`, "from below"}, // where Windows has a link
		{`echo b> C:\data\in\b.txt && echo done`, "done"},
		{`move C:\data\in\b.txt C:\data\in\c.txt && dir /b C:\data\in`, "c.txt"},
	} {
		resp, err := n.ExecSync(t.Context(), &runtimeapi.ExecSyncRequest{
			ContainerId: id,
			Cmd:         []string{"cmd", "/c", tc.script},
			Timeout:     30,
		})
		if err != nil || !strings.Contains(string(resp.Stdout), tc.want) {
			t.Errorf("%s: %v %v, want %q", tc.script, resp, err, tc.want)
		}
	}

	if data, err := os.ReadFile(filepath.Join(volume, "c.txt")); err != nil || !strings.HasPrefix(string(data), "b") {
		t.Errorf("what the container wrote: %q %v", data, err)
	}
	if got := n.onHost(t, "cmd", "/c", `dir /b C:\data\in 2>nul & exit 0`); got != "" {
		t.Errorf("the host sees the container's volume: %q", got)
	}
}

// TestHostProcessStops stops one of two containers, across a restart of the server; the other and the host's own
// programs hear nothing of it.
func TestHostProcessStops(t *testing.T) {
	n := newHostNode(t)
	pod, config := n.hostPod(t, "stop", system)
	bystander := n.run1(t, pod, config, nil, inHost("tick"))
	id := n.run1(t, pod, config, nil, inHost("sleep"))
	n.waitLog(t, id, "sleeping")
	n.waitLog(t, bystander, "tick 1")
	n.stop()
	n.start(t)
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{
		ContainerId: id,
		Timeout:     20,
	}); err != nil {
		t.Fatalf("StopContainer: %v", err)
	}

	if st := n.status(t, id); st.ExitCode != 0 || !strings.Contains(n.log(t, id), "asked to end: terminated") {
		t.Errorf("exit code %d, log %q", st.ExitCode, n.log(t, id))
	}
	before := n.log(t, bystander)
	eventually(t, "the other container goes on", func() bool { return len(n.log(t, bystander)) > len(before) })
	// Killed: with all its processes, and without the wineserver that serves the host.
	if _, err := n.StopContainer(t.Context(), &runtimeapi.StopContainerRequest{ContainerId: bystander}); err != nil {
		t.Fatalf("StopContainer: %v", err)
	}

	if st := n.status(t, bystander); st.ExitCode != 137 {
		t.Errorf("exit code %d, want 137", st.ExitCode)
	}
	if got := n.onHost(t, "cmd", "/c", "echo alive"); got != "alive\n" {
		t.Errorf("the host says %q", got)
	}
	if _, err := n.RemovePodSandbox(t.Context(), &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Fatalf("RemovePodSandbox: %v", err)
	}

	for _, dir := range []string{n.host.Shared, filepath.Join(n.dir, "run", "work")} {
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("left in %s: %v %v", dir, entries, err)
		}
	}
}
