package cluster

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"mullion.dev/mullion/internal/base/kubeclient/fake"
	"mullion.dev/mullion/internal/cluster/layout"
	"mullion.dev/mullion/internal/controlplane/bootstrap"
	"mullion.dev/mullion/internal/process/component"
	"mullion.dev/mullion/internal/spec"
)

// TestOnlyAdds: a cluster gets more nodes after those that it has. Whatever else differs is another cluster.
func TestOnlyAdds(t *testing.T) {
	linux := spec.Node{Name: "linux-1", OS: spec.Linux}
	for _, tt := range []struct {
		name string
		// change changes both clusters, and want the wanted one.
		change, want func(c *spec.Cluster)
		adds         bool
	}{
		{"the same", nil, func(*spec.Cluster) {}, false},
		{"one more", nil, func(c *spec.Cluster) { c.Nodes = append(c.Nodes, linux) }, true},
		{"external nodes", nil, func(c *spec.Cluster) { c.Networking.ExternalNodes = []string{"192.0.2.7"} }, true},
		{"a registry", nil, func(c *spec.Cluster) { c.Registry = &spec.Registry{Port: 5001} }, true},
		{
			"a registry at another port", func(c *spec.Cluster) { c.Registry = &spec.Registry{Port: 5001} },
			func(c *spec.Cluster) { c.Registry = &spec.Registry{Port: 5002} }, false,
		},
		{
			"external nodes of a machine that joined", func(c *spec.Cluster) { c.Join = &spec.Join{} },
			func(c *spec.Cluster) { c.Networking.ExternalNodes = []string{"192.0.2.7"} }, false,
		},
		{"before the others", nil, func(c *spec.Cluster) { c.Nodes = append([]spec.Node{linux}, c.Nodes...) }, false},
		{"none", nil, func(c *spec.Cluster) { c.Nodes = nil }, false},
		{"another subnet", nil, func(c *spec.Cluster) {
			c.Nodes = append(c.Nodes, linux)
			c.Networking.PodSubnet = "10.9.0.0/16"
		}, false},
		{"a node changes", nil, func(c *spec.Cluster) {
			c.Nodes = append(c.Nodes, linux)
			c.Nodes[0].WindowsVersion = "ltsc2019"
		}, false},
		{
			"in mode transparent", func(c *spec.Cluster) { c.Networking.Mode = spec.ModeTransparent },
			func(c *spec.Cluster) { c.Nodes = append(c.Nodes, linux) }, false,
		},
		{
			"of a machine that joined", func(c *spec.Cluster) { c.Join = &spec.Join{} },
			func(c *spec.Cluster) { c.Nodes = append(c.Nodes, linux) }, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			have := unusual(t)
			if tt.change != nil {
				tt.change(&have)
			}

			want := have
			want.Nodes = slices.Clone(have.Nodes)
			tt.want(&want)
			if adds, err := onlyAdds(have, want); adds != tt.adds || err != nil {
				t.Errorf("%v, %v, want %v", adds, err, tt.adds)
			}
		})
	}
}

