//go:build kernel

package dataplane_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"mullion.dev/mullion/internal/base/netns/netnstest"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/netplan"
)

const twin = "1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A0002"

// second returns what a second overlay, with the subnet of the first and another VNI, adds to the plan of the host at
// 10.213.0.<last>: pods at .5 and .7.
func second(subnet, last string, peers ...netplan.Peer) netplan.Plan {
	p := overlay(subnet, last)
	b := &p.Bridges[0]
	b.ID = twin
	b.MAC = "00:15:5d:00:01:02"
	b.Apart = 1
	b.Overlay.VNI = 4097
	b.Overlay.MAC = "00:15:5d:bb:00:" + last

	p.Namespaces = nil
	for i := range p.Ports {
		port := &p.Ports[i]
		port.ID = fmt.Sprintf("1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A02A%d", i)
		port.Namespace = fmt.Sprintf("1D3A2E1C-7D7F-4A0B-9C55-0F6B1E6A02B%d", i)
		port.Bridge, port.MAC = twin, fmt.Sprintf("00:15:5d:00:01:0%d", 5+i)
		port.Addrs = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("%s.%d/24", subnet, 5+2*i))}
		p.Namespaces = append(p.Namespaces, port.Namespace)
	}

	for _, peer := range peers {
		peer.ID, peer.Bridge = "twin of "+peer.ID, twin
		peer.MAC = strings.Replace(peer.MAC, ":aa:", ":bb:", 1)
		p.Peers = append(p.Peers, peer)
	}

	for _, proto := range []netplan.Protocol{netplan.TCP, netplan.UDP} {
		p.LoadBalancers = append(p.LoadBalancers, netplan.LoadBalancer{
			ID:       fmt.Sprint("shop", proto),
			Bridge:   twin,
			VIPs:     []netip.Addr{netip.MustParseAddr("10.96.0.77")},
			Protocol: proto,
			Port:     80,
			Backends: []netip.AddrPort{netip.MustParseAddrPort(subnet + ".7:80")},
		})
	}

	p.Normalize()
	return p
}

