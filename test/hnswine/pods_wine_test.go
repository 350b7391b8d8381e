//go:build wine

package hnswine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/spec"
)

func pod(name string) podnet.Pod {
	return podnet.Pod{
		ID:        strings.Repeat(fmt.Sprintf("%x", name), 16)[:64],
		Name:      name,
		Namespace: "default",
		UID:       "uid-of-" + name,
		DNS:       podnet.DNS{Servers: []string{"10.96.0.10"}, Searches: []string{"default.svc.cluster.local"}},
	}
}

func (h *host) setup(t *testing.T, p podnet.Pod) podnet.Result {
	t.Helper()
	r, err := h.pods.Setup(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPodsOnTwoHosts(t *testing.T) {
	whole := t
	c := newCluster(t)
	a := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	b := c.newHost(t, "win-b", "10.213.0.12", "10.244.2.0/24")
	a1 := a.setup(t, pod("a1"))
	a2 := a.setup(t, pod("a2"))
	b1 := b.setup(t, pod("b1"))
	for name, got := range map[string]podnet.Result{"10.244.1.3": a1, "10.244.1.4": a2, "10.244.2.3": b1} {
		if len(got.IPs) != 1 || got.IPs[0].String() != name {
			t.Errorf("pod has %v, want %s", got.IPs, name)
		}
	}

	netnstest.Serve(t, a1.NetNS, "a1", "10.244.1.3:80")
	netnstest.Serve(t, b1.NetNS, "b1", "10.244.2.3:80")
	netnstest.Serve(t, b.ns, "win-b", "10.213.0.12:10250")
	netnstest.Serve(t, c.underlay.FabricNetns(), "api", "10.213.0.1:6443")
	netnstest.Serve(t, c.outside, "outside", "198.51.100.2:80")

	t.Run("flows", func(t *testing.T) {
		netnstest.Flow(t, a2.NetNS, "10.244.1.3:80", "a1", "10.244.1.4")
		netnstest.Flow(t, a2.NetNS, "10.244.2.3:80", "b1", "10.244.1.4")
		netnstest.Flow(t, b1.NetNS, "10.244.1.3:80", "a1", "10.244.2.3")
		netnstest.Flow(t, a1.NetNS, "10.213.0.12:10250", "win-b", "10.244.1.3")
		netnstest.Flow(t, b1.NetNS, "10.213.0.12:10250", "win-b", "10.244.2.3")
		netnstest.Flow(t, a1.NetNS, "10.213.0.1:6443", "api", "10.244.1.3")
		netnstest.Flow(t, a1.NetNS, "198.51.100.2:80", "outside", "198.51.100.1")
		netnstest.Flow(t, a.ns, "10.244.2.3:80", "b1", "10.213.0.11")
		netnstest.Flow(t, c.underlay.FabricNetns(), "10.244.2.3:80", "b1", "10.213.0.1")
		netnstest.Flow(t, c.machine, "10.244.2.3:80", "b1", "10.213.0.254")
		netnstest.NoFlow(t, c.outside, "10.244.2.3:80")
		run(t, a1.NetNS, "ping -c1 -W2 10.244.1.4; ping -c1 -W2 10.244.2.3")

		// Where a pod's address would be hidden, Windows carries TCP and UDP only.
		run(t, a1.NetNS, "! ping -c1 -W2 198.51.100.2")
	})

	t.Run("hns-and-cri-are-out-of-reach", func(t *testing.T) {
		for _, addr := range []string{"10.244.1.2:10290", "10.213.0.11:10290", "127.0.0.1:10290"} {
			netnstest.NoFlow(t, a1.NetNS, addr)
		}
	})

	t.Run("stats", func(t *testing.T) {
		st, err := b.pods.Stats(t.Context(), pod("b1"))
		if err != nil || len(st) != 1 || st[0].RxBytes == 0 || st[0].TxBytes == 0 {
			t.Errorf("stats = %+v, %v", st, err)
		}
	})

	t.Run("server-restart", func(t *testing.T) {
		a.stop()
		a.start(whole) // not this subtest's: it runs on after it
		netnstest.Flow(t, a2.NetNS, "10.244.1.3:80", "a1", "10.244.1.4")
		r := a.setup(t, pod("a3"))
		netnstest.Flow(t, r.NetNS, "10.244.2.3:80", "b1", "10.244.1.5")
	})

	t.Run("without-ipam", func(t *testing.T) { // HNS gives the address
		conf := filepath.Join(a.prefix, "drive_c/Program Files/containerd/cni/conf/10-cbr0.conflist")
		text, err := os.ReadFile(conf)
		if err != nil {
			t.Fatal(err)
		}
		var list map[string]any
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}

		delete(list["plugins"].([]any)[0].(map[string]any), "ipam")
		edited, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}

		defer func() {
			if err := os.WriteFile(conf, text, 0o644); err != nil {
				t.Error(err)
			}
		}()
		if err := os.WriteFile(conf, edited, 0o644); err != nil {
			t.Fatal(err)
		}

		r := a.setup(t, pod("hns"))
		if len(r.IPs) != 1 || r.IPs[0].String() != "10.244.1.6" {
			t.Errorf("the pod has %v, want 10.244.1.6", r.IPs)
		}
		netnstest.Flow(t, r.NetNS, "10.244.2.3:80", "b1", "10.244.1.6")
		netnstest.Flow(t, a2.NetNS, "10.244.1.3:80", "a1", "10.244.1.4")
		if err := a.pods.Teardown(t.Context(), pod("hns")); err != nil {
			t.Error(err)
		}
	})

	t.Run("teardown", func(t *testing.T) {
		for _, name := range []string{"a1", "a1", "a2", "a3", "never-was"} {
			if err := a.pods.Teardown(t.Context(), pod(name)); err != nil {
				t.Errorf("teardown of %s: %v", name, err)
			}
		}
		a.expectEmpty(t)
	})
}

