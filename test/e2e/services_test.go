//go:build cluster

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/testrun"
)

// backends are a Service with a pod on each of two nodes, and a Service whose endpoints the test sets itself.
const backends = `
apiVersion: v1
kind: Pod
metadata: {name: back-1, labels: {app: back}}
spec:
  nodeName: win-1
  terminationGracePeriodSeconds: 1
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80']}]
---
apiVersion: v1
kind: Pod
metadata: {name: back-2, labels: {app: back}}
spec:
  nodeName: win-2
  terminationGracePeriodSeconds: 1
  containers: [{name: serves, image: 'mullion.local/e2e:v1', args: [serve, ':80']}]
---
apiVersion: v1
kind: Service
metadata: {name: back}
spec: {type: NodePort, selector: {app: back}, ports: [{port: 80, nodePort: 31080}]}
---
apiVersion: v1
kind: Service
metadata: {name: steered}
spec: {type: NodePort, ports: [{port: 80, nodePort: 31081}]}
`

// steer makes one address the only endpoint of Service steered.
const steer = `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: steered-1, labels: {kubernetes.io/service-name: steered}}
addressType: IPv4
endpoints: [{addresses: [%q], nodeName: %s, conditions: {ready: true}}]
ports: [{name: '', port: 80, protocol: TCP}]
`

// services breaks the parts that carry Services out. Services must come back, without rules for pods that no longer
// exist. It also measures how soon a change of endpoints reaches packets; that figure decides nothing.
func (c cluster) services(t *testing.T) {
	t.Helper()
	testrun.Once(t, testrun.Follows)
	c.apply(t, backends)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		out, err := c.mullion(ctx, t, "kubectl", "delete", "service,pod,endpointslice", "--ignore-not-found",
			"--wait=false", "service/back", "service/steered", "pod/back-1", "pod/back-2", "endpointslice/steered-1")
		if err != nil {
			t.Logf("%v\n%s", err, out)
		}
	})
	c.answered(t)
	for _, tc := range []struct{ name, kill, back string }{
		{
			"kube-proxy", `^C:\\k\\kube-proxy\.exe .*--hostname-override=win-1 `,
			`^C:\\k\\kube-proxy\.exe .*--hostname-override=win-1 `,
		},
		{"hns", "", ""},
		{"agent", `mullion-node serve .*/win-1/`, `mullion-node serve .*/win-1/`},
		{"host", `mullion-node host-init .*/win-1/`, `^C:\\k\\kube-proxy\.exe .*--hostname-override=win-1 `},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gone := c.podIP(t, "back-2")
			if tc.kill == "" {
				if out, err := c.mullion(t.Context(), t, "hns", "restart", "win-1"); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
			} else {
				killed := c.kill(t, tc.kill)
				c.replace(t) // while nobody carries changes out
				c.back(t, tc.back, killed)
			}

			c.answered(t)
			c.noRule(t, gone)
		})
	}

	t.Run("endpoints", c.endpointChanges)
}

// replace deletes the second node's pod and makes it anew, with another address.
func (c cluster) replace(t *testing.T) {
	t.Helper()
	poll(t, settle, func(ctx context.Context) error {
		if out, err := c.mullion(ctx, t, "kubectl", "delete", "pod", "back-2", "--ignore-not-found",
			"--timeout=60s"); err != nil {
			return errors.New(out)
		}
		return nil
	})
	c.apply(t, backends)
}

// askNode calls a port of the first node from outside of the cluster and returns the name of the pod that answered.
func (c cluster) askNode(ctx context.Context, t *testing.T, port int) (string, error) {
	t.Helper()
	node := c.firstNode(t) //nolint:contextcheck // it is asked for once, with a deadline of its own
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%d/", node, port), nil)
	if err != nil {
		return "", err
	}

	client := http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	name, _, _ := strings.Cut(strings.TrimPrefix(string(text), "served by "), " ")

	return name, err
}

// answered waits until twenty requests in a row are answered, by both pods: a rule for a pod that no longer exists
// would fail some.
func (c cluster) answered(t *testing.T) {
	t.Helper()
	poll(t, 3*settle, func(ctx context.Context) error {
		seen := map[string]bool{}
		for range 20 {
			name, err := c.askNode(ctx, t, 31080)
			if err != nil {
				return err
			}
			seen[name] = true
		}

		if !seen["back-1"] || !seen["back-2"] || len(seen) != 2 {
			return fmt.Errorf("answered by %v", seen)
		}
		return nil
	})
}

// noRule waits until HNS of the first node has no load balancer that leads to the address, unless a pod has it, and
// until the node's kernel is as HNS plans it.
func (c cluster) noRule(t *testing.T, gone string) {
	t.Helper()
	if c.podIP(t, "back-2") == gone {
		gone = ""
	}

	poll(t, settle, func(ctx context.Context) error {
		out, err := c.mullion(ctx, t, "hns", "ls", "win-1", "-o", "json")
		if err != nil {
			return errors.New(out)
		}

		var have struct {
			Endpoints []struct {
				ID               string
				IPConfigurations []struct {
					IPAddress string `json:"IpAddress"`
				} `json:"IpConfigurations"`
			}
			LoadBalancers []struct {
				ID                   string
				HostComputeEndpoints []string
			}
		}

		if err := json.Unmarshal([]byte(out), &have); err != nil {
			return err
		}

		for _, e := range have.Endpoints {
			for _, lb := range have.LoadBalancers {
				if len(e.IPConfigurations) > 0 && e.IPConfigurations[0].IPAddress == gone &&
					slices.Contains(lb.HostComputeEndpoints, e.ID) {
					return fmt.Errorf("load balancer %s still sends to %s", lb.ID, gone)
				}
			}
		}

		if out, err := c.mullion(ctx, t, "hns", "diag", "win-1"); err != nil {
			return errors.New(out)
		}
		return nil
	})
}

// endpointChanges sends the Service to the two pods in turn, and measures the time until packets follow. That includes
// kubectl's own time.
func (c cluster) endpointChanges(t *testing.T) {
	pods := []string{"back-1", "back-2"}
	nodes := []string{"win-1", "win-2"}
	ips := []string{c.podIP(t, pods[0]), c.podIP(t, pods[1])}
	var took []time.Duration
	for i := range 6 {
		to := i % 2
		c.apply(t, fmt.Sprintf(steer, ips[to], nodes[to]))
		started := time.Now()
		poll(t, settle, func(ctx context.Context) error {
			name, err := c.askNode(ctx, t, 31081)
			if err == nil && name != pods[to] {
				err = fmt.Errorf("answered by %s, not by %s", name, pods[to])
			}
			return err
		})

		took = append(took, time.Since(started))
	}

	slices.Sort(took)
	t.Logf("from the API's answer to the first packet at the new endpoint: %v", took)
}
