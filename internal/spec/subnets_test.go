package spec_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mullion.dev/mullion/internal/spec"
)

func TestDualStack(t *testing.T) {
	c, err := spec.Load(
		strings.NewReader(
			head + "networking: {podSubnet: \"10.202.0.0/16, fd00:202::/56\", underlaySubnet: 10.201.4.0/22}\nnodes: [{}, {windowsVersion: ltsc2019}, {os: linux}]\n"))
	if err != nil {
		t.Fatal(err)
	}

	n := c.Networking
	got := strings.Join([]string{
		spec.JoinSubnets(n.Pods(), n.Pods6()), spec.JoinSubnets(n.Services(), n.Services6()),
		spec.JoinSubnets(n.Underlay(), n.Underlay6()), spec.JoinSubnets(n.LoadBalancers(), n.LoadBalancers6()),
	}, " ")

	const want = "10.202.0.0/16,fd00:202::/56 10.96.0.0/16,fd00:10:96::/112 10.201.4.0/22,fd00:10:213::/64 10.201.4.224/28,fd00:10:213::e0/124"
	if got != want || !n.DualStack() {
		t.Errorf("got %s, want %s", got, want)
	}
	var dual []bool
	for _, node := range c.Nodes {
		dual = append(dual, node.DualStack())
	}

	if diff := cmp.Diff([]bool{true, false, true}, dual); diff != "" {
		t.Errorf("nodes with both families: %s", diff)
	}
	if err := c.Validate(); err != nil {
		t.Errorf("once resolved: %v", err)
	}

	addr, err := spec.Address6(n.Underlay(), n.Underlay6(), spec.Nth(n.Underlay().Addr(), 300))
	if err != nil || addr.String() != "fd00:10:213::12c" {
		t.Errorf("the 300th node's address is %s, %v", addr, err)
	}
	if _, err := spec.Address6(n.Underlay(), netip.MustParsePrefix("fd00::/120"),
		spec.Nth(n.Underlay().Addr(), 300)); err == nil {
		t.Error("an address beyond its subnet")
	}

	single := spec.Default(nil, false, "").Networking
	if addr, err := spec.Address6(single.Underlay(), single.Underlay6(), single.Underlay().Addr()); err != nil ||
		addr.IsValid() || single.DualStack() {
		t.Errorf("IPv6 in a cluster of IPv4: %s, %v", addr, err)
	}
}