// expectEmpty checks that no pod left a namespace, a link, a rule or a reserved address.
func (h *host) expectEmpty(t *testing.T) {
	t.Helper()
	plan, err := h.plane.Observe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Ports)+len(plan.Namespaces) > 0 {
		t.Errorf("left: %+v", plan)
	}

	left, err := os.ReadDir(filepath.Join(h.prefix, "drive_c", "var", "lib", "cni", "networks",
		podnet.NetworkName(spec.ModeL2Bridge)))
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range left {
		if strings.HasPrefix(e.Name(), "10.") {
			t.Errorf("address %s is still reserved", e.Name())
		}
	}
}

// A Setup that fails half way leaves nothing; one that a crash cut short is taken up by the next.
func TestSetupFailures(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/29") // room for four pods
	var names []string
	for i := range 4 {
		names = append(names, fmt.Sprintf("p%d", i))
		h.setup(t, pod(names[i]))
	}

	if r, err := h.pods.Setup(t.Context(), pod("one-too-many")); err == nil {
		t.Errorf("a fifth pod got %v", r.IPs)
	} else if !strings.Contains(err.Error(), "no IP addresses available") {
		t.Errorf("error does not say why: %v", err)
	}
	again := h.setup(t, pod(names[0])) // the CRI server crashed after Setup and knows nothing of it
	if len(again.IPs) != 1 {
		t.Errorf("second Setup gave %v", again.IPs)
	}

	keep := map[string]bool{pod(names[0]).ID: true}
	if gone, err := h.pods.Prune(t.Context(), keep); err != nil || len(gone) != len(names)-1 {
		t.Errorf("Prune disconnected %v, %v", gone, err)
	}

	for _, name := range names {
		_, err := h.pods.Stats(t.Context(), pod(name))
		if there := err == nil; there != keep[pod(name).ID] {
			t.Errorf("after Prune pod %s: %v", name, err)
		}
	}

	if err := h.pods.Teardown(t.Context(), pod(names[0])); err != nil {
		t.Error(err)
	}
	h.expectEmpty(t)
}

// The time of ADD and DEL through win-bridge.exe in a warm prefix; a figure, not a verdict.
func TestTimes(t *testing.T) {
	c := newCluster(t)
	h := c.newHost(t, "win-a", "10.213.0.11", "10.244.1.0/24")
	var add, del []time.Duration
	for i := range 8 {
		p := pod(fmt.Sprintf("p%d", i))
		start := time.Now()
		h.setup(t, p)
		add = append(add, time.Since(start))
		start = time.Now()
		if err := h.pods.Teardown(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		del = append(del, time.Since(start))
	}

	t.Logf("first setup %v", add[0])
	slices.Sort(add)
	slices.Sort(del)
	t.Logf("setup: median %v, %v to %v; teardown: median %v, %v to %v", add[4], add[0], add[7], del[4], del[0], del[7])
}