// TestGrown: to what runs come the new nodes' units, and those that know all nodes begin anew, on the same network.
func TestGrown(t *testing.T) {
	const (
		one     = "nodes: [{windowsVersion: ltsc2022}, {os: linux}]"
		bare    = "nodes: [{windowsVersion: ltsc2022}, {os: linux}, {os: linux, bare: true}]"
		several = "networking: {advertiseAddress: 192.0.2.1}\n" + one
	)
	const anew = "local-storage network-policy pod-routes volume-limits wine"
	windows := func(version string) spec.Node {
		return spec.Node{
			Name:           "new",
			OS:             spec.Windows,
			WindowsVersion: version,
		}
	}
	linux := spec.Node{Name: "new", OS: spec.Linux}
	bareLinux := linux
	bareLinux.Bare = true

	for _, tt := range []struct {
		name, have string
		node       spec.Node
		anew       string
	}{
		{"of the same Windows", one, windows("ltsc2022"), anew},
		{
			"of another Windows", one, windows("ltsc2019"),
			"bootstrap local-storage network-policy own-addresses pod-routes volume-limits wine",
		},
		// It has a RuntimeClass for every Windows, and bootstrap knows no addresses of machines that have joined.
		{"of another Windows, among several machines", several, windows("ltsc2019"), anew},
		{"of Linux", one, linux, anew},
		{"of Linux, beside a bare one", bare, linux, anew},
		{"of bare Linux, beside another", bare, bareLinux, "control-plane-endpoint " + anew},
	} {
		t.Run(tt.name, func(t *testing.T) {
			have := load(t, tt.have)
			before, err := NewPlan(have, testPaths)
			if err != nil {
				t.Fatal(err)
			}
			c, err := compose(before, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}

			want := have
			want.Nodes = append(slices.Clone(have.Nodes), tt.node)
			after, err := NewPlan(want, testPaths)
			if err != nil {
				t.Fatal(err)
			}
			g, more, err := c.grown(after)
			if err != nil {
				t.Fatal(err)
			}

			var again []string
			ofNew := 0
			for _, u := range more {
				switch u.ID().Node {
				case "new":
					ofNew++
				case "":
					again = append(again, u.ID().String())
				default:
					t.Errorf("%s begins anew", u.ID())
				}
			}

			slices.Sort(again)
			if got := strings.Join(again, " "); got != tt.anew || ofNew < 4 {
				t.Errorf("anew begin %q, want %q; and %d units of the new node", got, tt.anew, ofNew)
			}
			if g.underlay != c.underlay {
				t.Error("it stands on another network")
			}
			if _, err := component.Order(g.units); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestStandsStill: nodes that need another network below all are not added to what runs.
func TestStandsStill(t *testing.T) {
	have := load(t, "nodes: [{windowsVersion: ltsc2022}]")
	for name, tt := range map[string]struct {
		change func(c *spec.Cluster)
		want   bool
	}{
		"a node":         {func(c *spec.Cluster) { c.Nodes = append(c.Nodes, spec.Node{Name: "n", OS: spec.Linux}) }, true},
		"external nodes": {func(c *spec.Cluster) { c.Networking.ExternalNodes = []string{"192.0.2.7"} }, false},
		"the first bare Linux host, with an address for its control plane": {func(c *spec.Cluster) {
			c.Nodes = append(c.Nodes, spec.Node{
				Name: "n",
				OS:   spec.Linux,
				Bare: true,
			})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := have
			want.Nodes = slices.Clone(have.Nodes)
			tt.change(&want)
			if got, err := standsStill(testPaths, have, want); err != nil || got != tt.want {
				t.Errorf("%v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

// TestForgetIn: of a larger cluster that did not start the API keeps nothing that is new, and all else.
func TestForgetIn(t *testing.T) {
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	for name, tt := range map[string]struct {
		had  *spec.Registry
		want int
	}{
		"a registry":              {nil, 0},
		"beside one of before it": {&spec.Registry{Port: 5001}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(node("old"), node("new"))
			if err := bootstrap.RegistryHost(t.Context(), client, "localhost:5001"); err != nil {
				t.Fatal(err)
			}

			have := spec.Cluster{Nodes: []spec.Node{{Name: "old"}}, Registry: tt.had}
			want := spec.Cluster{
				Nodes:    []spec.Node{{Name: "old"}, {Name: "new"}, {Name: "never-came"}},
				Registry: &spec.Registry{Port: 5001},
			}
			for range 2 { // the second time all is gone
				if err := forgetIn(t.Context(), client, have, want); err != nil {
					t.Fatal(err)
				}
			}

			nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
			if err != nil || len(nodes.Items) != 1 || nodes.Items[0].Name != "old" {
				t.Errorf("nodes %+v, %v", nodes, err)
			}
			notes, err := client.CoreV1().ConfigMaps(metav1.NamespacePublic).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(notes.Items) != tt.want {
				t.Errorf("%d notes, %v, want %d", len(notes.Items), err, tt.want)
			}
		})
	}
}

// TestStillHas: a cluster that another command was to make larger, and has not, is not what this one wants.
func TestStillHas(t *testing.T) {
	paths := layout.Paths{Data: t.TempDir()}
	have := load(t, "nodes: [{windowsVersion: ltsc2022}]")
	if err := paths.SaveSpec(have); err != nil {
		t.Fatal(err)
	}
	if err := stillHas(paths, have); err != nil {
		t.Error(err)
	}

	more := have
	more.Nodes = append(slices.Clone(have.Nodes), spec.Node{Name: "linux-1", OS: spec.Linux})
	if err := stillHas(paths, more); !errors.Is(err, ErrNotGrown) {
		t.Errorf("it says %v", err)
	}

	if err := paths.SaveSpec(more); err != nil {
		t.Fatal(err)
	}
	if err := stillHas(paths, have); err != nil {
		t.Errorf("with more than is wanted: %v", err)
	}
}
