package linuxhost

import (
	"net/netip"
	"strings"
	"testing"

	"sigs.k8s.io/knftables"
)

func TestNATRules(t *testing.T) {
	fake := knftables.NewFake(knftables.IPv4Family, natTable)
	c := NAT{
		Pods: netip.MustParsePrefix("10.244.0.0/16"),
		Inside: []netip.Prefix{
			netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16"),
			netip.MustParsePrefix("10.213.0.0/24"),
		},
	}
	for range 2 { // the second time there is something to replace
		if err := fake.Run(t.Context(), c.rules(fake)); err != nil {
			t.Fatal(err)
		}
	}
	const want = "add rule ip mullion postrouting ip saddr 10.244.0.0/16 ip daddr != { 10.244.0.0/16, 10.96.0.0/16, 10.213.0.0/24 } fib daddr type != local masquerade"
	if got := fake.Dump(); strings.Count(got, "add rule") != 1 || !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant the one rule\n%s", got, want)
	}
}
