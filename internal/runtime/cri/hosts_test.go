package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/engine"
)

const (
	kubeletsHosts = `C:\var\lib\kubelet\pods\Uid-1\etc-hosts`
	hostsInPod    = `C:\Windows\System32\drivers\etc\hosts`
)

func TestHostsMount(t *testing.T) {
	pipe := &runtimeapi.Mount{HostPath: `\\.\pipe\a`, ContainerPath: `\\.\pipe\a`}
	data := &runtimeapi.Mount{HostPath: `C:\data`, ContainerPath: `C:\data`}
	for _, tt := range []struct {
		name         string
		host, inside string
		want         int
	}{
		{"the kubelet's", kubeletsHosts, hostsInPod, 1},
		{"as it may write them", `c:/var/lib/kubelet/pods/uid-1/etc-hosts`, `c:\windows/system32/DRIVERS\etc\hosts`, 1},
		{"another pod's", `C:\var\lib\kubelet\pods\uid-2\etc-hosts`, hostsInPod, -1},
		{"a volume of the pod", `C:\var\lib\kubelet\pods\uid-1\volumes\kubernetes.io~empty-dir\etc-hosts`, hostsInPod, -1},
		{"a file of the host", `C:\etc-hosts`, hostsInPod, -1},
		{"at another place", kubeletsHosts, `C:\hosts`, -1},
	} {
		config := &runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{
			pipe, data, {HostPath: tt.host, ContainerPath: tt.inside},
		}}
		if got := hostsMount("Uid-1", config); got != tt.want {
			t.Errorf("%s: mount %d, want %d", tt.name, got, tt.want)
		}
	}

	if got := hostsMount("Uid-1", &runtimeapi.ContainerConfig{}); got != -1 {
		t.Errorf("without mounts: %d", got)
	}
}

// TestBoundHosts: a container has a copy of the kubelet's hosts file, which it may write to; the kubelet's stays as it
// is.
func TestBoundHosts(t *testing.T) {
	config := &runtimeapi.ContainerConfig{Mounts: []*runtimeapi.Mount{{
		HostPath:      kubeletsHosts,
		ContainerPath: hostsInPod,
	}}}

	for _, tt := range []struct {
		name, text, says string
		folder           bool
	}{
		{name: "usual", text: "10.0.0.7 seven\n"},
		{name: "empty"},
		{name: "the longest", text: strings.Repeat("#", mostHosts)},
		{name: "longer", text: strings.Repeat("#", mostHosts+1), says: "it has more than 2097152 bytes"},
		{name: "a folder", folder: true, says: "it is no file"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kubelets, runDir := filepath.Join(t.TempDir(), "etc-hosts"), t.TempDir()
			if tt.folder {
				if err := os.Mkdir(kubelets, 0o755); err != nil {
					t.Fatal(err)
				}
			} else {
				writeFile(t, kubelets, tt.text)
			}

			source, err := os.OpenFile(kubelets, unix.O_PATH, 0)
			if err != nil {
				t.Fatal(err)
			}
			mounts := []engine.Mount{{Source: source}}
			defer closeSources(mounts)

			err = boundHosts("Uid-1", config, mounts, runDir)
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) || mounts[0].Source != source {
					t.Errorf("error %v, want %q; mounted is %q", err, tt.says, mounts[0].Source.Name())
				}
				return
			}

			own := filepath.Join(runDir, hostsName)
			if err != nil || mounts[0].Source.Name() != own {
				t.Fatalf("mounted is %q, %v", mounts[0].Source.Name(), err)
			}
			if info, err := os.Stat(own); err != nil || info.Mode().Perm() != 0o666 {
				t.Errorf("%v, %v", info, err)
			}

			if got, err := os.ReadFile(own); err != nil || string(got) != tt.text {
				t.Errorf("the copy has %.60q, %v", got, err)
			}
			writeFile(t, own, "10.0.0.8 eight\n")
			if got, err := os.ReadFile(kubelets); err != nil || string(got) != tt.text {
				t.Errorf("the kubelet's has %.60q, %v", got, err)
			}

			if source.Close() == nil {
				t.Error("the kubelet's file is still open")
			}
		})
	}
}
