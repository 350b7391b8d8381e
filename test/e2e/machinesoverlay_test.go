//go:build cluster

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// overlayYAML is a server with nodes of its own.
const overlayYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-machines
networking: {advertiseAddress: 198.51.100.1, mode: overlay}
nodes:
- os: linux
- windowsVersion: ltsc2022
`

// overlayPods are a pod on each node, and a Service in front of one of them.
const overlayPods = `
apiVersion: v1
kind: Service
metadata: {name: there}
spec: {selector: {app: on-m1-win-1}, ports: [{port: 80}]}
`

// TestFieldSeveralMachinesOverlay joins a Windows node to a cluster of mode overlay. The nodes have to tell each other
// across machines where their pods are; then packets of every size are sent both ways.
func TestFieldSeveralMachinesOverlay(t *testing.T) {
	server, other := twoMachines(t)
	server.bringUp(t, overlayYAML)
	line := server.joinLine(t)
	t.Cleanup(func() {
		if t.Failed() {
			logs(t, server)
			logs(t, other)
			other.takeDown(t)
		}
	})
	t.Log(other.must(t, strings.Fields(line)...))
	server.image(t)
	other.must(t, "image", "build", filepath.Join(server.home, "tool"), "-f", "tool/image.yaml")

	manifest := overlayPods
	nodes := []string{"linux-1", "win-1", "m1-win-1"}
	for _, node := range nodes {
		image := "mullion.local/e2e:v1"
		if node == "linux-1" {
			image = "mullion.local/e2e-linux:v1"
		}
		manifest += fmt.Sprintf(
			"---\napiVersion: v1\nkind: Pod\nmetadata: {name: on-%[1]s, labels: {app: on-%[1]s}}\nspec: {nodeName: %[1]s, terminationGracePeriodSeconds: 1, "+
				"containers: [{name: serves, image: '%[2]s', args: [serve, ':80']}]}\n", node, image)
	}

	pods := filepath.Join(server.home, "pods.yaml")
	if err := os.WriteFile(pods, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}

	server.must(t, "kubectl", "apply", "-f", pods)
	server.must(t, "kubectl", "wait", "--for=condition=Ready", "pods", "--all", "--timeout=2m")
	for _, from := range nodes {
		for _, to := range nodes {
			ip := strings.TrimSpace(server.must(t, "kubectl", "get", "pod", "on-"+to, "-o", "jsonpath={.status.podIP}"))
			server.gets(t, "on-"+from, "http://"+ip+"/", "served by on-"+to)
			server.gets(t, "on-"+from, "http://"+ip+"/big", strings.Repeat("x", 1000))
		}
		server.gets(t, "on-"+from, "http://there/", "served by on-m1-win-1")
	}

	other.must(t, "leave")
	if left := other.traces(t); len(left) > 0 {
		t.Errorf("left behind on the machine:\n%s", strings.Join(left, "\n"))
	}
	server.jsonpath(t, "^linux-1 win-1$", "nodes", "", "{.items[*].metadata.name}")
}
