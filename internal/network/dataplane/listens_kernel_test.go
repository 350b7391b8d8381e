//go:build kernel

package dataplane_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestListening tells ports at which a program of the host listens from others, and from those of connections.
func TestListening(t *testing.T) {
	h := newHost(t)
	var opened []interface{ Close() error }
	open := func(network, addr string) (port uint16) {
		t.Helper()
		err := netns.Do(h.ns, func() error {
			if network == "udp" {
				c, err := net.ListenPacket(network, addr)
				if err == nil {
					opened, port = append(opened, c), c.LocalAddr().(*net.UDPAddr).AddrPort().Port()
				}
				return err
			}

			l, err := net.Listen(network, addr)
			if err == nil {
				opened, port = append(opened, l), l.Addr().(*net.TCPAddr).AddrPort().Port()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}

		return port
	}

	defer func() {
		for _, c := range opened {
			c.Close()
		}
	}()

	local, every := open("tcp", "127.0.0.1:0"), open("tcp", ":0")
	datagrams := open("udp", "127.0.0.1:0")
	var client uint16
	err := netns.Do(h.ns, func() error {
		c, err := net.Dial("tcp", netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), local).String())
		if err == nil {
			opened, client = append(opened, c), c.LocalAddr().(*net.TCPAddr).AddrPort().Port()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	all, err := h.Listening()
	if err != nil {
		t.Fatal(err)
	}

	loopback, unspecified := netip.MustParseAddr("127.0.0.1"), netip.IPv6Unspecified()
	for _, want := range []netplan.Listener{
		{Protocol: netplan.TCP, Addr: loopback, Port: local},
		{Protocol: netplan.TCP, Addr: unspecified, Port: every},
		{Protocol: netplan.UDP, Addr: loopback, Port: datagrams},
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%+v is not among %+v", want, all)
		}
	}

	for _, l := range all {
		if l.Port == client || (l.Port == local && l.Protocol == netplan.UDP) {
			t.Errorf("nobody listens on %+v", l)
		}
	}
}
