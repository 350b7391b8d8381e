//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/cluster/layout"
)

// outsideYAML is a cluster for its bare Windows host alone, which stands for a Windows Server on a network of the
// machine that externalYAML's cluster is on.
const outsideYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-bare
networking: {underlaySubnet: 10.247.0.0/24, podSubnet: 10.248.0.0/17, serviceSubnet: 10.248.128.0/20,
  disableDefaultCNI: true}
addons: {metricsServer: false, localStorage: false}
nodes: [{name: bare-1, windowsVersion: ltsc2022, bare: true}]
`

const externalYAML = `apiVersion: mullion.dev/v1alpha1
kind: Cluster
name: mullion-external
networking: {advertiseAddress: 10.247.0.200, underlaySubnet: 10.245.0.0/23, podSubnet: 10.246.0.0/17,
  serviceSubnet: 10.246.128.0/20EXTERNAL}
addons: {metricsServer: false, localStorage: false}
nodes: [{name: linux-1, os: linux}]
`

// TestFieldExternalNode joins a Windows host that is not on the cluster's underlay, as Windows Servers are not, by
// mullion-agent.exe. Pods there and on the cluster's own node ask each other's Services, and the host's kubelet serves
// logs; before the cluster was told of the host it did not.
func TestFieldExternalNode(t *testing.T) {
	needs(t)

	server, c := newCluster(t), newCluster(t)
	server.bringUp(t, outsideYAML)
	c.netns = onNetworkOf(t, server, "10.247.0.200/24")
	t.Cleanup(func() { c.takeDown(t) })
	text := func(external string) string { return strings.Replace(externalYAML, "EXTERNAL", external, 1) }
	c.must(t, "server", "-f", c.file(t, "cluster.yaml", text("")))
	server.layAgent(t)
	server.agnhost(t, "windows")
	c.agnhost(t, "linux")
	agent := func(args ...string) string {
		t.Helper()
		out, err := server.mullion(t.Context(), t, append([]string{
			"node", "shell", "bare-1", "--", `C:\bundle\mullion-agent.exe`,
		}, args...)...)
		if err != nil {
			logs(t, c)
			t.Fatalf("mullion-agent %s: %v\n%s", args[0], err, out)
		}

		return out
	}

	state := func() string {
		// Wine's list of interfaces, the first half, also has those that are gone.
		_, routes, _ := strings.Cut(server.must(t, "node", "exec", "bare-1", "--", "route", "print", "-4"), "Route Table")
		return server.bareState(t) + routes
	}

	before := state()
	at, token, hash := c.agentLine(t)
	out := agent(agentJoin(at, token, hash)...)
	for _, want := range []string{
		"made the route to 10.245.0.0/23 by way of 10.247.0.200", "made the route to 10.246.0.0/17",
		"does not expect a node at 10.247.0.11", "node bare-1 is Ready",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the join does not say %q:\n%s", want, out)
		}
	}

	out = agent(agentJoin(at, token, hash)...)
	if strings.Contains(out, "made the route") || !strings.Contains(out, "node bare-1 is Ready") {
		t.Errorf("a join that has nothing to do says:\n%s", out)
	}

	c.must(t, "server", "-f", c.file(t, "external.yaml", text(", externalNodes: [10.247.0.11]")))
	c.must(t, "kubectl", "apply", "-f", c.file(t, "pods.yaml", kubeadmPods))
	c.must(t, "kubectl", "wait", "--for=condition=Ready", "pod", "--all", "--timeout=180s")
	c.asksBoth(t)
	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "kubectl", "logs", "win")
		if err == nil && out == "" {
			err = errors.New("the log is empty")
		}
		return err
	})
	agent("leave", "--delete-node")
	if now := state(); now != before {
		t.Errorf("leave left the host as\n%s\nit was\n%s", now, before)
	}
}

// onNetworkOf returns a network namespace that stands for a machine on the network that another cluster's hosts are on.
func onNetworkOf(t *testing.T, other cluster, address string) string {
	t.Helper()
	ns := fmt.Sprintf("external-%d", os.Getpid())
	t.Cleanup(func() {
		if out, err := exec.Command("ip", "netns", "del", ns).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})

	fabric := filepath.Join(layout.Paths{Data: other.data}.Run(), "netns", "fabric")
	script := `set -e; ip netns add $0; ip -n $0 link set lo up
nsenter --net=$2 ip link add lan0 type veth peer name eth0 netns $0
nsenter --net=$2 ip link set lan0 master underlay up
ip -n $0 addr add $1 dev eth0; ip -n $0 link set eth0 up`
	if out, err := exec.Command("sh", "-c", script, ns, address, fabric).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	return "/run/netns/" + ns
}

// asksBoth has each of kubeadmPods ask the other one's Service by its name.
func (c cluster) asksBoth(t *testing.T) {
	t.Helper()
	for from, to := range map[string]string{"lin": "win", "win": "lin"} {
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "get", "--raw", "/api/v1/namespaces/default/pods/http:"+from+
				":8080/proxy/dial?host="+to+".default.svc.cluster.local&port=80&protocol=http&request=hostname&tries=1")
			if err == nil && !strings.Contains(out, `{"responses":["`+to+`"]}`) {
				err = errors.New("no answer")
			}
			if err != nil {
				return fmt.Errorf("pod %s asks Service %s: %w: %s", from, to, err, out)
			}

			return nil
		})
	}
}
