package dhcp_test

import (
	"net"
	"net/netip"
	"testing"

	"github.com/insomniacslk/dhcp/dhcpv4"

	"mullion.dev/mullion/internal/network/dhcp"
)

var (
	mac     = net.HardwareAddr{0x00, 0x15, 0x5d, 1, 2, 3}
	gateway = netip.MustParseAddr("172.20.1.1")
)

func leases(of net.HardwareAddr) (dhcp.Lease, bool) {
	lease := dhcp.Lease{
		Addr:   netip.MustParsePrefix("172.20.1.2/24"),
		Router: gateway,
		DNS:    []netip.Addr{gateway},
	}
	return lease, of.String() == mac.String()
}

func message(t *testing.T, of net.HardwareAddr, kind dhcpv4.MessageType, with ...dhcpv4.Modifier) *dhcpv4.DHCPv4 {
	t.Helper()
	m, err := dhcpv4.New(append(with, dhcpv4.WithHwAddr(of), dhcpv4.WithMessageType(kind))...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func requested(ip string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptRequestedIPAddress(net.ParseIP(ip)))
}

func server(ip string) dhcpv4.Modifier {
	return dhcpv4.WithOption(dhcpv4.OptServerIdentifier(net.ParseIP(ip)))
}

func TestAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		message *dhcpv4.DHCPv4
		want    dhcpv4.MessageType // MessageTypeNone: no answer
		addr    string
	}{
		"discover": {message(t, mac, dhcpv4.MessageTypeDiscover), dhcpv4.MessageTypeOffer, "172.20.1.2"},
		"another address is wished for": {
			message(t, mac, dhcpv4.MessageTypeDiscover, requested("172.20.1.9")), dhcpv4.MessageTypeOffer, "172.20.1.2",
		},
		"request": {
			message(t, mac, dhcpv4.MessageTypeRequest, requested("172.20.1.2"), server("172.20.1.1")),
			dhcpv4.MessageTypeAck, "172.20.1.2",
		},
		"renewal": {
			message(t, mac, dhcpv4.MessageTypeRequest, dhcpv4.WithClientIP(net.ParseIP("172.20.1.2"))),
			dhcpv4.MessageTypeAck, "172.20.1.2",
		},
		"another's address": {
			message(t, mac, dhcpv4.MessageTypeRequest, requested("172.20.1.3")), dhcpv4.MessageTypeNak, "0.0.0.0",
		},
		"request of no address": {message(t, mac, dhcpv4.MessageTypeRequest), dhcpv4.MessageTypeNak, "0.0.0.0"},
		"inform": {
			message(t, mac, dhcpv4.MessageTypeInform, dhcpv4.WithClientIP(net.ParseIP("172.20.1.2"))),
			dhcpv4.MessageTypeAck, "0.0.0.0",
		},
		"another server": {
			message: message(t, mac, dhcpv4.MessageTypeRequest, requested("172.20.1.2"), server("172.20.1.7")),
		},
		"not an endpoint": {message: message(t, net.HardwareAddr{2, 0, 0, 0, 0, 1}, dhcpv4.MessageTypeDiscover)},
		"release":         {message: message(t, mac, dhcpv4.MessageTypeRelease)},
		"decline":         {message: message(t, mac, dhcpv4.MessageTypeDecline)},
		"no type":         {message: message(t, mac, dhcpv4.MessageTypeNone)},
		"a long hardware address": {
			message: message(t, append(mac, mac...), dhcpv4.MessageTypeDiscover),
		},
		"a server's message": {
			message: message(t, mac, dhcpv4.MessageTypeDiscover, func(m *dhcpv4.DHCPv4) {
				m.OpCode = dhcpv4.OpcodeBootReply
			}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := dhcp.Answer(test.message, gateway, leases)
			if got == nil {
				if test.want != dhcpv4.MessageTypeNone {
					t.Fatal("no answer")
				}
				return
			}

			if got.MessageType() != test.want || got.YourIPAddr.String() != test.addr {
				t.Fatalf("answer %s of %s, want %s of %s", got.MessageType(), got.YourIPAddr, test.want, test.addr)
			}
			if got.TransactionID != test.message.TransactionID || !got.ServerIdentifier().Equal(gateway.AsSlice()) {
				t.Errorf("the answer is not one to the message: %s", got.Summary())
			}

			if test.want == dhcpv4.MessageTypeNak {
				return
			}
			if ones, _ := got.SubnetMask().Size(); ones != 24 || len(got.Router()) != 1 || len(got.DNS()) != 1 {
				t.Errorf("mask, router or name server are missing: %s", got.Summary())
			}
		})
	}
}

// Whatever bytes a pod sends, there is an answer that can be sent, or none.
func FuzzAnswer(f *testing.F) {
	for _, kind := range []dhcpv4.MessageType{dhcpv4.MessageTypeDiscover, dhcpv4.MessageTypeRequest} {
		m, err := dhcpv4.New(dhcpv4.WithHwAddr(mac), dhcpv4.WithMessageType(kind))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(m.ToBytes())
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := dhcpv4.FromBytes(data)
		if err != nil {
			return
		}
		reply := dhcp.Answer(m, gateway, func(net.HardwareAddr) (dhcp.Lease, bool) { return leases(mac) })
		if reply == nil {
			return
		}

		if _, err := dhcpv4.FromBytes(reply.ToBytes()); err != nil {
			t.Errorf("an answer that cannot be read: %v", err)
		}
	})
}
