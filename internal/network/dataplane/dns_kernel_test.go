//go:build kernel

package dataplane_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/dnsproxy"
	"mullion.dev/mullion/internal/network/netplan"
)

// nameServer answers every question over UDP with itself.
func nameServer(t *testing.T, ns, at string) {
	t.Helper()
	var c net.PacketConn
	if err := netns.Do(ns, func() (err error) {
		c, err = net.ListenPacket("udp4", at)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	go func() {
		m := make([]byte, 512)
		for {
			n, from, err := c.ReadFrom(m)
			if err != nil {
				return
			}
			m[2] |= 0x80
			_, _ = c.WriteTo(m[:n], from)
		}
	}()
}

// resolves reports whether a question at the gateway is answered.
func resolves(ns string) bool {
	question := []byte("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01a\x00\x00\x01\x00\x01")
	reply := make([]byte, 512)
	n := 0
	err := netns.Do(ns, func() error {
		c, err := net.Dial("udp4", "172.20.1.1:53")
		if err != nil {
			return err
		}
		defer func() { _ = c.Close() }()
		_ = c.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err = c.Write(question); err == nil {
			n, err = c.Read(reply)
		}
		return err
	})
	return err == nil && n == len(question) && reply[2] == 0x81 && string(reply[:2]) == "\x12\x34"
}

// Pods of a NAT network resolve names at its gateway if the network wants that, and nobody else does.
func TestDNSAtGateway(t *testing.T) {
	u := newUnderlay(t)
	nameServer(t, u.router, "198.51.100.1:53")
	var err error
	u.a.Plane, err = dataplane.New(dataplane.Config{
		Netns: u.a.ns, PinDir: u.a.pins,
		DNS: func(link string, at []netip.Addr) (io.Closer, error) {
			var listen []netip.AddrPort
			for _, a := range at {
				listen = append(listen, netip.AddrPortFrom(a, 53))
			}
			servers := []netip.AddrPort{netip.MustParseAddrPort("198.51.100.1:53")}
			return dnsproxy.Listen(dnsproxy.Config{
				Netns: u.a.ns, Link: link, At: listen, Servers: func() []netip.AddrPort { return servers },
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan := network(netplan.WinNAT, "172.20.1")
	u.a.apply(t, plan)
	pod := u.a.Pin(dataplanetest.NSA)
	if resolves(pod) {
		t.Error("the gateway answers unasked")
	}
	with := plan.Bridges[0]
	with.DNSProxy = true
	u.a.change(t, &plan, netplan.Change{Set: netplan.Plan{Bridges: []netplan.Bridge{with}}})
	run(t, u.linux, "ip route add 172.20.1.0/24 via 10.213.0.11")
	if !resolves(pod) || resolves(u.linux) {
		t.Error("a pod resolves no name at the gateway, or another host does")
	}
	run(t, u.a.ns, "ip link del $(ip -o link | grep -o 'hns[0-9a-f]*' | head -1)")
	found, err := u.a.Differences(t.Context(), plan)
	if err != nil || !strings.Contains(strings.Join(found, "\n"), "DNS at the gateway") {
		t.Errorf("without the switch: %q, %v", found, err)
	}
	u.a.apply(t, plan)
	dataplanetest.Expect(t, u.a, plan)
	if !resolves(pod) {
		t.Error("after the repair, a pod resolves no name at the gateway")
	}
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
	if got := run(t, u.a.ns, "ss -Hlnut sport = :53"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
