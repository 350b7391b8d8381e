package podnet_test

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/network/hns/hcn"
	"mullion.dev/mullion/internal/network/hns/wire"
	"mullion.dev/mullion/internal/network/podnet"
	"mullion.dev/mullion/internal/spec"
)

// way is one of the ways to connect pods, with the calls that it makes.
type way struct {
	name string
	// config is what differs from the default configuration.
	config podnet.Config
	// add and del are what connects and disconnects a pod that has a namespace.
	add, del []string
	// ranged says that this way uses the ranges that SetPodCIDR sets.
	ranged bool
	// unready is Ready's error before pods can be connected.
	unready error
}

func ways() []way {
	const (
		own    = ` C:\Program Files\containerd\cni\bin\win-bridge.exe`
		others = ` C:\opt\cni\bin\others.exe`
	)

	return []way{
		{
			name:    "plugin",
			add:     []string{"ADD" + own},
			del:     []string{"DEL" + own},
			ranged:  true,
			unready: podnet.ErrNoPodCIDR,
		},
		{
			name:    "direct",
			config:  podnet.Config{Mode: spec.ModeNAT},
			add:     []string{"CreateEndpoint", "ModifyNamespace Add Endpoint"},
			del:     []string{"DeleteEndpoint"},
			ranged:  true,
			unready: podnet.ErrNoPodCIDR,
		},
		{
			name:    "installed",
			config:  podnet.Config{Installed: true},
			add:     []string{"ADD" + others},
			del:     []string{"DEL" + others},
			unready: podnet.ErrNoCNI,
		},
	}
}

// A pod is connected when its namespace is there, and its namespace goes last.
func TestOrderOfCalls(t *testing.T) {
	testrun.Once(t, testrun.Order)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.prepare(t, w, n)
			result, err := n.Setup(t.Context(), podA())
			if err != nil {
				t.Fatal(err)
			}
			if len(result.IPs) != 1 || result.NetNS != filepath.Join(r.dir, "pins", result.HNSNamespace) {
				t.Errorf("the connected pod is %+v", result)
			}

			expect(t, "connecting", slices.Concat(namespaceMade(), w.add), r.since())
			if err := n.Teardown(t.Context(), podA()); err != nil {
				t.Fatal(err)
			}
			expect(t, "disconnecting", slices.Concat(w.del, []string{"DeleteNamespace"}), r.since())
			expect(t, "left in HNS", nil, r.left(t))
		})
	}
}

// The containers of a pod share its endpoints while they run, and the pod goes with those whose end was not recorded.
func TestShare(t *testing.T) {
	w := ways()[1]
	r, n := w.open(t)
	r.prepare(t, w, n)
	if _, err := n.Setup(t.Context(), podA()); err != nil {
		t.Fatal(err)
	}

	shared := func() []string {
		t.Helper()
		endpoints, err := hcn.List[wire.Endpoint](t.Context(), r.host, hcn.Endpoint)
		if err != nil {
			t.Fatal(err)
		}

		for _, e := range endpoints {
			if e.Name != "cbr0_ep" && e.Health != nil && e.Health.Extra != nil {
				return e.Health.Extra.SharedContainers
			}
		}

		return nil
	}

	for _, step := range []struct {
		container string
		runs      bool
		want      []string
	}{
		{"app", true, []string{podA().ID, "app"}},
		{"side", true, []string{podA().ID, "app", "side"}},
		{"app", false, []string{podA().ID, "side"}},
		{"app", false, []string{podA().ID, "side"}},
	} {
		if err := n.Share(t.Context(), podA(), step.container, step.runs); err != nil {
			t.Fatal(err)
		}
		expect(t, "shared", step.want, shared())
	}

	if gone, err := n.Prune(t.Context(), map[string]bool{podA().ID: true}); err != nil || len(gone) > 0 {
		t.Errorf("disconnected %q, %v", gone, err)
	}
	if err := n.Teardown(t.Context(), podA()); err != nil {
		t.Fatal(err)
	}

	expect(t, "left in HNS", nil, r.left(t))
	if err := n.Share(t.Context(), podA(), "side", false); err != nil {
		t.Errorf("a container's end after its pod: %v", err)
	}
	if err := n.Share(t.Context(), podA(), "side", true); err == nil {
		t.Error("a container runs in a pod that is not connected")
	}
}

