//go:build cluster

package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/base/testrun"
)

// policed are a server on each node, which are clients too, in a namespace of their own. Each listens at another port,
// by which its process is found.
const policed = `apiVersion: v1
kind: Namespace
metadata: {name: policed}
---
apiVersion: v1
kind: Pod
metadata: {name: p-linux, namespace: policed, labels: {app: served, os: linux}}
spec:
  nodeName: linux-1
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e-linux:v1', args: [serve, ':9001']}]
---
apiVersion: v1
kind: Pod
metadata: {name: p-win-1, namespace: policed, labels: {app: served, os: windows}}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':9002']}]
---
apiVersion: v1
kind: Pod
metadata: {name: p-win-2, namespace: policed, labels: {app: served, os: windows}}
spec:
  nodeName: win-2
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':9003']}]
---
apiVersion: v1
kind: Pod
metadata: {name: p-win-1b, namespace: policed, labels: {app: served, os: windows}}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  tolerations: [{operator: Exists}]
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':9004']}]
`

// starters are pods whose first act is a call, once, which a policy for them forbids.
const starters = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: starters, namespace: policed}
spec: {podSelector: {matchLabels: {app: starts}}, policyTypes: [Egress]}
---
apiVersion: v1
kind: Pod
metadata: {name: starts-linux, namespace: policed, labels: {app: starts}}
spec:
  nodeName: linux-1
  restartPolicy: Never
  tolerations: [{operator: Exists}]
  containers: [{name: calls, image: 'mullion.local/e2e-linux:v1', args: [get, 'http://SERVER/']}]
---
apiVersion: v1
kind: Pod
metadata: {name: starts-windows, namespace: policed, labels: {app: starts}}
spec:
  nodeName: win-2
  restartPolicy: Never
  tolerations: [{operator: Exists}]
  containers: [{name: calls, image: 'mullion.local/e2e:v1', args: [get, 'http://SERVER/']}]
`

const (
	denyAll = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: deny, namespace: policed}
spec: {podSelector: {matchLabels: {app: served}}, policyTypes: [Ingress]}
`
	allowClients = `apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: clients, namespace: policed}
spec:
  podSelector: {matchLabels: {app: served}}
  ingress: [{from: [{podSelector: {matchLabels: {role: client}}}]}]
`
)

// policyEffect is how long a change of policies or labels may take until packets follow, after the API has it.
const policyEffect = time.Second

// server is a pod of policed.
type policedPod struct {
	name, netns string
	addr        string // with its port
}

