//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machinesDualYAML is a server of both families with nodes of its own. The way between the machines has IPv4 alone.
const machinesDualYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-machines
networking:
  advertiseAddress: 198.51.100.1
  underlaySubnet: 10.213.0.0/16,fd00:213::/64
  podSubnet: 10.244.0.0/16,fd00:244::/56
  serviceSubnet: 10.96.0.0/16,fd00:96::/112
nodes:
- os: linux
- windowsVersion: ltsc2022
`

// machinesDualServices are in front of the pod of the other machine's Windows node.
const machinesDualServices = `
apiVersion: v1
kind: Service
metadata: {name: there}
spec: {ipFamilies: [IPv6], selector: {app: on-m1-win-1}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: balanced}
spec: {type: LoadBalancer, ipFamilies: [IPv6], externalTrafficPolicy: Local, selector: {app: on-m1-win-1}, ports: [{port: 80}]}
`

// TestFieldSeveralMachinesDual joins a Linux and a Windows node to a cluster of both families. Pods of all nodes reach
// each other and Services by IPv6, and both machines a load balancer's address.
func TestFieldSeveralMachinesDual(t *testing.T) {
	server, other := twoMachines(t)
	server.bringUp(t, machinesDualYAML)
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

	manifest := machinesDualServices
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
	server.jsonpath(t, "^fd00:213::e", "service", "balanced", "{.status.loadBalancer.ingress[0].ip}")
	balanced := strings.TrimSpace(server.must(t, "kubectl", "get", "service", "balanced", "-o",
		"jsonpath={.status.loadBalancer.ingress[0].ip}"))
	for _, from := range nodes {
		for _, to := range nodes {
			ip := strings.TrimSpace(server.must(t, "kubectl", "get", "pod", "on-"+to, "-o",
				"jsonpath={.status.podIPs[1].ip}"))
			server.gets(t, "on-"+from, "http://["+ip+"]/", "served by on-"+to)
			server.gets(t, "on-"+from, "http://["+ip+"]/big", strings.Repeat("x", 1000))
		}
		server.gets(t, "on-"+from, "http://there/", "served by on-m1-win-1")
		server.gets(t, "on-"+from, "http://["+balanced+"]/", "served by on-m1-win-1")
	}

	for _, f := range []cluster{server, other} {
		poll(t, settle, func(ctx context.Context) error { return get(ctx, f.netns, "", "["+balanced+"]") })
	}

	other.must(t, "leave")
	if left := other.traces(t); len(left) > 0 {
		t.Errorf("left behind on the machine:\n%s", strings.Join(left, "\n"))
	}
	server.jsonpath(t, "^linux-1 win-1$", "nodes", "", "{.items[*].metadata.name}")
}