// What a crash left of a pod is removed before the pod is connected again.
func TestAfterCrash(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.prepare(t, w, n)
			for _, n := range []*podnet.Network{n, r.open(t, w.config)} {
				r.since()
				if _, err := n.Setup(t.Context(), podA()); err != nil {
					t.Fatal(err)
				}
			}

			expect(t, "connecting again", slices.Concat(w.del, []string{"DeleteNamespace"}, namespaceMade(), w.add),
				r.since())
		})
	}
}

// An endpoint that was made and not attached, as a crash leaves it, goes with its pod, and its address is free again.
func TestEndpointThatWasNotAttached(t *testing.T) {
	r := newRig(t)
	w := ways()[1]
	n := r.open(t, w.config)
	r.prepare(t, w, n)
	for _, call := range []string{"ModifyNamespace Add Endpoint", "DeleteEndpoint", "DeleteNamespace"} {
		r.failing[call] = true
	}

	if _, err := n.Setup(t.Context(), podA()); err == nil {
		t.Fatal("the endpoint was attached")
	}
	if left := r.left(t); !slices.Contains(left, "a_nat") {
		t.Fatalf("HNS has %q, and no endpoint of the pod", left)
	}

	clear(r.failing)
	if _, err := n.Setup(t.Context(), podA()); err != nil {
		t.Fatal(err)
	}
	if err := n.Teardown(t.Context(), podA()); err != nil {
		t.Fatal(err)
	}
	expect(t, "left in HNS", nil, r.left(t))
}

// When a step of connecting a pod fails, the steps before it are taken back, also when the caller has given up.
func TestUndo(t *testing.T) {
	gone := []string{"DeleteNamespace"}
	type failure struct {
		step string
		undo []string
	}

	for _, w := range ways() {
		// A plugin's DEL is run even if its ADD was not: a plugin that does not know the pod returns no error.
		unplug := w.del
		if w.name == "direct" {
			unplug = nil
		}

		failures := []failure{
			{step: "CreateNamespace"},
			{step: "ModifyNamespace Add Container", undo: slices.Concat(unplug, gone)},
			{step: w.add[0], undo: slices.Concat(unplug, gone)},
		}
		if w.name == "direct" {
			failures = append(failures, failure{step: w.add[1], undo: slices.Concat(w.del, gone)})
		}

		for _, f := range failures {
			for _, cancelled := range []bool{false, true} {
				name := w.name + "/" + f.step
				if cancelled {
					name += "/cancelled"
				}

				t.Run(name, func(t *testing.T) {
					r := newRig(t)
					n := r.open(t, w.config)
					r.prepare(t, w, n)
					r.failing[f.step] = true
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if cancelled {
						r.cancel = cancel
					}

					_, err := n.Setup(ctx, podA())
					for _, part := range []string{"connect pod default/a: ", "asked to fail"} {
						if err == nil || !strings.Contains(err.Error(), part) {
							t.Errorf("connecting: %v, which lacks %q", err, part)
						}
					}

					steps := slices.Concat(namespaceMade(), w.add)
					expect(t, "calls", slices.Concat(steps[:slices.Index(steps, f.step)+1], f.undo), r.since())
					expect(t, "left in HNS", nil, r.left(t))
				})
			}
		}
	}
}

// When a step of disconnecting a pod fails, the namespace stays, by which the pod is found the next time.
func TestTeardownAgain(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.prepare(t, w, n)
			if _, err := n.Setup(t.Context(), podA()); err != nil {
				t.Fatal(err)
			}

			r.since()
			r.failing[w.del[0]] = true
			err := n.Teardown(t.Context(), podA())
			if err == nil || !strings.Contains(err.Error(), "disconnect pod default/a: ") {
				t.Errorf("disconnecting: %v", err)
			}

			expect(t, "the first time", w.del, r.since())
			clear(r.failing)
			if err := n.Teardown(t.Context(), podA()); err != nil {
				t.Fatal(err)
			}
			expect(t, "the second time", slices.Concat(w.del, []string{"DeleteNamespace"}), r.since())
			expect(t, "left in HNS", nil, r.left(t))
		})
	}
}

