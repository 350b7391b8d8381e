package cluster

import (
	"errors"
	"flag"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/base/testrun"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

var update = flag.Bool("update", false, "rewrite the plans in testdata")

// testPaths are the paths of a cluster that does not exist.
var testPaths = layout.Paths{Data: "/data", Bin: "/bin"}

// load returns the specification in a cluster.yaml without its head, as a cluster that is up has it.
func load(t *testing.T, yaml string) spec.Cluster {
	t.Helper()
	c, err := spec.Load(strings.NewReader("apiVersion: mullion.dev/v1alpha1\nkind: Cluster\n" + yaml))
	if err != nil {
		t.Fatal(err)
	}
	if c.Networking.APIServerPort == 0 {
		c.Networking.APIServerPort = 6443
	}
	return c.WithDefaults()
}

// joinedTo returns a machine that joined a cluster.
func joinedTo(c spec.Cluster, j spec.Join) spec.Cluster {
	c.Join = &j
	return c.WithDefaults()
}

// testClusters are clusters of each kind.
func testClusters(t *testing.T) map[string]spec.Cluster {
	t.Helper()
	several := load(t, `
networking: {advertiseAddress: 192.0.2.1, underlaySubnet: 10.213.0.0/16}
nodes: [{os: linux}, {windowsVersion: ltsc2022}]
`)

	second := several
	second.Nodes = []spec.Node{{Name: "m1-linux-1", OS: spec.Linux}, {Name: "m1-win-1", WindowsVersion: "ltsc2019"}}
	foreign := spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Name:       "theirs",
		Networking: spec.Networking{
			UnderlaySubnet: "192.0.2.0/24",
			PodSubnet:      "10.244.0.0/16",
			ServiceSubnet:  "10.96.0.0/12",
		},
		Nodes: []spec.Node{{Name: "host-win", WindowsVersion: "ltsc2022"}},
	}

	theirs := spec.Foreign{
		Link:      "eth0",
		MTU:       1500,
		Addresses: []string{"192.0.2.50"},
		DNS:       "10.96.0.10",
		Domain:    "cluster.local",
	}
	asking := theirs
	asking.ServerTLSBootstrap = true

	return map[string]spec.Cluster{
		"default":    load(t, "nodes: [{os: linux}, {windowsVersion: ltsc2022, count: 2}]"),
		"linux-only": load(t, "nodes: [{os: linux}]"),
		"registry":   load(t, "registry: {}\nnodes: [{os: linux}, {windowsVersion: ltsc2022}, {os: linux, bare: true}]"),
		"dual-stack": load(t, `
networking: {underlaySubnet: "10.213.0.0/24,fd00:213::/64", podSubnet: "10.244.0.0/16,fd00:244::/56",
  serviceSubnet: "10.96.0.0/16,fd00:96::/112"}
nodes: [{os: linux}, {windowsVersion: ltsc2022}, {windowsVersion: "1809"}]
`),
		"overlay":     load(t, "networking: {mode: overlay}\nnodes: [{os: linux}, {windowsVersion: ltsc2022, count: 2}]"),
		"transparent": load(t, "networking: {mode: transparent}\nnodes: [{windowsVersion: ltsc2022, count: 2}]"),
		"bare": load(t, `
networking: {kubeProxyMode: none, disableDefaultCNI: true}
addons: {metricsServer: false, localStorage: false}
nodes: [{os: linux}, {windowsVersion: ltsc2022}]
`),
		"bare-host":  load(t, "nodes: [{windowsVersion: ltsc2022}, {windowsVersion: ltsc2022, bare: true}]"),
		"bare-linux": load(t, "nodes: [{os: linux}, {os: linux, bare: true}]"),
		"several":    several,
		"joined": joinedTo(second, spec.Join{
			Server:  "https://192.0.2.1:6443",
			Part:    1,
			Address: "192.0.2.2",
		}),
		"foreign": joinedTo(foreign, spec.Join{
			Server:  "https://k8s.example",
			Address: "192.0.2.9",
			Foreign: &theirs,
		}),
		"foreign-serving": joinedTo(foreign, spec.Join{
			Server:  "https://k8s.example:6443",
			Address: "192.0.2.9",
			Foreign: &asking,
		}),
	}
}

// TestPlan compares the addresses and the ordered units of a cluster of each kind with goldens. With -update it
// rewrites the goldens; their difference shows which unit has come, gone or moved.
func TestPlan(t *testing.T) {
	clusters := testClusters(t)
	for name, c := range clusters {
		t.Run(name, func(t *testing.T) {
			p, err := NewPlan(c, testPaths)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "plan-"+name+".txt")
			got, err := p.Text()
			if err != nil {
				t.Fatal(err)
			}

			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}

			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}

	files, err := filepath.Glob("testdata/plan-*.txt")
	if err != nil {
		t.Fatal(err)
	}

	for _, f := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "plan-"), ".txt")
		if _, ok := clusters[name]; !ok {
			t.Errorf("%s is the plan of no cluster here", f)
		}
	}
}

