package cri_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri"
	"mullion.dev/mullion/internal/runtime/cri/critest"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/explain"
	"mullion.dev/mullion/internal/windows/sam"
)

func TestCreateContainer(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	id := n.Create(t, pod, "app", func(c *containerConfig) {
		c.Envs = []*runtimeapi.KeyValue{{Key: "COLOR", Value: []byte("blue")}}
		c.Mounts = []*runtimeapi.Mount{
			{HostPath: `C:\data`, ContainerPath: `C:\Data`, Readonly: true},
			{HostPath: `C:\etc-hosts`, ContainerPath: `c:\Windows\System32\drivers\etc\hosts`},
		}
		c.Windows.Resources = &runtimeapi.WindowsContainerResources{CpuMaximum: 5000, MemoryLimitInBytes: 1 << 20}
	})

	got, _ := n.Engine.Container(id)
	work := filepath.Join(n.Config.StateDir, "work")
	data, hosts := hostPath(t, n, `C:\data`), hostPath(t, n, `C:\etc-hosts`)
	want := engine.Container{
		ID:        id,
		Pod:       pod,
		ChainID:   "chain-a",
		Ephemeral: true,
		Labels:    map[string]string{"mullion.dev/node": critest.NodeName, "mullion.dev/sandbox": pod},
		Args: []string{
			"/sbin/init", "--listen", "/run/mullion/start.sock",
			"/bin/wine64", `C:\run.exe`, "--report", "/run/mullion/report", "--env-file",
			"/run/mullion/env",
			"--cwd", `C:\app`, "--memory-limit", "1048576", "--dns-search", "default.svc.cluster.local,cluster.local",
			"--",
			`C:\app\app.exe`, "serve",
		},
		Env:      []string{"WINEPREFIX=/"},
		Dir:      "/Files",
		UID:      1000,
		Hostname: "web",
		NetNS:    n.Network.NetNS(pod),
		Mounts: []engine.Mount{
			{Source: opened(t, data), Target: `C:\Data`, ReadOnly: true},
			{
				Source:      opened(t, hosts),
				Target:      `c:\Windows\System32\drivers\etc\hosts`,
				LinuxTarget: "/etc/hosts",
			},
		},
		SystemFiles: []engine.BindMount{
			{Source: filepath.Join(work, pod, "resolv.conf"), Target: "/etc/resolv.conf"},
		},
		WorkDir:   filepath.Join(work, id, "run"),
		Resources: engine.Resources{CPUMaximum: 5000, MemoryLimit: 1 << 20},
	}

	if diff := cmp.Diff(want, got, sameFile); diff != "" {
		t.Errorf("the engine's container (-want +got):\n%s", diff)
	}
	env, err := os.ReadFile(filepath.Join(got.WorkDir, "env"))
	if err != nil || string(env) != "From_Image=yes\x00COLOR=blue\x00" {
		t.Errorf("environment: %q, %v", env, err)
	}

	if st := n.Status(t, id); st.GetState() != created || st.GetImage().GetImage() != critest.AppImage ||
		st.GetLogPath() != `C:\var\log\pods\web\app\0.log` || st.GetStartedAt() != 0 || st.GetFinishedAt() != 0 {
		t.Errorf("status: %v", st)
	}
}

// TestAccountOfImage: an account that the image adds is the container's user, with the rights of one that every
// container has.
func TestAccountOfImage(t *testing.T) {
	n := critest.NewNode(t)
	n.Engine.Accounts = []sam.Account{{Name: "App"}, {Name: "Boss", Administrator: true}}
	pod := n.RunPod(t, "web")
	for _, tc := range []struct {
		ask, account, passwd string
		uid                  uint32
	}{
		{"app", "App", "App:x:1000:1000::/:/\n", 1000},
		{`.\boss`, "Boss", "Boss:x:0:0::/:/\n", 0},
	} {
		id := n.Run(t, pod, tc.account, func(c *containerConfig) {
			c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{RunAsUsername: tc.ask}
		})
		got, _ := n.Engine.Container(id)
		files := got.SystemFiles
		if got.UID != tc.uid || got.Account != tc.account || files[len(files)-1].Target != "/etc/passwd" {
			t.Fatalf("as %s: %+v", tc.ask, got)
		}

		if text, err := os.ReadFile(files[len(files)-1].Source); err != nil || string(text) != tc.passwd {
			t.Errorf("passwd %q, %v", text, err)
		}
	}
}

