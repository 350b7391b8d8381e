//go:build wine

package hnswine_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/version"
)

// TestKubeProxyWithoutHostname starts upstream's kube-proxy.exe without --hostname-override on a host whose name is not
// the node's, of which the documents warn that it deletes pods' endpoints: for it each pod is another node's. Its
// Service works, and when the pod has left the Service its endpoint is still there. The same holds for Kubernetes 1.20,
// if its bundle has been built.
func TestKubeProxyWithoutHostname(t *testing.T) {
	for _, v := range []string{version.Kubernetes, "v1.20.15"} {
		t.Run(v, func(t *testing.T) {
			if _, err := os.Stat(kubeProxy(v)); err != nil && v != version.Kubernetes {
				t.Skipf("%v: make bundle VERSION=%s", err, v)
			}
			kubeProxyWithoutHostname(t, v)
		})
	}
}

func kubeProxyWithoutHostname(t *testing.T, version string) {
	t.Helper()
	c := newCluster(t)
	a := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	client := a.setup(t, pod("client"))
	near := a.setup(t, pod("near"))
	netnstest.Serve(t, near.NetNS, "near", "10.244.1.4:8080")
	name, err := os.Hostname() // a host of these tests has this machine's name
	if err != nil || strings.EqualFold(name, a.name) {
		t.Fatalf("this machine is called %q: %v", name, err)
	}

	web, slice, add := service("web", "10.96.0.20", 80, 8080)
	add("10.244.1.4", "win-a")
	var nodes []any
	for _, node := range []string{"win-a", strings.ToLower(name)} {
		nodes = append(nodes, map[string]any{
			"metadata": map[string]any{"name": node, "uid": node, "resourceVersion": "1"},
			"spec":     map[string]any{"podCIDR": "10.244.1.0/24", "podCIDRs": []any{"10.244.1.0/24"}},
			"status":   map[string]any{"addresses": []any{map[string]any{"type": "InternalIP", "address": "10.213.0.11"}}},
		})
	}

	// Before 1.21 it reads Endpoints in the place of slices.
	changed := map[string]chan map[string]any{
		"endpointslices": make(chan map[string]any, 1),
		"endpoints":      make(chan map[string]any, 1),
	}
	api(t, c.underlay.FabricNetns(), map[string][]any{
		"services": {web}, "endpointslices": {slice}, "endpoints": {endpoints("web", slice)}, "servicecidrs": nil,
		"nodes": nodes,
	}, changed)

	log, _ := a.startKubeProxyWith(t, version)
	a.untilBackends(t, 1)
	a.service.Flush(t.Context())
	if who, _, err := netnstest.Ask(client.NetNS, "tcp4", "10.96.0.20:80", 3*time.Second); err != nil || who != "near" {
		t.Errorf("the Service is answered by %q: %v", who, err)
	}

	ports := len(a.service.Plan().Ports)
	_, gone, _ := service("web", "10.96.0.20", 80, 8080)
	gone["endpoints"] = []any{}
	old := endpoints("web", gone)
	gone["kind"], gone["apiVersion"] = "EndpointSlice", "discovery.k8s.io/v1"
	old["kind"], old["apiVersion"] = "Endpoints", "v1"
	old["subsets"] = []any{}
	for _, object := range []map[string]any{gone, old} {
		object["metadata"].(map[string]any)["resourceVersion"] = "2"
	}
	changed["endpointslices"] <- gone
	changed["endpoints"] <- old
	for end := time.Now().Add(2 * time.Minute); len(a.service.Plan().LoadBalancers) > 0; {
		if time.Now().After(end) {
			out, _ := os.ReadFile(log)
			t.Fatalf("the Service without pods is still there; the log ends:\n%s", tail(string(out), 40))
		}
		<-time.After(10 * time.Millisecond)
	}

	a.service.Flush(t.Context())
	if now := len(a.service.Plan().Ports); now != ports {
		t.Errorf("of %d pods' endpoints %d are left", ports, now)
	}
	if who, _, err := netnstest.Ask(client.NetNS, "tcp4", "10.244.1.4:8080", 3*time.Second); err != nil || who != "near" {
		t.Errorf("the pod at its own address is answered by %q: %v", who, err)
	}
	out, err := os.ReadFile(log)
	if err != nil || !strings.Contains(string(out), `--hostname-override=""`) {
		t.Errorf("kube-proxy.exe does not say that it has no name of the node: %v", err)
	}
}
