//go:build wine

package cri

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"mullion.dev/mullion/internal/runtime/cri"
)

// fakeNetwork gives pods network namespaces with a loopback only.
type fakeNetwork struct {
	t     testing.TB
	mu    sync.Mutex
	count int
	cidr  string
	up    map[string]bool
}

func newFakeNetwork(tb testing.TB) *fakeNetwork {
	tb.Helper()
	return &fakeNetwork{t: tb, up: map[string]bool{}}
}

func (*fakeNetwork) name(pod cri.Pod) string { return "mt-cri-" + pod.ID[:8] }

func (f *fakeNetwork) Setup(_ context.Context, pod cri.Pod) (cri.PodNetwork, error) {
	if strings.HasPrefix(pod.Name, "no-network") {
		return cri.PodNetwork{}, fmt.Errorf("add pod %q to network: no addresses left", pod.Name)
	}
	for _, args := range [][]string{{"netns", "add", f.name(pod)}, {"-n", f.name(pod), "link", "set", "lo", "up"}} {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return cri.PodNetwork{}, fmt.Errorf("ip %v: %w: %s", args, err, out)
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.count++
	f.up[pod.ID] = true
	return cri.PodNetwork{
		NetNS: "/var/run/netns/" + f.name(pod),
		IPs:   []string{fmt.Sprintf("10.9.0.%d", f.count), "fd00::9"},
	}, nil
}

func (f *fakeNetwork) Teardown(_ context.Context, pod cri.Pod, _ cri.PodNetwork) error {
	_ = exec.Command("ip", "netns", "del", f.name(pod)).Run()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.up, pod.ID)
	return nil
}

func (f *fakeNetwork) Share(_ context.Context, pod cri.Pod, _ string, runs bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, up := f.up[pod.ID]; runs && !up {
		return fmt.Errorf("pod %s is not connected", pod.ID)
	}
	return nil
}

func (f *fakeNetwork) Stats(context.Context, cri.Pod) (cri.NetworkStats, error) {
	return cri.NetworkStats{
		At:         time.Now(),
		Interfaces: []cri.InterfaceStats{{Name: "eth0", RxBytes: 11, TxBytes: 22}},
	}, nil
}

func (f *fakeNetwork) SetPodCIDR(_ context.Context, cidr string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cidr = cidr
	return nil
}

func (*fakeNetwork) Ready(context.Context) error { return nil }
