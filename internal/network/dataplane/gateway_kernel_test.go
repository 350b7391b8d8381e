//go:build kernel

package dataplane_test

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/insomniacslk/dhcp/dhcpv4"
	"github.com/insomniacslk/dhcp/dhcpv4/nclient4"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/dataplane"
	"mullion.dev/mullion/internal/network/dataplane/dataplanetest"
	"mullion.dev/mullion/internal/network/dhcp"
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
	if err != nil || !strings.Contains(strings.Join(found, "\n"), "at the gateway") {
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

// lease asks for an address in a namespace, as a client that has none yet, nil if nobody answers.
func lease(t *testing.T, ns, link string) *dhcpv4.DHCPv4 {
	t.Helper()
	var c *nclient4.Client
	err := netns.Do(ns, func() (err error) {
		c, err = nclient4.New(link, nclient4.WithTimeout(500*time.Millisecond), nclient4.WithRetry(2))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = c.Close() }()

	got, err := c.Request(t.Context())
	if err != nil {
		return nil
	}
	return got.ACK
}

// informed returns what a program of a pod is told that has an ordinary UDP socket and the pod's address.
func informed(t *testing.T, ns, addr string, of net.HardwareAddr) *dhcpv4.DHCPv4 {
	t.Helper()
	var c net.PacketConn
	err := netns.Do(ns, func() (err error) {
		c, err = (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", ":68")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	defer func() { _ = c.Close() }()

	m, err := dhcpv4.NewInform(of, net.ParseIP(addr))
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.WriteTo(m.ToBytes(), &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
		t.Fatal(err)
	}

	data := make([]byte, 1500)
	n, _, err := c.ReadFrom(data)
	if err != nil {
		return nil
	}
	reply, err := dhcpv4.FromBytes(data[:n])
	if err != nil {
		t.Fatal(err)
	}

	return reply
}

// DHCP clients in pods of a NAT network are told their ports' addresses if the network wants that.
func TestDHCPAtGateway(t *testing.T) {
	u := newUnderlay(t)
	var err error
	u.a.Plane, err = dataplane.New(dataplane.Config{
		Netns: u.a.ns, PinDir: u.a.pins,
		DHCP: func(link string, server netip.Addr, of func(net.HardwareAddr) (dhcp.Lease, bool)) (io.Closer, error) {
			return dhcp.Listen(dhcp.Config{
				Netns:  u.a.ns,
				Link:   link,
				Server: server,
				Lease:  of,
			})
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	plan := network(netplan.WinNAT, "172.20.1")
	u.a.apply(t, plan)
	podA, podB := u.a.Pin(dataplanetest.NSA), u.a.Pin(dataplanetest.NSB)
	if lease(t, podA, "eth0") != nil {
		t.Error("the gateway answers unasked")
	}
	with := plan.Bridges[0]
	with.DHCP = true
	u.a.change(t, &plan, netplan.Change{Set: netplan.Plan{Bridges: []netplan.Bridge{with}}})

	check := func(when string) {
		t.Helper()
		for ns, want := range map[string]string{podA: "172.20.1.5", podB: "172.20.1.6"} {
			got := lease(t, ns, "eth0")
			if got == nil {
				t.Fatalf("%s: no address for %s", when, want)
			}
			if ones, _ := got.SubnetMask().Size(); got.YourIPAddr.String() != want || ones != 24 ||
				got.Router()[0].String() != "172.20.1.1" || got.DNS() != nil {
				t.Errorf("%s: %s", when, got.Summary())
			}
		}
	}

	check("started")
	mac, err := net.ParseMAC(plan.Ports[0].MAC)
	if err != nil {
		t.Fatal(err)
	}
	if got := informed(t, podA, "172.20.1.5", mac); got == nil || got.MessageType() != dhcpv4.MessageTypeAck {
		t.Errorf("a program with an address of its own is not told the rest: %v", got)
	}

	run(t, u.a.ns, "ip link del $(ip -o link | grep -o 'hns[0-9a-f]*' | head -1)")
	u.a.apply(t, plan)
	dataplanetest.Expect(t, u.a, plan)
	check("repaired")
	u.a.apply(t, netplan.Plan{})
	nothingLeft(t, u.a)
	if got := run(t, u.a.ns, "ss -Hlnu sport = :67"); got != "" {
		t.Errorf("left behind: %s", got)
	}
}