// Two overlays of the same two hosts with the same addresses: packets of one never meet pods of the other.
func TestOverlaysWithOneSubnet(t *testing.T) {
	u := newUnderlay(t)
	planA, planB := overlay("10.244.1", "11"), overlay("10.244.2", "12")
	planA.Peers = []netplan.Peer{peer("b", "10.244.2.0/24", "12")}
	planB.Peers = []netplan.Peer{peer("a", "10.244.1.0/24", "11")}
	twinA, twinB := second("10.244.1", "11", planA.Peers...), second("10.244.2", "12", planB.Peers...)
	u.a.apply(t, planA)
	u.a.change(t, &planA, netplan.Change{Set: twinA})
	planB = planB.With(netplan.Change{Set: twinB})
	u.b.apply(t, planB)
	dataplanetest.Expect(t, u.b, planB)

	a5, _, b5 := u.serve(t)
	x5, x7 := u.a.Pin(twinA.Ports[0].Namespace), u.a.Pin(twinA.Ports[1].Namespace)
	y5 := u.b.Pin(twinB.Ports[0].Namespace)
	netnstest.Serve(t, x5, "x5", "10.244.1.5:80")
	netnstest.Serve(t, x7, "x7", "10.244.1.7:80")
	netnstest.Serve(t, y5, "y5", "10.244.2.5:80")
	netnstest.Serve(t, u.a.ns, "host", "10.213.0.11:81")

	check := func(t *testing.T) {
		t.Helper()
		netnstest.Flow(t, a5, "10.244.1.6:80", "a6", "10.244.1.5")
		netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")
		netnstest.Flow(t, b5, "10.244.1.5:80", "a5", "10.244.2.5")
		netnstest.Flow(t, x7, "10.244.1.5:80", "x5", "10.244.1.7")
		netnstest.Flow(t, x5, "10.244.2.5:80", "y5", "10.244.1.5")
		netnstest.Flow(t, y5, "10.244.1.5:80", "x5", "10.244.2.5")
		netnstest.Flow(t, a5, "198.51.100.1:80", "outside", "10.213.0.11")
		netnstest.Flow(t, x5, "198.51.100.1:80", "outside", "10.213.0.11")
		netnstest.Flow(t, x5, "10.213.0.11:81", "host", "")
		netnstest.Flow(t, x5, "10.96.0.77:80", "x7", "10.244.1.5")
		netnstest.Flow(t, u.a.ns, "10.244.1.5:80", "a5", "10.244.1.1")
	}

	check(t)
	netnstest.NoFlow(t, a5, "10.244.1.7:80") // only the second has it
	netnstest.NoFlow(t, x5, "10.244.1.6:80") // only the first has it
	netnstest.NoFlow(t, a5, "10.96.0.77:80")
	netnstest.NoFlow(t, u.a.ns, "10.244.1.7:80")
	for _, port := range []string{twinA.Ports[1].ID, dataplanetest.EpA} {
		if st, err := u.a.Stats(t.Context(), port); err != nil || st.RxBytes == 0 {
			t.Errorf("statistics of %s: %+v, %v", port, st, err)
		}
	}

	// What a pod of one sends to the port of the tunnels does not reach another host, which would believe it.
	run(t, u.b.ns, `nft add table ip c
		nft 'add chain ip c i { type filter hook prerouting priority -500; }'
		nft add rule ip c i ip saddr 10.213.0.11 udp dport 4789 @th,64,8 0x78 counter`)
	for _, pod := range []string{a5, x5} {
		run(t, pod, `bash -c 'exec 3<>/dev/udp/10.213.0.12/4789; printf xxxxxxxx >&3; printf xxxxxxxx >&3' 2>&1 || true`)
	}

	run(t, x5, "ping -c1 -W2 10.244.2.5 >&2") // what was sent before has come
	if got := run(t, u.b.ns, "nft list table ip c"); !strings.Contains(got, "packets 0 ") {
		t.Errorf("pods' frames reached another host:\n%s", got)
	}
	if got := run(t, u.a.ns, "ip -d link show type vxlan"); !strings.Contains(got, " id 4096 ") ||
		strings.Contains(got, " id 4097 ") {
		t.Errorf("VXLAN interfaces of the host's own namespace:\n%s", got)
	}

	t.Run("Repair", func(t *testing.T) {
		u.a = u.a.reopen(t) // a new process finds it as it is
		u.a.apply(t, planA)
		check(t)
		run(t, u.a.ns, "ip link del $(ip -o link | grep -o ' va[0-9a-f]*' | head -1)")
		found, err := u.a.Differences(t.Context(), planA)
		if err != nil || !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, "way out") }) {
			t.Errorf("without the way out: %q, %v", found, err)
		}

		u.a.apply(t, planA)
		dataplanetest.Expect(t, u.a, planA)
		check(t)
	})

	t.Run("Remove", func(t *testing.T) {
		gone := netplan.Removed{Bridges: []string{twin}, LoadBalancers: []string{"shop6", "shop17"}}
		for _, p := range twinA.Ports {
			gone.Ports, gone.Namespaces = append(gone.Ports, p.ID), append(gone.Namespaces, p.Namespace)
		}

		for _, p := range twinA.Peers {
			gone.Peers = append(gone.Peers, p.ID)
		}

		u.a.change(t, &planA, netplan.Change{Removed: gone})
		if got := run(t, u.a.ns, "ip -o link | grep -o ' va[0-9a-f]*' || true; ls "+u.a.pins+" | grep apart || true"); got != "" {
			t.Errorf("left of the network:\n%s", got)
		}
		netnstest.Flow(t, a5, "10.244.2.5:80", "b5", "10.244.1.5")
		u.a.change(t, &planA, netplan.Change{Set: twinA}) // the VNI is free at once
	})

	u.a = u.a.reopen(t)
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
}