// A pod that is not known is disconnected by doing nothing, whether or not pods can be connected.
func TestUnknownPod(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			for _, ready := range []bool{false, true} {
				if ready {
					r.prepare(t, w, n)
				}
				if err := n.Teardown(t.Context(), podA()); err != nil {
					t.Errorf("ready %v: %v", ready, err)
				}
				expect(t, "calls", nil, r.since())
			}
		})
	}
}

// A pod whose namespace is lost is still known to the plugin that gave it its address. Calls of HNS leave nothing
// outside HNS.
func TestLostNamespace(t *testing.T) {
	testrun.Once(t, testrun.Loss)
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.prepare(t, w, n)
			if _, err := n.Setup(t.Context(), podA()); err != nil {
				t.Fatal(err)
			}

			r.since()
			r.loseHNS()
			var want []string
			if w.name != "direct" {
				want = w.del
			}

			for _, want := range [][]string{want, nil} { // the second time the plugin does not know it either
				if err := n.Teardown(t.Context(), podA()); err != nil {
					t.Fatal(err)
				}
				expect(t, "disconnecting", want, r.since())
			}
		})
	}
}

// Ready and Setup return the same error, and another process knows the range that this one was given.
func TestReady(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			if err := n.Ready(t.Context()); !errors.Is(err, w.unready) {
				t.Errorf("ready at first: %v, want %v", err, w.unready)
			}
			if _, err := n.Setup(t.Context(), podA()); !errors.Is(err, w.unready) {
				t.Errorf("connecting at first: %v, want %v", err, w.unready)
			}

			expect(t, "calls", nil, r.since())
			r.prepare(t, w, n)
			var cidr netip.Prefix
			if w.ranged {
				cidr = netip.MustParsePrefix("10.244.1.0/24")
			}

			for _, n := range []*podnet.Network{n, r.open(t, w.config)} {
				if err := n.Ready(t.Context()); err != nil {
					t.Error(err)
				}
				if got := n.PodCIDR(); got != cidr {
					t.Errorf("the pod CIDR is %s, want %s", got, cidr)
				}
			}
		})
	}
}

// A range that HNS refuses is not the host's: no pods are connected in it, and the next process knows nothing of it.
func TestRefusedRange(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.failing["CreateNetwork"] = true
			err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...)
			if !w.ranged {
				if err != nil {
					t.Errorf("a range that is others' business: %v", err)
				}
				expect(t, "calls", nil, r.since())
				return
			}

			if err == nil || !strings.Contains(err.Error(), "set pod CIDR 10.244.1.0/24: ") {
				t.Errorf("setting the range: %v", err)
			}
			for _, n := range []*podnet.Network{n, r.open(t, w.config)} {
				if err := n.Ready(t.Context()); !errors.Is(err, podnet.ErrNoPodCIDR) {
					t.Errorf("ready without a network: %v", err)
				}
			}

			for _, wrong := range [][]string{{}, {"10.244.1.0/30"}, {"fd00::/64"}} {
				if err := n.SetPodCIDR(t.Context(), prefixes(t, wrong...)...); err == nil {
					t.Errorf("the range %q was taken", wrong)
				}
			}
		})
	}
}

// The network of a range is made before what refers to it, and one of a former range goes before it.
func TestRangeChanges(t *testing.T) {
	host := []string{"CreateEndpoint", "HNSCall POST"}
	reserved := []string{
		`DEL C:\Program Files\containerd\cni\bin\host-local.exe`,
		`ADD C:\Program Files\containerd\cni\bin\host-local.exe`,
	}

	for _, c := range []struct {
		name        string
		config      podnet.Config
		first, same []string
	}{
		{name: "plugin", first: host, same: host[1:]},
		{name: "plugin of an overlay", config: podnet.Config{Mode: spec.ModeOverlay}, first: reserved},
		{name: "direct", config: podnet.Config{Mode: spec.ModeNAT}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			n := r.open(t, c.config)
			set := func(cidr string) []string {
				if err := n.SetPodCIDR(t.Context(), prefixes(t, cidr)...); err != nil {
					t.Fatal(err)
				}
				return r.since()
			}

			expect(t, "the first range", slices.Concat([]string{"CreateNetwork"}, c.first), set("10.244.1.0/24"))
			expect(t, "the same range", c.same, set("10.244.1.0/24"))
			expect(t, "another range", slices.Concat([]string{"DeleteNetwork", "CreateNetwork"}, c.first),
				set("10.244.2.0/24"))
		})
	}
}

