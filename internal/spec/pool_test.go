package spec_test

import (
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/spec"
)

func TestLast(t *testing.T) {
	for network, want := range map[string]string{
		"10.213.0.0/24":   "10.213.0.255",
		"10.213.0.224/28": "10.213.0.239",
		"10.213.0.17/20":  "10.213.15.255",
		"192.0.2.7/32":    "192.0.2.7",
		"0.0.0.0/0":       "255.255.255.255",
		"fd00:10::/64":    "fd00:10::ffff:ffff:ffff:ffff",
	} {
		if got := spec.Last(netip.MustParsePrefix(network)); got != netip.MustParseAddr(want) {
			t.Errorf("Last(%s) = %s, want %s", network, got, want)
		}
	}
}

func TestLoadBalancerPool(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "10.213.0.224/28"},
		{"networking: {underlaySubnet: 10.99.4.0/22}\n", "10.99.4.224/28"},
		{"networking: {loadBalancerPool: 10.213.0.13/30}\n", "10.213.0.12/30"},
		{"networking: {loadBalancerPool: 10.213.0.10/32}\n", "10.213.0.10/32"},
		{"networking: {loadBalancerPool: 203.0.113.0/24}\n", "203.0.113.0/24"},
		{"networking: {podSubnet: \"10.244.0.0/16,fd00:1::/56\"}\n", "10.213.0.224/28,fd00:10:213::e0/124"},
		{
			"networking: {underlaySubnet: \"10.99.4.0/22,fd00:99::/64\", loadBalancerPool: 10.1.2.0/30}\n",
			"10.1.2.0/30,fd00:99::e0/124",
		},
		{
			"networking: {serviceSubnet: \"10.96.0.0/16,fd00:1::/112\", loadBalancerPool: \"10.1.2.0/30,2001:db8::/126\"}\n",
			"10.1.2.0/30,2001:db8::/126",
		},
	} {
		c, err := spec.Load(strings.NewReader(head + tt.in + "nodes: [{}]\n"))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		n := c.Networking
		if got := spec.JoinSubnets(n.LoadBalancers(), n.LoadBalancers6()); got != tt.want {
			t.Errorf("pool of %q = %s, want %s", tt.in, got, tt.want)
		}
	}

	for _, mode := range spec.Modes() {
		if _, err := spec.Load(
			strings.NewReader(
				head + "networking: {mode: " + string(mode) + "}\nnodes: [{os: linux}, {os: windows}]\n")); err != nil {
			t.Errorf("Linux and Windows nodes in mode %s: %v", mode, err)
		}
	}

	if _, err := spec.Load(
		strings.NewReader(head + "networking: {mode: transparent}\nnodes: [{count: 100}]\n")); err != nil {
		t.Errorf("the default pool: %v", err)
	}
	if _, err := spec.Load(strings.NewReader(head + "nodes: [{count: 200}]\n")); err != nil {
		t.Errorf("the default pool with all nodes that there may be: %v", err)
	}
}
