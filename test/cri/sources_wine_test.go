//go:build wine

package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// TestSources: a container mounts what its path led to when it was created, also if the server was restarted before it
// starts and the path leads elsewhere by then; and nothing outside its volume.
func TestSources(t *testing.T) {
	n := newNode(t)
	pod, config := n.pod(t, "sources")
	const winVolume = `C:\var\lib\kubelet\pods\uid\volumes\kubernetes.io~empty-dir\v\`
	volume := filepath.Join(n.hostDrive(), "var/lib/kubelet/pods/uid/volumes/kubernetes.io~empty-dir/v")
	for dir, text := range map[string]string{volume + "/sub/deep": "inside", n.hostDrive() + "/elsewhere": "outside"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	for name, text := range map[string]string{
		"in": "sub/../sub/deep", "up": "../../../../../../../../windows", "x": "up/..",
		"out": "../../../../../../../../elsewhere",
	} {
		if err := os.Symlink(text, filepath.Join(volume, name)); err != nil {
			t.Fatal(err)
		}
	}

	mount := func(source string) func(*runtimeapi.ContainerConfig) {
		return func(c *runtimeapi.ContainerConfig) {
			c.Mounts = []*runtimeapi.Mount{{HostPath: winVolume + source, ContainerPath: `C:\m`}}
		}
	}

	_, err := n.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{
		PodSandboxId:  pod,
		SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{
			Metadata: &runtimeapi.ContainerMetadata{Name: "out"},
			Image:    &runtimeapi.ImageSpec{Image: testImage},
			Mounts:   []*runtimeapi.Mount{{HostPath: winVolume + "out", ContainerPath: `C:\m`}},
		},
	})
	if err == nil || !strings.Contains(err.Error(), "leaves the volume") {
		t.Errorf("a mount from outside the volume: %v", err)
	}

	started := n.create(t, pod, config, []string{"read", `C:\m\a.txt`}, mount("in"))
	waiting := n.create(t, pod, config, []string{"read", `C:\m\a.txt`}, func(c *runtimeapi.ContainerConfig) {
		c.Metadata.Attempt = 1
		mount("x")(c)
	})
	n.stop()
	for _, move := range [][2]string{{"sub", "was"}, {"out", "sub"}} {
		if err := os.Rename(filepath.Join(volume, move[0]), filepath.Join(volume, move[1])); err != nil {
			t.Fatal(err)
		}
	}

	n.start(t)
	binds := func() []string {
		paths, err := filepath.Glob(filepath.Join(n.dir, "run/mounts/*/*"))
		if err != nil {
			t.Fatal(err)
		}
		return paths
	}

	if got := binds(); len(got) != 2 {
		t.Errorf("binds before the start: %q", got)
	}
	if _, err := n.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: started}); err != nil {
		t.Fatal(err)
	}

	n.waitExit(t, started)
	if log := n.log(t, started); !strings.Contains(log, "inside") {
		t.Errorf("log: %q", log)
	}
	if got := binds(); len(got) != 1 || !strings.Contains(got[0], waiting) {
		t.Errorf("binds after the start: %q", got)
	}

	if _, err := n.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: waiting}); err != nil {
		t.Fatal(err)
	}
	if got := binds(); len(got) != 0 {
		t.Errorf("binds after the end: %q", got)
	}
}
