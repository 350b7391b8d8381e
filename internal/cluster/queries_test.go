package cluster

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/network/nettest"
	"mullion.dev/mullion/internal/node/winhost"
	"mullion.dev/mullion/internal/process/proc"
	"mullion.dev/mullion/internal/spec"
)

// saved returns the data folder of a cluster that was up.
func saved(t *testing.T, c spec.Cluster) layout.Paths {
	t.Helper()
	paths := layout.Paths{Data: t.TempDir(), Bin: "/bin"}
	if err := paths.SaveSpec(c); err != nil {
		t.Fatal(err)
	}
	return paths
}

// Queries about a node tell apart: no cluster, no such node, a node of the other system, and a node that is down.
func TestAskingANode(t *testing.T) {
	paths := saved(t, testClusters(t)["default"])
	nowhere := layout.Paths{Data: t.TempDir()}
	if _, err := LoadHost(nowhere, "win-1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a cluster: %v", err)
	}

	for name, ask := range map[string]func(node string) error{
		"LoadHost":      func(n string) error { _, err := LoadHost(paths, n); return err },
		"Agent":         func(n string) error { _, err := Agent(paths, n); return err },
		"HNS":           func(n string) error { _, err := HNS(t.Context(), paths, n); return err },
		"ProxyEndpoint": func(n string) error { _, err := ProxyEndpoint(t.Context(), paths, n, "/healthz"); return err },
	} {
		missing, ok := errors.AsType[*NotFoundError](ask("win-9"))
		if !ok || missing.Node != "win-9" || !slices.Equal(missing.Nodes, []string{"linux-1", "win-1", "win-2"}) {
			t.Errorf("%s of a node that is not there: %v", name, missing)
		}
		if err := ask("linux-1"); !errors.Is(err, ErrNotWindows) {
			t.Errorf("%s of a Linux node: %v", name, err)
		}

		if err := ask("win-1"); !errors.Is(err, winhost.ErrDown) {
			t.Errorf("%s of a node that is down: %v", name, err)
		}
	}

	if _, _, err := Images(paths, "linux-1"); !errors.Is(err, ErrNotWindows) {
		t.Errorf("Images of a Linux node: %v", err)
	}
	h, ok, err := LoadLinuxHost(paths, "linux-1")
	if err != nil || !ok || h.Root != paths.Node("linux-1")+"/root" || h.Netns == "" {
		t.Errorf("the Linux host %+v, %v, %v", h, ok, err)
	}

	if _, ok, err := LoadLinuxHost(paths, "win-1"); ok || err != nil {
		t.Errorf("a Windows node as a Linux host: %v, %v", ok, err)
	}
}

// A cluster that is down can be observed too: within seconds each part is reported as not answering.
func TestObserveWhatIsDown(t *testing.T) {
	for _, name := range []string{"default", "joined"} {
		c := testClusters(t)[name]
		begin := time.Now()
		o := Observe(t.Context(), saved(t, c), c)
		if took := time.Since(begin); took > observeTimeout {
			t.Errorf("%s: it took %s", name, took)
		}
		if o.SupervisorError == "" || o.Locked || o.Supervisor != nil || o.APIError == "" || len(o.Nodes) != 0 {
			t.Errorf("%s: %+v", name, o)
		}

		for _, n := range c.Nodes {
			if h, there := o.HNS[n.Name]; there == n.Linux() || (there && h.Error == "") {
				t.Errorf("%s: HNS of %s: %+v, %v", name, n.Name, h, there)
			}
		}

		if len(o.Disks) != 1 || o.Disks[0].Size < o.Disks[0].Free || o.Disks[0].Free == 0 {
			t.Errorf("%s: disks %+v", name, o.Disks)
		}
	}
}

// The place outside for the network tests has an address that nobody else has, and reaches load balancers by way of the
// first Windows node, in each family that the cluster has.
func TestPlaceOutside(t *testing.T) {
	clusters := testClusters(t)
	for name, families := range map[string]int{"default": 1, "dual-stack": 2, "several": 1} {
		p, err := NewPlan(clusters[name], testPaths)
		if err != nil {
			t.Fatal(err)
		}
		bothFirst(&p)
		o, err := placeOutside(p)
		if err != nil {
			t.Fatal(err)
		}

		if !p.Spec.Networking.Underlay().Contains(o.Address) || o.Address6.IsValid() != (families == 2) {
			t.Errorf("%s: outside at %s, %s", name, o.Address, o.Address6)
		}
		if len(o.Far) != families || len(o.Routes) == 0 {
			t.Errorf("%s: far %v, routes %v", name, o.Far, o.Routes)
		}

		for _, r := range o.Routes {
			if r.Via != p.Hosts[0].Address && r.Via != p.Hosts[0].Address6 {
				t.Errorf("%s: %s leads to %s", name, r.CIDR, r.Via)
			}
		}

		nodes := testNodes(p, func(host string) string { return "/run/netns/" + host })
		if len(nodes) != len(p.Spec.Nodes) || nodes[0].Address != p.Hosts[0].Address {
			t.Errorf("%s: nodes %+v", name, nodes)
		}
		for _, n := range nodes {
			if n.Address == o.Address || n.Netns != "/run/netns/"+n.Name {
				t.Errorf("%s: node %+v beside a place at %s", name, n, o.Address)
			}
		}
	}

	p, err := NewPlan(clusters["dual-stack"], testPaths)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(p.Hosts) // the node of IPv4 alone comes first
	if bothFirst(&p); !p.Hosts[0].Address6.IsValid() {
		t.Errorf("first comes %+v", p.Hosts[0])
	}

	full := Plan{Spec: spec.Cluster{Networking: spec.Networking{UnderlaySubnet: "10.213.0.0/24"}}}
	for a := netip.MustParseAddr("10.213.0.0"); full.Spec.Networking.Underlay().Contains(a); a = a.Next() {
		full.LinuxHosts = append(full.LinuxHosts, LinuxHost{Address: a})
	}

	if _, err := placeOutside(full); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("in a full underlay: %v", err)
	}
	if nettest.FarAddress() == nettest.FarAddress6() {
		t.Error("the far addresses are of one family")
	}
}

// Containers outlive a supervisor: containerd's shims and the keepers of their streams are not ended as leftovers.
func TestKeep(t *testing.T) {
	for args, want := range map[string]bool{
		"/b/containerd-shim-runc-v2 -namespace k8s.io": true,
		"/b/mullion-node keep-streams":                 true,
		"/b/mullion-node keep-share /r/unc/a/b":        true,
		"/b/mullion-node keep-shares 0123":             true,
		"/b/mullion-node serve":                        false,
		"/b/containerd --config c":                     false,
		"":                                             false,
	} {
		if got := keep(proc.Leftover{Args: strings.Fields(args)}, "/mullion-1"); got != want {
			t.Errorf("%q: %v", args, got)
		}
	}

	for cgroup, want := range map[string]bool{
		"/mullion-1/win-1/0123":                 true,
		"/mullion-1/linux-1/kubepods/pod1/0123": true,
		"/mullion-1/linux-1/system":             false, // its kubelet and containerd
		"/mullion-1/win-1":                      false,
		"/mullion-1":                            false,
		"/mullion-12/win-1/0123":                false, // another cluster's
		"/user.slice/session-1.scope":           false,
		"/":                                     false,
	} {
		if got := keep(proc.Leftover{Cgroups: []string{"/", cgroup}}, "/mullion-1"); got != want {
			t.Errorf("in cgroup %q: %v", cgroup, got)
		}
	}
}
