package spec_test

import (
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

// foreign returns a machine with two nodes in a cluster as kubeadm makes it.
func foreign() spec.Cluster {
	return spec.Cluster{
		APIVersion: spec.APIVersion,
		Kind:       spec.Kind,
		Name:       "kubernetes",
		Nodes:      []spec.Node{{Name: "rack-win", Count: 2}},
		Networking: spec.Networking{
			UnderlaySubnet: "192.0.2.0/26",
			PodSubnet:      "10.244.0.0/16",
			ServiceSubnet:  "10.96.0.0/12",
		},
		Join: &spec.Join{
			Server:  "https://192.0.2.1:6443",
			Address: "192.0.2.2",
			Foreign: &spec.Foreign{
				Link:      "eth0",
				Addresses: []string{"192.0.2.50", "192.0.2.51"},
				DNS:       "10.96.0.10",
				Domain:    "cluster.local",
			},
		},
	}
}

func TestForeign(t *testing.T) {
	c := foreign()
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	c = c.WithDefaults()
	if !c.Foreign() || c.SeveralMachines() || c.DNS().String() != "10.96.0.10" || c.Nodes[1].Name != "rack-win-2" {
		t.Errorf("read as %+v", c)
	}

	for name, tt := range map[string]struct {
		change func(*spec.Cluster)
		want   string
	}{
		"too_few": {
			func(c *spec.Cluster) { c.Join.Foreign.Addresses = c.Join.Foreign.Addresses[:1] },
			"1 addresses for 2 nodes",
		},
		"elsewhere": {
			func(c *spec.Cluster) { c.Join.Foreign.Addresses[1] = "192.0.2.90" },
			"not an address on this machine's network",
		},
		"twice": {
			func(c *spec.Cluster) { c.Join.Foreign.Addresses[1] = "192.0.2.50" },
			"two nodes have the address",
		},
		"machine":     {func(c *spec.Cluster) { c.Join.Foreign.Addresses[1] = "192.0.2.2" }, "it is this machine's"},
		"broadcast":   {func(c *spec.Cluster) { c.Join.Foreign.Addresses[1] = "192.0.2.63" }, "the network's own"},
		"no_address":  {func(c *spec.Cluster) { c.Join.Address = "192.0.3.2" }, "is not an address on network"},
		"overlay":     {func(c *spec.Cluster) { c.Networking.Mode = spec.ModeOverlay }, "use mode l2bridge"},
		"pods_on_lan": {func(c *spec.Cluster) { c.Networking.PodSubnet = "192.0.0.0/16" }, "overlaps"},
		"dns":         {func(c *spec.Cluster) { c.Join.Foreign.DNS = "fd00::10" }, "is not an IPv4 address"},
	} {
		t.Run(name, func(t *testing.T) {
			c := foreign()
			tt.change(&c)
			if err := c.Validate(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Validate() = %v, want %q", err, tt.want)
			}
		})
	}
}
