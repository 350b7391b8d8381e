//go:build wine

package hnswine_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/base/version"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestKubeProxyLosesNothing: while pods come and go behind a Service, no request to it is lost, although kube-proxy.exe
// has too little of a processor, and the host's HNS cannot modify load balancers: it makes a new one for each change.
func TestKubeProxyLosesNothing(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	c := newCluster(t)
	c.hns = wire.Version{Major: 13, Minor: 2} // Windows Server 2022
	// What nobody translates ends in silence, as at most machines' next router.
	run(t, c.machine, "ip route add blackhole 10.96.0.0/16")
	a := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	client := a.setup(t, pod("client"))
	netnstest.Serve(t, a.setup(t, pod("first")).NetNS, "first", "10.244.1.4:8080")
	netnstest.Serve(t, a.setup(t, pod("second")).NetNS, "second", "10.244.1.5:8080")

	web, slice, add := service("web", "10.96.0.20", 80, 8080)
	add("10.244.1.4", "win-a")
	changed := make(chan map[string]any)
	api(t, c.underlay.FabricNetns(), map[string][]any{
		"services": {web}, "endpointslices": {slice}, "servicecidrs": nil,
		"nodes": {map[string]any{
			"metadata": map[string]any{"name": "win-a", "uid": "win-a", "resourceVersion": "1"},
			"spec":     map[string]any{"podCIDR": "10.244.1.0/24", "podCIDRs": []any{"10.244.1.0/24"}},
			"status": map[string]any{"addresses": []any{map[string]any{
				"type":    "InternalIP",
				"address": "10.213.0.11",
			}}},
		}},
	}, map[string]chan map[string]any{"endpointslices": changed})

	_, process := a.startKubeProxy(t, version.Kubernetes)
	a.untilBackends(t, 1)
	a.service.Flush(t.Context())

	ctx, cancel := context.WithCancel(t.Context())
	var under sync.WaitGroup
	under.Go(func() { starve(ctx, process) })
	var asked, failed []string
	under.Go(func() { asked, failed = askAll(ctx, client.NetNS, "10.96.0.20:80") })

	for i := range 16 {
		_, next, add := service("web", "10.96.0.20", 80, 8080)
		add("10.244.1.4", "win-a")
		if i%2 == 0 {
			add("10.244.1.5", "win-a")
		}
		next["kind"], next["apiVersion"] = "EndpointSlice", "discovery.k8s.io/v1"
		next["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(i + 2)

		select {
		case changed <- next:
		case <-time.After(time.Minute):
			t.Fatal("kube-proxy.exe does not watch")
		}
		a.untilBackends(t, 2-i%2)
	}

	cancel()
	under.Wait()
	t.Logf("%d requests", len(asked))
	if len(failed) > 0 || !slices.Contains(asked, "second") {
		t.Errorf("%d of %d requests failed, the first %s; the second pod answered: %t", len(failed),
			len(asked)+len(failed), slices.Concat(failed, []string{"none"})[0], slices.Contains(asked, "second"))
	}
}

// untilBackends waits until the host's only load balancer has that many backends.
func (h *host) untilBackends(t *testing.T, n int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		lbs := h.service.Plan().LoadBalancers
		if slices.ContainsFunc(lbs, func(lb netplan.LoadBalancer) bool { return len(lb.Backends) == n }) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("no load balancer with %d backends is made: %+v", n, lbs)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// starve lets a process run for 2 of 42 ms until the context ends, as on a machine with twenty times as much to do as
// it has processors.
func starve(ctx context.Context, p *os.Process) {
	defer func() { _ = p.Signal(syscall.SIGCONT) }()
	for ctx.Err() == nil {
		_ = p.Signal(syscall.SIGSTOP)
		<-time.After(40 * time.Millisecond)
		_ = p.Signal(syscall.SIGCONT)
		<-time.After(2 * time.Millisecond)
	}
}

// askAll asks without pause until the context ends, and returns who answered, and what went wrong.
func askAll(ctx context.Context, ns, addr string) (answered, failed []string) {
	for ctx.Err() == nil {
		began := time.Now()
		name, _, err := netnstest.Ask(ns, "tcp4", addr, 8*time.Second)
		if err != nil {
			failed = append(failed, fmt.Sprintf("at %s: %v", began.Format(time.StampMilli), err))
			continue
		}
		answered = append(answered, name)
	}
	return answered, failed
}
