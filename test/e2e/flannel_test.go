//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const flannelDir = "../../examples/flannel"

// flannelBackend is one of flannel's backends, with the files of examples/flannel that are for it.
type flannelBackend struct {
	name, cluster string
	plugin        string            // that flannel's CNI plugin delegates to on Windows nodes
	pods          string            // the pods' subnet, in subnets
	subnets       *strings.Replacer // from the examples' to those of the test
}

// TestFieldFlannel brings up the clusters of examples/flannel and deploys flannel as the guide says: flanneld.exe
// and the flannel CNI plugin on two Windows nodes, flanneld on a Linux node. Then every flow of the network must go as
// in a cluster of Mullion's own network.
func TestFieldFlannel(t *testing.T) {
	needs(t, program("flannel/windows/flanneld.exe", "flannel", "flannel"))

	t.Run("host-gw", func(t *testing.T) {
		c := newCluster(t)
		c.flannel(t, flannelBackend{
			name:    "host-gw",
			cluster: "cluster.yaml",
			plugin:  "win-bridge.exe",
			pods:    "10.204.0.0/16",
			subnets: strings.NewReplacer("10.213.0.0/24", "10.205.0.0/24", "10.244.0.0/16", "10.204.0.0/16",
				"10.96.0.0/16", "10.95.0.0/16", "kind: Cluster\n", "kind: Cluster\nname: mullion-flannel\n"),
		})
		c.must(t, "net", "test")
		c.flannelRoutes(t)
	})

	t.Run("vxlan", func(t *testing.T) {
		c := newCluster(t)
		c.flannel(t, flannelBackend{
			name:    "vxlan",
			cluster: "cluster-vxlan.yaml",
			plugin:  "win-overlay.exe",
			pods:    "10.226.0.0/16",
			subnets: strings.NewReplacer("10.213.0.0/24", "10.225.0.0/24", "10.244.0.0/16", "10.226.0.0/16",
				"10.96.0.0/16", "10.227.0.0/16", "kind: Cluster\n", "kind: Cluster\nname: mullion-vxlan\n"),
		})
		c.flannelOverlay(t)
		c.netTest(t, "overlay")
		c.flannelPods(t)
	})
}

// flannel brings up the cluster of a backend, and deploys flannel. The cluster is taken down at the end of the test,
// and must leave nothing.
func (c cluster) flannel(t *testing.T, b flannelBackend) {
	t.Helper()
	spec := filepath.Join(c.home, "cluster.yaml")
	filled(t, filepath.Join(flannelDir, b.cluster), spec, b.subnets)
	c.downAfter(t)
	c.must(t, "up", "-f", spec)
	c.flannelPrograms(t, b.plugin)
	api := c.must(t, "kubectl", "get", "endpointslice", "kubernetes", "-o",
		"jsonpath={.endpoints[0].addresses[0]}:{.ports[0].port}")
	var apply []string
	for _, name := range []string{"flannel.yaml", b.name + ".yaml"} {
		manifest := filepath.Join(c.home, name)
		filled(t, filepath.Join(flannelDir, name), manifest, b.subnets,
			strings.NewReplacer("APISERVER", strings.TrimSpace(api)))
		apply = append(apply, "-f", manifest)
	}

	c.must(t, append([]string{"kubectl", "apply"}, apply...)...)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "node", "--all", "--timeout=90s")
	c.must(t, "kubectl", "-n", "kube-flannel", "rollout", "status", "daemonset", "--timeout=60s")
	for _, node := range []string{"win-1", "win-2"} {
		network, _, _ := strings.Cut(b.pods, "0.0/16")
		c.prints(t, "FLANNEL_NETWORK="+b.pods+"\nFLANNEL_SUBNET="+network, "node", "exec", node, "--", "cmd", "/c",
			`type C:\run\flannel\subnet.env`)
	}
}

// flannelPrograms builds the images of the example, and installs the CNI plugin on the Linux node.
func (c cluster) flannelPrograms(t *testing.T, plugin string) {
	t.Helper()
	windows, linux := filepath.Join(c.home, "flannel-windows"), filepath.Join(c.home, "flannel-linux")
	laid(t, map[string]string{
		filepath.Join(windows, "start.ps1"):          flannelDir + "/windows/start.ps1",
		filepath.Join(windows, "source-vip.ps1"):     flannelDir + "/windows/source-vip.ps1",
		filepath.Join(windows, "flanneld.exe"):       filepath.Join(c.bin, "flannel/windows/flanneld.exe"),
		filepath.Join(windows, "cni/flannel.exe"):    filepath.Join(c.bin, "flannel/windows/flannel.exe"),
		filepath.Join(windows, "cni", plugin):        filepath.Join(c.bin, "windows", plugin),
		filepath.Join(windows, "cni/host-local.exe"): filepath.Join(c.bin, "windows/host-local.exe"),
		filepath.Join(linux, "flanneld"):             filepath.Join(c.bin, "flannel/linux/flanneld"),
	})
	c.must(t, "image", "build", windows, "-f", flannelDir+"/windows/image.yaml")
	c.must(t, "image", "build", linux, "--os", "linux", "-t", "mullion.local/flannel:v1", "--env", "PATH=/")
	c.must(t, "node", "exec", "linux-1", "--", "mkdir", "-p", "/opt/cni/bin", "/etc/cni/net.d")
	for to, from := range map[string]string{
		"/opt/cni/bin/flannel":               filepath.Join(c.bin, "flannel/linux/flannel"),
		"/etc/cni/net.d/10-flannel.conflist": flannelDir + "/linux-cni.conflist",
	} {
		in, err := os.Open(from)
		if err != nil {
			t.Fatal(err)
		}

		tee := exec.CommandContext(t.Context(), filepath.Join(c.bin, "mullion"), "--data-dir", c.data, "node", "exec", "linux-1", "--", "tee", to)
		tee.Stdin = in
		out, err := tee.CombinedOutput()
		_ = in.Close()
		if err != nil {
			t.Fatalf("write %s on linux-1: %v\n%.200s", to, err, out)
		}
	}

	c.must(t, "node", "exec", "linux-1", "--", "chmod", "755", "/opt/cni/bin/flannel")
}

