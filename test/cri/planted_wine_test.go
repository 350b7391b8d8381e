//go:build wine

package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/base/testrun"
)

// TestMountBelowALink: a container plants a link in a volume, in the place of a folder below which another volume is
// mounted in a second container. The folder that the mount needs is made in that container or not at all: nothing of
// the machine gets one.
func TestMountBelowALink(t *testing.T) {
	testrun.Once(t, testrun.Attack)
	n := newNode(t)
	n.loadAttack(t)
	pod, config := n.pod(t, "planted")
	outside := t.TempDir()
	if err := os.MkdirAll(filepath.Join(n.hostDrive(), "w"), 0o777); err != nil {
		t.Fatal(err)
	}

	const made = "made-by-a-mount"
	up := strings.Repeat("../", 20)
	targets := []string{
		"/Files/windows", "/run/mullion", "/usr", "/tmp", outside, up + "tmp", up + outside[1:], "/proc/self/root/tmp",
		"/proc/1/root/usr", "/proc/self/fd", "/dev/shm",
	}
	folders := []string{"/", "/usr", "/tmp", "/dev/shm", outside, filepath.Join(n.hostDrive(), "windows"), n.dir}
	for _, m := range n.system.Mounts() { // of the machine, and read-only
		targets, folders = append(targets, m.Target), append(folders, m.Source)
	}

	reached := 0
	for i, target := range targets {
		link := fmt.Sprintf("link-%d", i)
		n.waitExit(t, n.attacks(t, pod, config, "plants-"+link, 256, "link", target, "/Files/v/"+link))
		if got, err := os.Readlink(filepath.Join(n.hostDrive(), "v", link)); err != nil || got != target {
			t.Fatalf("control: the link leads to %q, %v", got, err)
		}

		name := "mounts-" + link
		resp, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
			PodSandboxId: pod, SandboxConfig: config,
			Config: &runtimeapi.ContainerConfig{
				Metadata: &runtimeapi.ContainerMetadata{Name: name},
				Image:    &runtimeapi.ImageSpec{Image: attackImage},
				Command:  []string{"cmd", "/c", `echo ran & dir /b C:\v\` + link},
				LogPath:  name + ".log",
				Windows:  &runtimeapi.WindowsContainerConfig{},
				Mounts: []*runtimeapi.Mount{
					{HostPath: `C:\v`, ContainerPath: `C:\v`},
					{HostPath: `C:\w`, ContainerPath: `C:\v\` + link + `\` + made + `\deep`},
				},
			},
		})
		if err == nil {
			_, err = n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: resp.ContainerId})
		}
		if err == nil {
			n.waitExit(t, resp.ContainerId)
			reached++
			t.Logf("%s: it runs: %q", target, n.log(t, resp.ContainerId))
		} else {
			t.Logf("%s: %.300v", target, err)
		}
	}

	t.Logf("%d of %d containers ran", reached, len(targets))
	for _, dir := range folders {
		if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
			t.Errorf("a mount made %s", filepath.Join(dir, made))
		}
	}
	if text, err := os.ReadFile("/proc/self/mountinfo"); err != nil || strings.Contains(string(text), made) {
		t.Errorf("a mount of the machine leads there (%v)", err)
	}
}

// TestHandedOverToAnotherPod: a pod hands another one all that it can open of itself: folders, namespaces, its own
// process and output. When it is removed, nothing of it is left but what the other one has.
func TestHandedOverToAnotherPod(t *testing.T) {
	testrun.Once(t, testrun.Leftover)
	n := newNode(t)
	n.loadAttack(t)
	holding, holdingConfig := n.pod(t, "holding")
	holds := n.attacks(t, holding, holdingConfig, "holder", 256, "hold", "/Files/v/socket")
	n.waitLog(t, holds, "holding 0")

	pod, config := n.pod(t, "giving")
	gives := n.attacks(t, pod, config, "giver", 256, "hand", "/Files/v/socket", "own")
	if st := n.waitExit(t, gives); st.ExitCode != 0 {
		t.Errorf("the giver ended with %d", st.ExitCode)
	}
	n.waitLog(t, holds, "holding 1") // ten or more
	t.Logf("%s", n.log(t, gives))

	ctx := t.Context()
	if _, err := n.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: gives}); err != nil {
		t.Error(err)
	}
	if _, err := n.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: pod}); err != nil {
		t.Error(err)
	}

	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(text), gives) {
		t.Errorf("a mount of it is left (%v)", err)
	}
	if left := processes(t, gives); len(left) > 0 {
		t.Errorf("processes of it are left: %v", left)
	}
	for _, top := range []string{"/sys/fs/cgroup", n.dir} {
		_ = filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() && (d.Name() == gives || d.Name() == pod) {
				t.Errorf("%s is left", path)
			}
			return nil // what is gone meanwhile
		})
	}
	if n.status(t, holds).State != runtimeapi.ContainerState_CONTAINER_RUNNING {
		t.Error("the holder has ended: this is no attack")
	}
}
