package linuxhost

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/knftables"
)

func TestNATRules(t *testing.T) {
	c := NAT{
		Pods: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/56")},
		Inside: []netip.Prefix{
			netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("10.96.0.0/16"),
			netip.MustParsePrefix("10.213.0.0/24"), netip.MustParsePrefix("fd00:244::/56"),
			netip.MustParsePrefix("fd00:213::/64"),
		},
	}

	for i, want := range []string{
		"add rule ip mullion postrouting ip saddr 10.244.0.0/16 ip daddr != { 10.244.0.0/16, 10.96.0.0/16, 10.213.0.0/24 } fib daddr type != local masquerade",
		"add rule ip6 mullion postrouting ip6 saddr fd00:244::/56 ip6 daddr != { fd00:244::/56, fd00:213::/64 } fib daddr type != local masquerade",
	} {
		fake := knftables.NewFake(familyOf(c.Pods[i]), natTable)
		for range 2 { // the second time there is something to replace
			if err := fake.Run(t.Context(), c.rules(fake, c.Pods[i])); err != nil {
				t.Fatal(err)
			}
		}

		if got := fake.Dump(); strings.Count(got, "add rule") != 1 || !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant the one rule\n%s", got, want)
		}
	}
}

func TestPodRules(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    NAT
		want []string
	}{
		{"others' plugins", NAT{TunnelPort: 4789}, nil},
		{"routed", NAT{Routed: true}, []string{
			`prerouting iifname "veth*" fib saddr . iif oif missing drop`, `prerouting iifname "veth*" ip6 saddr :: accept`,
		}},
		{"overlay", NAT{Routed: true, TunnelPort: 4789}, []string{
			`forward iifname "veth*" udp dport 4789 drop`, `input iifname "veth*" udp dport 4789 drop`,
			`prerouting iifname "veth*" fib saddr . iif oif missing drop`, `prerouting iifname "veth*" ip6 saddr :: accept`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			fake := knftables.NewFake(knftables.InetFamily, podTable)
			for range 2 {
				if err := fake.Run(t.Context(), tc.c.podRules(fake)); err != nil {
					t.Fatal(err)
				}
			}

			var got []string
			for line := range strings.Lines(fake.Dump()) {
				if _, rule, ok := strings.Cut(strings.TrimSpace(line), "add rule inet "+podTable+" "); ok {
					got = append(got, rule)
				}
			}

			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