// policies checks that NetworkPolicies are carried out between pods of both systems: promptly, for the first packet of
// a new pod, and while the supervisor is away.
func (c cluster) policies(t *testing.T) {
	t.Helper()
	testrun.Once(t, testrun.Follows)
	apply := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "objects.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.kubectl(t, "apply", "-f", file)
	}
	t.Cleanup(func() { c.kubectl(t, "delete", "namespace", "policed", "--ignore-not-found", "--timeout=90s") })
	apply(policed)
	c.kubectl(t, "wait", "-n", "policed", "pod", "--all", "--for=condition=Ready", "--timeout=120s")
	pods := c.policedPods(t)
	all := func(string, string) bool { return true }
	none := func(string, string) bool { return false }
	from := func(names ...string) func(string, string) bool {
		return func(client, _ string) bool { return slices.Contains(names, client) }
	}
	reach(t, "without policies", pods, all, settle)

	apply(denyAll)
	reach(t, "deny all", pods, none, policyEffect)
	apply(allowClients)
	c.kubectl(t, "label", "-n", "policed", "pod", "p-linux", "role=client")
	reach(t, "allow the Linux pod", pods, from("p-linux"), policyEffect)
	c.kubectl(t, "label", "-n", "policed", "pod", "p-win-1", "role=client")
	reach(t, "allow a Windows pod too", pods, from("p-linux", "p-win-1"), policyEffect)
	c.kubectl(t, "label", "-n", "policed", "pod", "p-linux", "role-")
	reach(t, "the Linux pod no longer", pods, from("p-win-1"), policyEffect)

	t.Run("supervisor", func(t *testing.T) {
		killed := c.kill(t, ` supervise `)
		reach(t, "while the supervisor is away", pods, from("p-win-1"), policyEffect)
		c.up(t)
		c.back(t, ` supervise `, killed)
		reach(t, "with a new supervisor", pods, from("p-win-1"), policyEffect)
		c.kubectl(t, "label", "-n", "policed", "pod", "p-linux", "role=client")
		reach(t, "a change after that", pods, from("p-linux", "p-win-1"), policyEffect)
	})
	c.kubectl(t, "delete", "-n", "policed", "networkpolicy", "--all")
	reach(t, "when the policies are gone", pods, all, policyEffect)

	t.Run("first-packet", func(t *testing.T) {
		apply(strings.ReplaceAll(starters, "SERVER", pods[1].addr))
		poll(t, settle, func(ctx context.Context) error {
			out, err := c.mullion(ctx, t, "kubectl", "get", "pods", "-n", "policed", "-l", "app=starts",
				"-o", "jsonpath={.items[*].status.phase}")
			if phases := strings.Fields(out); err != nil || len(phases) != 2 || slices.ContainsFunc(phases,
				func(phase string) bool { return phase != "Failed" && phase != "Succeeded" }) {
				return fmt.Errorf("the pods are %q: %w", out, err)
			}
			return nil
		})

		if out := c.kubectl(t, "get", "pods", "-n", "policed", "-l", "app=starts",
			"-o", "jsonpath={.items[*].status.phase}"); strings.Contains(out, "Succeeded") {
			t.Errorf("a pod whose policy forbids it reached another with its first packet: %s", out)
		}
		c.kubectl(t, "delete", "pods", "-n", "policed", "-l", "app=starts", "--timeout=60s")
	})
}

func (c cluster) policedPods(t *testing.T) []policedPod {
	t.Helper()
	var pods []policedPod
	processes := c.processes(t)
	for i, name := range []string{"p-linux", "p-win-1", "p-win-2", "p-win-1b"} {
		port := strconv.Itoa(9001 + i)
		pod := policedPod{
			name: name,
			addr: net.JoinHostPort(c.kubectl(t, "get", "pod", "-n", "policed", name, "-o", "jsonpath={.status.podIP}"), port),
		}

		for _, pid := range slices.Sorted(maps.Keys(processes)) {
			if strings.HasSuffix(processes[pid], "serve :"+port) {
				pod.netns = fmt.Sprintf("/proc/%d/ns/net", pid)
			}
		}

		if pod.netns == "" {
			t.Fatalf("no process serves :%s", port)
		}
		pods = append(pods, pod)
	}

	return pods
}

// reach waits until each pod reaches each other if want says so, and else does not, and tells how long it took.
func reach(t *testing.T, what string, pods []policedPod, want func(client, server string) bool, within time.Duration) {
	t.Helper()
	begin := time.Now()
	for {
		asked := time.Since(begin)
		err := reached(pods, want)
		if err == nil {
			t.Logf("%s: as wanted %.2f s later", what, asked.Seconds())
			return
		}
		if asked > within*patience() {
			t.Fatalf("%s: %.2f s later: %v", what, asked.Seconds(), err)
		}
	}
}

// reached asks all at once. A call that gets no answer soon gets none.
func reached(pods []policedPod, want func(client, server string) bool) error {
	const soon = 200 * time.Millisecond
	results := make(chan error)
	calls := 0
	for _, client := range pods {
		for _, server := range pods {
			if client == server {
				continue
			}

			calls++
			go func() {
				err := netns.Do(client.netns, func() error {
					conn, err := net.DialTimeout("tcp", server.addr, soon)
					if err != nil {
						return err
					}
					return conn.Close()
				})
				if (err == nil) != want(client.name, server.name) {
					results <- fmt.Errorf("%s to %s: %v", client.name, server.name, err)
					return
				}

				results <- nil
			}()
		}
	}

	var errs []error
	for range calls {
		errs = append(errs, <-results)
	}

	return errors.Join(errs...)
}
