//go:build kernel

package dataplane_test

import (
	"net"
	"net/netip"
	"testing"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// TestListens tells ports at which a program of the host listens from others, and from those of connections.
func TestListens(t *testing.T) {
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

	local, every, datagrams := open("tcp", "127.0.0.1:0"), open("tcp", ":0"), open("udp", "127.0.0.1:0")
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

	loopback, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("192.0.2.7")
	for _, tt := range []struct {
		name     string
		protocol netplan.Protocol
		at       netip.Addr
		port     uint16
		want     bool
	}{
		{"at any address", netplan.TCP, netip.Addr{}, local, true},
		{"at its own", netplan.TCP, loopback, local, true},
		{"at another", netplan.TCP, other, local, false},
		{"one for every address", netplan.TCP, other, every, true},
		{"the other protocol", netplan.UDP, netip.Addr{}, local, false},
		{"datagrams", netplan.UDP, netip.Addr{}, datagrams, true},
		{"a connection's", netplan.TCP, netip.Addr{}, client, false},
	} {
		got, err := h.Listens(tt.protocol, tt.at, tt.port)
		if err != nil || got != tt.want {
			t.Errorf("%s: %v, %v, want %v", tt.name, got, err, tt.want)
		}
	}
}