// The source VIP of an overlay is reserved before pods get addresses of the range.
func TestNoSourceVIP(t *testing.T) {
	r := newRig(t)
	cfg := podnet.Config{Mode: spec.ModeOverlay}
	n := r.open(t, cfg)
	r.failing[`ADD C:\Program Files\containerd\cni\bin\host-local.exe`] = true
	err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/24")...)
	if err == nil || !strings.Contains(err.Error(), "the plugin was asked to fail") {
		t.Errorf("setting the range: %v", err)
	}

	for _, n := range []*podnet.Network{n, r.open(t, cfg)} {
		if err := n.Ready(t.Context()); !errors.Is(err, podnet.ErrNoPodCIDR) {
			t.Errorf("ready without the source VIP: %v", err)
		}
	}
}

// A range that an earlier process wrote and that cannot be read makes New fail.
func TestUnreadableRange(t *testing.T) {
	for name, c := range map[string]struct {
		config podnet.Config
		file   string
	}{
		"plugin": {file: "c/Program Files/containerd/cni/conf/10-cbr0.conflist"},
		"direct": {config: podnet.Config{Mode: spec.ModeNAT}, file: "cni/pod-cidr"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, c.file)
			put(t, path, "{}")
			c.config.Drive, c.config.CacheDir = filepath.Join(dir, "c"), filepath.Join(dir, "cni")
			if _, err := podnet.New(c.config); err == nil || !strings.Contains(err.Error(), path) {
				t.Errorf("opening the network: %v", err)
			}
		})
	}
}

// Prune disconnects pods that are not recorded, and leaves others' namespaces alone.
func TestPrune(t *testing.T) {
	for _, w := range ways() {
		t.Run(w.name, func(t *testing.T) {
			r, n := w.open(t)
			r.prepare(t, w, n)
			for _, id := range []string{"a", "b"} {
				if _, err := n.Setup(t.Context(), podnet.Pod{ID: id}); err != nil {
					t.Fatal(err)
				}
			}

			theirs, err := hcn.Create(t.Context(), r.host, hcn.Namespace, "", wire.Namespace{Type: wire.NamespaceHost})
			if err != nil {
				t.Fatal(err)
			}
			r.since()
			gone, err := n.Prune(t.Context(), map[string]bool{"a": true})
			if err != nil {
				t.Fatal(err)
			}

			expect(t, "disconnected", []string{"b"}, gone)
			expect(t, "calls", slices.Concat(w.del, []string{"DeleteNamespace"}), r.since())
			if left := r.left(t); !slices.Contains(left, theirs) {
				t.Errorf("the namespace of others is not among %q", left)
			}
		})
	}
}

// A host whose range is used up says so, and leaves nothing of the pod that got no address.
func TestRangeUsedUp(t *testing.T) {
	r := newRig(t)
	n := r.open(t, podnet.Config{Mode: spec.ModeNAT})
	if err := n.SetPodCIDR(t.Context(), prefixes(t, "10.244.1.0/29")...); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		got = append(got, setup(t, n, id))
	}

	expect(t, "addresses", []string{"10.244.1.2", "10.244.1.3", "10.244.1.4", "10.244.1.5", "10.244.1.6"}, got)
	r.since()
	_, err := n.Setup(t.Context(), podnet.Pod{ID: "f"})
	if err == nil || !strings.Contains(err.Error(), "no address of 10.244.1.0/29 is free") {
		t.Errorf("one pod too many: %v", err)
	}
	expect(t, "calls", append(namespaceMade(), "DeleteNamespace"), r.since())
}
