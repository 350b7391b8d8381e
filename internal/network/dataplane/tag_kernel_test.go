//go:build kernel

package dataplane_test

import (
	"net/netip"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

// watchTags counts on the wire between the hosts the packets from host a with the tag 42, and those without a tag.
func watchTags(t *testing.T, u *underlay) (tagged, untagged func() bool) {
	t.Helper()
	run(t, u.wire, `nft add table netdev c
		nft 'add chain netdev c i { type filter hook ingress device p0 priority 0; }'
		nft add rule netdev c i vlan id 42 ip protocol tcp counter comment tagged
		nft add rule netdev c i ether type ip ip protocol tcp counter comment untagged`)

	seen := func(comment string) func() bool {
		return func() bool {
			for line := range strings.Lines(run(t, u.wire, "nft list table netdev c")) {
				if strings.Contains(line, `"`+comment+`"`) {
					return !strings.Contains(line, "packets 0 ")
				}
			}
			t.Fatal("no counter")
			return false
		}
	}

	return seen("tagged"), seen("untagged")
}

// transparent returns a network whose pods are at .<n> and .<n+1> of 10.99.0.0/24, with a tag.
func transparent(tag uint16, n byte) netplan.Plan {
	p := network(netplan.Transparent, "10.99.0")
	p.Bridges[0].VLAN, p.Bridges[0].Gateways = tag, nil
	for i := range p.Ports {
		p.Ports[i].Addrs = []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 99, 0, n + byte(i)}), 24)}
		p.Ports[i].Routes = nil
		p.Ports[i].MAC = "00:15:5d:99:00:" + string('0'+rune(n/10)) + string('0'+rune(n%10+byte(i)))
	}
	return p
}

// Pods of a tagged network reach each other over the underlay, in frames that carry the tag; others do not.
func TestTaggedPods(t *testing.T) {
	u := newUnderlay(t)
	tagged, untagged := watchTags(t, u)
	u.a.apply(t, transparent(42, 5))
	u.b.apply(t, transparent(42, 7))
	pod, other := u.a.Pin(dataplanetest.NSA), u.b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, other, "b7", "10.99.0.7:80")
	netnstest.Flow(t, pod, "10.99.0.7:80", "b7", "10.99.0.5")
	netnstest.Serve(t, u.a.Pin(dataplanetest.NSB), "a6", "10.99.0.6:80")
	netnstest.Flow(t, pod, "10.99.0.6:80", "a6", "10.99.0.5")
	netnstest.Flow(t, other, "10.99.0.6:80", "a6", "10.99.0.7")
	if !tagged() || untagged() {
		t.Errorf("frames on the wire: tagged %v, untagged %v", tagged(), untagged())
	}

	run(t, u.linux, "ip addr add 10.99.0.13/24 dev eth0")
	netnstest.NoFlow(t, u.linux, "10.99.0.6:80") // without the tag
	u.b.apply(t, transparent(43, 7))
	netnstest.NoFlow(t, u.b.Pin(dataplanetest.NSA), "10.99.0.6:80") // with another
	u.b.apply(t, transparent(42, 7))
	netnstest.Flow(t, u.b.Pin(dataplanetest.NSA), "10.99.0.6:80", "a6", "10.99.0.7")
	for _, h := range []host{u.a, u.b} {
		h.apply(t, netplan.Plan{})
		nothingLeft(t, h)
		noTagsLeft(t, h)
	}
}

func noTagsLeft(t *testing.T, h host) {
	t.Helper()
	if got := run(
		t, h.ns, "ip -o link | grep -Eo ' vt[0-9a-f]+' || true; tc filter show dev eth0 ingress"); strings.TrimSpace(
		got) != "" {
		t.Errorf("left behind:\n%s", got)
	}
}

// A tagged L2Bridge network is routed over the tagged underlay, by the hosts' own addresses.
func TestTaggedRoutes(t *testing.T) {
	u := newUnderlay(t)
	tagged, untagged := watchTags(t, u)
	plan := func(subnet string) netplan.Plan {
		p := network(netplan.L2Bridge, subnet)
		p.Bridges[0].VLAN, p.Bridges[0].Gateways = 42, nil
		p.Bridges[0].Addrs = []netip.Prefix{netip.MustParsePrefix(subnet + ".2/24")}
		return p
	}

	run(t, u.a.ns, "ip route replace default via 10.213.0.12") // each is the other's router
	run(t, u.b.ns, "ip route replace default via 10.213.0.11")
	u.a.apply(t, plan("10.244.1"))
	u.b.apply(t, plan("10.244.2"))
	pod, other := u.a.Pin(dataplanetest.NSA), u.b.Pin(dataplanetest.NSA)
	netnstest.Serve(t, pod, "a5", "10.244.1.5:80")
	netnstest.Serve(t, other, "b5", "10.244.2.5:80")
	netnstest.Flow(t, pod, "10.244.2.5:80", "b5", "10.244.1.5")
	netnstest.Flow(t, other, "10.244.1.5:80", "a5", "10.244.2.5")
	if !tagged() || untagged() {
		t.Errorf("frames on the wire: tagged %v, untagged %v", tagged(), untagged())
	}

	netnstest.Serve(t, u.linux, "linux", "10.213.0.13:80")
	// the host itself is on the underlay without a tag
	netnstest.Flow(t, u.a.ns, "10.213.0.13:80", "linux", "10.213.0.11")
	u.a.apply(t, plan("10.244.1")) // nothing to do
	for _, h := range []host{u.a, u.b} {
		h.apply(t, netplan.Plan{})
		nothingLeft(t, h)
		noTagsLeft(t, h)
	}
}

// Parts of a tag's interface that somebody removed are restored.
func TestTagIsRepaired(t *testing.T) {
	for name, harm := range map[string]string{
		"uplink-filter": "tc filter del dev eth0 ingress",
		"end-filter":    "tc qdisc del dev $(ip -o link | grep -Eo 'vt[0-9a-f]+' | head -1) clsact",
		"pair":          "ip link del $(ip -o link | grep -Eo 'vt[0-9a-f]+' | head -1)",
		"down":          "ip link set $(ip -o link | grep -Eo 'vt[0-9a-f]+' | head -1) down",
	} {
		t.Run(name, func(t *testing.T) {
			u := newUnderlay(t)
			u.a.apply(t, transparent(42, 5))
			u.b.apply(t, transparent(42, 7))
			if found, err := u.a.Differences(t.Context(), transparent(42, 5)); err != nil || len(found) > 0 {
				t.Errorf("what is whole differs: %q, %v", found, err)
			}

			run(t, u.a.ns, harm)
			if found, err := u.a.Differences(t.Context(), transparent(42, 5)); err != nil || len(found) == 0 {
				t.Errorf("nothing differs, %v", err)
			}
			u.a.apply(t, transparent(42, 5))
			netnstest.Serve(t, u.b.Pin(dataplanetest.NSA), "b7", "10.99.0.7:80")
			netnstest.Flow(t, u.a.Pin(dataplanetest.NSA), "10.99.0.7:80", "b7", "10.99.0.5")
		})
	}
}
