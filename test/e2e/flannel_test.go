//go:build cluster

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/test/built"
)

const flannelDir = "../../examples/flannel"

// TestFieldFlannel brings up the cluster of examples/flannel and deploys flannel as docs/guide.md says: flanneld.exe
// and the flannel CNI plugin on two Windows nodes, flanneld on a Linux node. Then every flow of the network must go as
// in a cluster of Mullion's own network, also after flanneld.exe was killed.
func TestFieldFlannel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	bin := built.Dir(t)
	if _, err := os.Stat(filepath.Join(bin, "flannel/windows/flanneld.exe")); err != nil {
		t.Skipf("needs flannel: make flannel: %v", err)
	}
	dir := t.TempDir()
	f := fixture{
		bin:         bin,
		data:        filepath.Join(dir, "data"),
		kubeconfig:  filepath.Join(dir, "kubeconfig"),
		home:        dir,
		nodeAddress: new(string),
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := f.mullion(t.Context(), t, args...)
		if err != nil {
			logs(t, f)
			t.Fatalf("mullion %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	// prints waits until a command has printed that.
	prints := func(want string, args ...string) {
		t.Helper()
		for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(time.Second) {
			out, err := f.mullion(t.Context(), t, args...)
			if err == nil && strings.Contains(strings.ReplaceAll(out, "\r", ""), strings.ReplaceAll(want, "\r", "")) {
				return
			}
			if time.Now().After(deadline) {
				logs(t, f)
				t.Fatalf("mullion %s did not print %q: %v\n%s", strings.Join(args, " "), want, err, out)
			}
		}
	}
	subnets := strings.NewReplacer("10.213.0.0/24", "10.205.0.0/24", "10.244.0.0/16", "10.204.0.0/16", "10.96.0.0/16",
		"10.95.0.0/16", "kind: Cluster\n", "kind: Cluster\nname: mullion-flannel\n")
	spec := filepath.Join(dir, "cluster.yaml")
	filled(t, flannelDir+"/cluster.yaml", spec, subnets)
	t.Cleanup(func() { f.takeDown(t) })
	must("up", "-f", spec)

	windows, linux := filepath.Join(dir, "windows"), filepath.Join(dir, "linux")
	laid(t, map[string]string{
		filepath.Join(windows, "start.ps1"):          flannelDir + "/windows/start.ps1",
		filepath.Join(windows, "flanneld.exe"):       filepath.Join(bin, "flannel/windows/flanneld.exe"),
		filepath.Join(windows, "cni/flannel.exe"):    filepath.Join(bin, "flannel/windows/flannel.exe"),
		filepath.Join(windows, "cni/win-bridge.exe"): filepath.Join(bin, "windows/win-bridge.exe"),
		filepath.Join(windows, "cni/host-local.exe"): filepath.Join(bin, "windows/host-local.exe"),
		filepath.Join(linux, "flanneld"):             filepath.Join(bin, "flannel/linux/flanneld"),
	})
	must("image", "build", windows, "-f", flannelDir+"/windows/image.yaml")
	must("image", "build", linux, "--os", "linux", "-t", "mullion.local/flannel:v1", "--env", "PATH=/")
	must("node", "exec", "linux-1", "--", "mkdir", "-p", "/opt/cni/bin", "/etc/cni/net.d")
	for to, from := range map[string]string{
		"/opt/cni/bin/flannel":               filepath.Join(bin, "flannel/linux/flannel"),
		"/etc/cni/net.d/10-flannel.conflist": flannelDir + "/linux-cni.conflist",
	} {
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}
		tee := exec.CommandContext(t.Context(), filepath.Join(bin, "mullion"), "--data-dir", f.data, "node", "exec", "linux-1", "--", "tee", to)
		tee.Stdin = in
		out, err := tee.CombinedOutput()
		_ = in.Close()
		if err != nil {
			t.Fatalf("write %s on linux-1: %v\n%.200s", to, err, out)
		}
	}
	must("node", "exec", "linux-1", "--", "chmod", "755", "/opt/cni/bin/flannel")
	api := must("kubectl", "get", "endpointslice", "kubernetes", "-o",
		"jsonpath={.endpoints[0].addresses[0]}:{.ports[0].port}")
	manifest := filepath.Join(dir, "flannel.yaml")
	filled(t, flannelDir+"/flannel.yaml", manifest, subnets, strings.NewReplacer("APISERVER", strings.TrimSpace(api)))
	must("kubectl", "apply", "-f", manifest)
	must("kubectl", "wait", "--for=condition=Ready", "node", "--all", "--timeout=90s")
	must("kubectl", "-n", "kube-flannel", "rollout", "status", "daemonset", "--timeout=60s")

	for _, node := range []string{"win-1", "win-2"} {
		prints("FLANNEL_NETWORK=10.204.0.0/16\r\nFLANNEL_SUBNET=10.204.", "node", "exec", node, "--", "cmd", "/c",
			`type C:\run\flannel\subnet.env`)
	}
	must("net", "test")

	// A route that somebody removed comes back when flanneld.exe is started again, by New-NetRoute.
	must("node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"Get-NetRoute -NextHop 10.205.0.13 | Remove-NetRoute")
	must("node", "exec", "win-1", "--", "taskkill", "/f", "/im", "flanneld.exe")
	prints("10.204.2.0/24", "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"(Get-NetRoute -NextHop 10.205.0.13).DestinationPrefix")
	must("kubectl", "-n", "kube-flannel", "rollout", "status", "daemonset", "--timeout=60s")
	must("net", "test", "--flows", "pod → ")
}
