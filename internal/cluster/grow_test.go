package cluster

import (
	"slices"
	"testing"

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