// flannelRoutes removes a route to another node's pods. It comes back when flanneld.exe is started again, by
// New-NetRoute.
func (c cluster) flannelRoutes(t *testing.T) {
	t.Helper()
	c.must(t, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"Get-NetRoute -NextHop 10.205.0.13 | Remove-NetRoute")
	c.must(t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "flanneld.exe")
	c.prints(t, "10.204.2.0/24", "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
		"(Get-NetRoute -NextHop 10.205.0.13).DestinationPrefix")
	c.must(t, "kubectl", "-n", "kube-flannel", "rollout", "status", "daemonset", "--timeout=60s")
	c.must(t, "net", "test", "--flows", "pod → ")
}

// flannelOverlay looks at what there is of the overlay: the device of flannel on the Linux node and none of Mullion's,
// and on the Windows nodes flannel's network and a kube-proxy.exe with the source VIP.
func (c cluster) flannelOverlay(t *testing.T) {
	t.Helper()
	c.prints(t, "vxlan id 4096 local 10.225.0.11", "node", "exec", "linux-1", "--", "ip", "-d", "link", "show",
		"flannel.4096")
	if out, err := c.mullion(t.Context(), t, "node", "exec", "linux-1", "--", "ip", "link", "show", "vxlan0"); err == nil {
		t.Errorf("linux-1 has an overlay of Mullion's:\n%s", out)
	}

	for _, node := range []string{"win-1", "win-2"} {
		c.prints(t, "Overlay", "node", "exec", node, "--", "powershell", "-NoProfile", "-Command",
			"(Get-HnsNetwork | ? Name -EQ vxlan0).Type")
		until(t, settle, func() error {
			for _, line := range c.processes(t) {
				if strings.Contains(line, `\kube-proxy.exe`) && strings.Contains(line, "--hostname-override="+node) &&
					strings.Contains(line, "--source-vip=10.226.") {
					return nil
				}
			}
			return fmt.Errorf("no kube-proxy.exe of node %s has a source VIP", node)
		})
	}

	c.healthy(t)
}

// flannelPods sends small and big answers between pods of all nodes, in each direction, under the pods' own addresses
// and through Services by their names, also after flanneld.exe was killed on a node.
func (c cluster) flannelPods(t *testing.T) {
	t.Helper()
	c.image(t)
	nodes := []string{"linux-1", "win-1", "win-2"}
	var manifest strings.Builder
	for _, node := range nodes {
		image := "mullion.local/e2e:v1"
		if node == "linux-1" {
			image = "mullion.local/e2e-linux:v1"
		}

		fmt.Fprintf(&manifest, `apiVersion: v1
kind: Service
metadata: {name: to-%[1]s}
spec: {selector: {app: on-%[1]s}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: on-%[1]s, labels: {app: on-%[1]s}}
spec:
  nodeName: %[1]s
  terminationGracePeriodSeconds: 1
  containers: [{name: serves, image: '%[2]s', args: [serve, ':80']}]
---
`, node, image)
	}

	pods := filepath.Join(c.home, "pods.yaml")
	if err := os.WriteFile(pods, []byte(manifest.String()), 0o600); err != nil {
		t.Fatal(err)
	}

	c.must(t, "kubectl", "apply", "-f", pods)
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pods", "--all", "--timeout=2m")
	all := func() {
		t.Helper()
		for _, to := range nodes {
			ip := strings.TrimSpace(c.must(t, "kubectl", "get", "pod", "on-"+to, "-o", "jsonpath={.status.podIP}"))
			for _, from := range nodes {
				c.gets(t, "on-"+from, "http://"+ip+"/", "served by on-"+to)
				c.gets(t, "on-"+from, "http://"+ip+"/big", strings.Repeat("x", 1000))
				c.gets(t, "on-"+from, "http://to-"+to+"/", "served by on-"+to)
			}
		}
	}
	all()
	restarts := []string{
		"kubectl", "-n", "kube-flannel", "get", "pods", "-l", "app=flannel,os=windows",
		"--field-selector=spec.nodeName=win-1", "-o", "jsonpath={.items[0].status.containerStatuses[0].restartCount}",
	}

	before := c.must(t, restarts...)
	c.must(t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "flanneld.exe")
	poll(t, settle, func(ctx context.Context) error {
		if out, err := c.mullion(ctx, t, restarts...); err != nil || out == before {
			return fmt.Errorf("flanneld.exe has been restarted %q times, %q before: %v", out, before, err)
		}
		return nil
	})
	c.must(t, "kubectl", "-n", "kube-flannel", "rollout", "status", "daemonset", "--timeout=60s")
	all()
}
