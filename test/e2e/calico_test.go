//go:build cluster

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const calicoDir = "../../examples/calico"

// calicoEffect is how long a change of policies may take until Felix has made HNS' rules of it: it looks for the
// endpoint of a new pod every five seconds.
const calicoEffect = 15 * time.Second

// windowsEgress and windowsIngress are policies of Calico's own: with an order, with rules that deny, for the pods of
// all namespaces. In Calico's CRDs, policies have the name of their tier before their own.
const (
	windowsEgress = `apiVersion: crd.projectcalico.org/v1
kind: GlobalNetworkPolicy
metadata: {name: default.windows-egress}
spec:
  order: 10
  selector: projectcalico.org/namespace == 'policed' && os == 'windows'
  types: [Egress]
  egress:
  - {action: Deny, destination: {selector: os == 'linux'}}
  - {action: Allow}
`
	windowsIngress = `apiVersion: crd.projectcalico.org/v1
kind: GlobalNetworkPolicy
metadata: {name: default.windows-ingress}
spec:
  order: 10
  selector: projectcalico.org/namespace == 'policed' && os == 'windows'
  types: [Ingress]
  ingress:
  - {action: Deny, protocol: TCP, destination: {ports: [9002]}}
  - {action: Allow}
`
)

// TestFieldCalico brings up the cluster of examples/calico and deploys Calico for Windows as the guide says. Then
// upstream's Felix carries out NetworkPolicies and Calico's GlobalNetworkPolicies on two Windows nodes, and Mullion the
// former on a Linux node.
func TestFieldCalico(t *testing.T) {
	needs(t, program("calico/windows/calico-node.exe", "Calico", "calico"))

	c := newCluster(t)
	c.calico(t)
	c.prints(t, "left to a program of yours on Windows nodes", "status")
	c.image(t)
	c.apply(t, policed)
	c.kubectl(t, "wait", "-n", "policed", "pod", "--all", "--for=condition=Ready", "--timeout=120s")
	pods := c.policedPods(t)
	all := func(string, string) bool { return true }
	none := func(string, string) bool { return false }
	only := func(client string) func(string, string) bool {
		return func(from, _ string) bool { return from == client }
	}
	reach(t, "without policies", pods, all, settle)

	c.apply(t, denyAll)
	reach(t, "deny all", pods, none, calicoEffect)
	c.apply(t, allowClients)
	c.kubectl(t, "label", "-n", "policed", "pod", "p-win-1", "role=client")
	reach(t, "allow a Windows pod", pods, only("p-win-1"), calicoEffect)
	c.calicoRules(t)
	c.calicoKilled(t, func(what string) { reach(t, what, pods, only("p-win-1"), 0) })
	c.kubectl(t, "label", "-n", "policed", "pod", "p-win-1", "role-")
	c.kubectl(t, "label", "-n", "policed", "pod", "p-linux", "role=client")
	reach(t, "allow the Linux pod instead", pods, only("p-linux"), calicoEffect)
	c.kubectl(t, "delete", "-n", "policed", "networkpolicy", "--all")
	reach(t, "when the policies are gone", pods, all, calicoEffect)

	windows := func(name string) bool { return strings.HasPrefix(name, "p-win") }
	c.apply(t, windowsEgress)
	reach(t, "Calico's policy for what leaves", pods, func(client, server string) bool {
		return !windows(client) || windows(server)
	}, calicoEffect)
	c.kubectl(t, "delete", "globalnetworkpolicies.crd.projectcalico.org", "--all")
	reach(t, "when it is gone", pods, all, calicoEffect)
	c.apply(t, windowsIngress) // p-win-1 is the one that serves at 9002
	reach(t, "Calico's policy for what comes", pods, func(_, server string) bool { return server != "p-win-1" },
		calicoEffect)
	c.kubectl(t, "delete", "globalnetworkpolicies.crd.projectcalico.org", "--all")
	reach(t, "when that is gone", pods, all, calicoEffect)
	c.must(t, "net", "test", "--flows", "pod → ")
}

// calico brings up the cluster of the example, and deploys Calico. The cluster is taken down at the end of the test,
// and must leave nothing.
func (c cluster) calico(t *testing.T) {
	t.Helper()
	built := filepath.Join(c.bin, "calico")
	spec := filepath.Join(c.home, "cluster.yaml")
	filled(t, filepath.Join(calicoDir, "cluster.yaml"), spec, strings.NewReplacer("10.213.0.0/24", "10.236.0.0/24",
		"10.244.0.0/16", "10.237.0.0/16", "10.96.0.0/16", "10.238.0.0/16",
		"kind: Cluster\n", "kind: Cluster\nname: mullion-calico\n"))

	c.downAfter(t)
	c.must(t, "up", "-f", spec)
	c.must(t, "image", "build", filepath.Join(built, "windows"), "-f", filepath.Join(calicoDir, "windows/image.yaml"))
	c.must(t, "kubectl", "apply", "-f", filepath.Join(built, "crds.yaml"))
	c.must(t, "kubectl", "apply", "-f", filepath.Join(calicoDir, "calico.yaml"))
	c.must(t, "kubectl", "-n", "calico-system", "rollout", "status", "daemonset", "--timeout=3m")
}

// calicoRules looks for Felix's rules at the endpoint of a pod, beside the policies that the CNI plugin has made.
func (c cluster) calicoRules(t *testing.T) {
	t.Helper()
	address := strings.TrimSpace(c.kubectl(t, "get", "pod", "-n", "policed", "p-win-1", "-o", "jsonpath={.status.podIP}"))
	for _, want := range []string{"allow-host-to-endpoint", "OutBoundNAT"} {
		c.prints(t, want, "node", "exec", "win-1", "--", "powershell", "-NoProfile", "-Command",
			"Get-HnsEndpoint | ? IPAddress -EQ "+address+" | ConvertTo-Json -Depth 5")
	}
}

// calicoKilled kills Felix on a node. Its script starts it again, and pods suffer neither before nor after.
func (c cluster) calicoKilled(t *testing.T, unharmed func(what string)) {
	t.Helper()
	starts := func(ctx context.Context) (int, error) {
		out, err := c.mullion(ctx, t, "kubectl", "-n", "calico-system", "logs", "-l", "k8s-app=calico-node-windows",
			"-c", "felix", "--tail=-1")
		return strings.Count(out, "Completed first update to dataplane"), err
	}

	before, err := starts(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	c.must(t, "node", "exec", "win-1", "--", "taskkill", "/f", "/im", "calico-node.exe")
	unharmed("after Felix was killed")
	poll(t, settle, func(ctx context.Context) error {
		if now, err := starts(ctx); err != nil || now <= before {
			return fmt.Errorf("Felix has come up %d times, %d before it was killed: %w", now, before, err)
		}
		return nil
	})
	unharmed("with a new Felix")
}