// TestExplain has a pod that asks to be explained, and one that does not.
func TestExplain(t *testing.T) {
	n := critest.NewNode(t)
	asks := func(c *podConfig) {
		c.Annotations = map[string]string{explain.Annotation: "true"}
	}
	labels := func(c *containerConfig) {
		c.Labels = map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default"}
	}

	id := n.Create(t, n.RunPod(t, "web", asks), "app", labels)
	quiet := n.Create(t, n.RunPod(t, "other"), "second", labels)
	args := func(id string) string {
		c, _ := n.Engine.Container(id)
		return strings.Join(c.Args, " ")
	}

	const begins = "/sbin/init --explain /run/mullion/explain --listen /run/mullion/start.sock /bin/wine64"
	if got := args(id); !strings.HasPrefix(got, begins) ||
		!strings.Contains(got, " --debug-fd 3 ") {
		t.Errorf("arguments: %s", got)
	}
	if got := args(quiet); strings.Contains(got, "--explain") || strings.Contains(got, "--debug-fd") {
		t.Errorf("arguments of a pod that does not ask: %s", got)
	}

	explained := func() []cri.Explanation {
		got, err := cri.Explained(n.Config.StateDir, "default", "web")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	want := []cri.Explanation{{ID: id, Name: "app"}, {ID: quiet, Name: "second", Off: true}}
	if diff := cmp.Diff(want, explained()); diff != "" {
		t.Errorf("before Wine says anything (-want +got):\n%s", diff)
	}
	c, _ := n.Engine.Container(id)
	if err := os.WriteFile(filepath.Join(c.WorkDir, explain.Name), []byte("2 fixme:x:F stub\n3\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	want[0].Met, want[0].More = []explain.Met{{Count: 2, Text: "fixme:x:F stub"}}, 3
	if diff := cmp.Diff(want, explained()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got, err := cri.Explained(n.Config.StateDir, "default", "nobody"); err != nil || got != nil {
		t.Errorf("another pod: %v, %v", got, err)
	}
}

func TestCreateContainerRefuses(t *testing.T) {
	n := critest.NewNode(t)
	pod := n.RunPod(t, "web")
	before := n.Left()
	for _, tc := range []struct {
		name   string
		change func(*containerConfig)
		code   codes.Code
		words  string
	}{
		{"no-metadata", func(c *containerConfig) { c.Metadata = nil }, codes.InvalidArgument, "no metadata"},
		{"no-image", func(c *containerConfig) { c.Image = nil }, codes.InvalidArgument, "no image"},
		{
			"image-not-there", func(c *containerConfig) { c.Image.Image = critest.RemoteImage },
			codes.NotFound, "find image",
		},
		{
			"image-of-another-build", func(c *containerConfig) { c.Image.Image = critest.OtherImage },
			codes.FailedPrecondition, "operating system does not match",
		},
		{
			"no-program", func(c *containerConfig) { c.Image.Image = critest.EmptyImage },
			codes.InvalidArgument, "no command specified",
		},
		{
			"host-process", func(c *containerConfig) {
				c.Windows.SecurityContext = &runtimeapi.WindowsContainerSecurityContext{HostProcess: true}
			},
			codes.InvalidArgument, "must have the HostProcess field set",
		},
		{
			"image-volume", func(c *containerConfig) {
				c.Mounts = []*runtimeapi.Mount{{Image: &runtimeapi.ImageSpec{Image: "x"}}}
			},
			codes.Unimplemented, "image volumes",
		},
		{
			"propagation", func(c *containerConfig) {
				shared := runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL
				c.Mounts = []*runtimeapi.Mount{{HostPath: `C:\d`, Propagation: shared}}
			},
			codes.InvalidArgument, "mount propagation",
		},
		{
			"pipe", func(c *containerConfig) {
				c.Mounts = []*runtimeapi.Mount{{
					HostPath:      `\\.\pipe\docker_engine`,
					ContainerPath: `\\.\pipe\docker_engine`,
				}}
			},
			codes.Unimplemented, "named pipe",
		},
		{
			"mount-source", func(c *containerConfig) {
				c.Mounts = []*runtimeapi.Mount{{HostPath: `D:\d`, ContainerPath: `C:\d`}}
			},
			codes.Unknown, `source of mount`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			config := critest.ContainerConfig("refused")
			tc.change(config)
			err := createContainer(t, n, pod, config)
			expect(t, err, tc.code, "create container", tc.words)
			if diff := cmp.Diff(before, n.Left()); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
		})
	}

	err := createContainer(t, n, "0123", critest.ContainerConfig("c"))
	expect(t, err, codes.NotFound, "sandbox")
}

func TestCreateContainerIsUndone(t *testing.T) {
	for _, tc := range []struct {
		name    string
		prepare func(t *testing.T, n *critest.Node)
		calls   []string
		words   string
	}{
		{
			"working-folder", func(t *testing.T, n *critest.Node) {
				t.Helper()
				// What would be the folder of the container's own files cannot be made below a file.
				work := filepath.Join(n.Config.StateDir, "work")
				if err := errors.Join(os.RemoveAll(work), os.WriteFile(work, nil, 0o600)); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = os.Remove(work) })
			}, nil, "make working folder",
		},
		{
			"engine", func(t *testing.T, n *critest.Node) {
				t.Helper()
				n.Calls.Fail("Engine.Create", errors.New("no space left"))
			},
			[]string{"Engine.Create"},
			"no space left",
		},
		{
			"checkpoint", func(t *testing.T, n *critest.Node) {
				t.Helper()
				n.Calls.After("Engine.Create", func(id string) error {
					t.Cleanup(n.BreakDisk(t, "containers", id))
					return nil
				})
			},
			[]string{"Engine.Create", "Engine.Remove"},
			"write checkpoint",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			n := critest.NewNode(t)
			pod := n.RunPod(t, "web")
			tc.prepare(t, n)
			err := createContainer(t, n, pod, critest.ContainerConfig("c"))
			expect(t, err, codes.Unknown, `create container "c"`, tc.words)
			if diff := cmp.Diff(tc.calls, n.Calls.Made("Engine.List", "Network", "Images")); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}

			if got := listContainers(t, n, nil); len(got) > 0 {
				t.Errorf("containers: %q", got)
			}
			if got := n.Engine.Containers(); len(got) > 0 {
				t.Errorf("containers of the engine: %q", got)
			}
			if entries, _ := os.ReadDir(filepath.Join(n.Config.StateDir, "work")); len(entries) > 1 { // the pod's own
				t.Errorf("working folders: %v", entries)
			}
		})
	}
}

func opened(t *testing.T, path string) *os.File {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return file
}

// sameFile compares open files by their names.
var sameFile = cmp.Comparer(func(a, b *os.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Name() == b.Name()
})

// TestOneContainer has a node of Windows Server 2016, where a pod has one container at a time.
func TestOneContainer(t *testing.T) {
	n := critest.NewNode(t, func(c *cri.Config) { c.OneContainer = true })
	pod := n.RunPod(t, "web")
	first := n.Create(t, pod, "app")
	second := func() error {
		_, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
			PodSandboxId: pod, Config: critest.ContainerConfig("sidecar"),
		})
		return err
	}
	expect(t, second(), codes.FailedPrecondition, "Windows Server 2016", "1709 or later")
	if _, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: first}); err != nil {
		t.Fatal(err)
	}

	if err := second(); err != nil {
		t.Error(err)
	}
}