// The manager can start the units of every cluster: each name is used once, and a unit waits only for units before it.
func TestUnitsHaveAnOrder(t *testing.T) {
	testrun.Once(t, testrun.Order)
	for name, c := range testClusters(t) {
		p, err := NewPlan(c, testPaths)
		if err != nil {
			t.Fatal(err)
		}
		units, err := Units(p, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}

		if _, err := component.Order(units); err != nil {
			t.Errorf("%s: %v", name, err)
		}

		for _, n := range c.Nodes {
			ready := component.OfNode("node", n.Name)
			waits := slices.ContainsFunc(units, func(u component.Unit) bool { return u.ID() == ready })
			if waits == n.Bare {
				t.Errorf("%s: a unit waits for node %s: %t", name, n.Name, waits)
			}
		}
	}
}

// The pods of mode transparent have addresses of the underlay: equal parts that do not overlap, above the nodes'.
func TestSharedUnderlay(t *testing.T) {
	c := load(t, "networking: {mode: transparent}\nnodes: [{windowsVersion: ltsc2022, count: 3}]")
	p, err := NewPlan(c, testPaths)
	if err != nil {
		t.Fatal(err)
	}

	var last netip.Addr
	for _, h := range p.Hosts {
		if !h.Shared.First.Less(h.Shared.Last) || (last.IsValid() && !last.Less(h.Shared.First)) {
			t.Errorf("node %s has %s to %s; the node before ends at %s", h.Name, h.Shared.First, h.Shared.Last, last)
		}
		if !h.Address.Less(h.Shared.First) || h.Shared.Gateway != p.Machine {
			t.Errorf("node %s at %s shares %+v", h.Name, h.Address, h.Shared)
		}
		last = h.Shared.Last
	}

	many := load(t, "networking: {mode: transparent}\nnodes: [{windowsVersion: ltsc2022, count: 120}]")
	if _, err := NewPlan(many, testPaths); err == nil || !strings.Contains(err.Error(), "has room for") {
		t.Errorf("120 nodes: %v", err)
	}
}

// A machine's tunnel has the API server's port, and a VNI that the machines of one cluster share and others do not.
func TestTunnel(t *testing.T) {
	clusters := testClusters(t)
	tunnel := func(c spec.Cluster) uint32 {
		t.Helper()
		p, err := NewPlan(c, testPaths)
		if err != nil {
			t.Fatal(err)
		}

		got := p.tunnel()
		if got.Port != uint16(c.Networking.APIServerPort) || got.Local != c.Address() ||
			got.VNI == 0 || got.VNI >= 1<<24 {
			t.Errorf("tunnel %+v", got)
		}

		return got.VNI
	}

	several, joined := tunnel(clusters["several"]), tunnel(clusters["joined"])
	if several != joined {
		t.Errorf("VNIs %d and %d in one cluster", several, joined)
	}
	other := clusters["several"]
	other.Networking.APIServerPort = 6444
	if got := tunnel(other); got == several {
		t.Errorf("two clusters have VNI %d", got)
	}

	p, err := NewPlan(clusters["default"], testPaths)
	if err != nil || p.tunnel().Local.IsValid() {
		t.Errorf("a single machine has tunnel %+v, %v", p.tunnel(), err)
	}
}

// A machine that joined has a client for each of its nodes, and for nobody else's.
func TestNodeClients(t *testing.T) {
	c := testClusters(t)["joined"]
	clients := NodeClients(testPaths, c)
	if clients.Server != "https://192.0.2.1:6443" || clients.CAFile != "/data/join/ca.crt" {
		t.Errorf("clients of %s, %s", clients.Server, clients.CAFile)
	}

	for node, dir := range map[string]string{
		"m1-win-1":   "/data/nodes/m1-win-1/prefix/",
		"m1-linux-1": "/data/nodes/m1-linux-1/root/",
	} {
		if got := clients.Identities[node].Dir; !strings.HasPrefix(got, dir) {
			t.Errorf("the certificate of %s is in %s", node, got)
		}
	}

	if _, err := clients.Client("win-1"); err == nil || !strings.Contains(err.Error(), "m1-linux-1, m1-win-1") {
		t.Errorf("a client of another machine's node: %v", err)
	}
	if _, err := clients.Client("m1-win-1"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a client without the authority: %v", err)
	}
}

// The API server's certificate has every name by which the server may be reached.
func TestReachedAs(t *testing.T) {
	inside, sans, err := reachedAs("192.0.2.7", 6443)
	if err != nil || inside != "192.0.2.7:6443" || !slices.Equal(sans, []string{"localhost", "127.0.0.1", "192.0.2.7"}) {
		t.Errorf("%s, %v, %v", inside, sans, err)
	}
	inside, sans, err = reachedAs("0.0.0.0", 6443)
	if err != nil || inside != "127.0.0.1:6443" || !slices.Contains(sans, "127.0.0.1") {
		t.Errorf("%s, %v, %v", inside, sans, err)
	}
	if _, _, err := reachedAs("here", 6443); err == nil {
		t.Error("a name is an address")
	}
}
