//go:build kernel

package attack

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
)

// EtherTypes and the numbers of protocols.
const (
	etherIPv4, etherARP, etherIPv6 = 0x0800, 0x0806, 0x86dd
	protoICMP, protoUDP, protoND   = 1, 17, 58
)

// Hardware addresses that many listen to.
var (
	everyone   = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	everyNode6 = net.HardwareAddr{0x33, 0x33, 0, 0, 0, 1}
)

// ethernet returns a frame.
func ethernet(to, from net.HardwareAddr, kind uint16, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint16(slices.Concat(to, from), kind), payload...)
}

// arpReply says that an address is at from; it is a gratuitous one if it is for the same address.
func arpReply(to, from net.HardwareAddr, address, asker netip.Addr) []byte {
	b := []byte{0, 1, 8, 0, 6, 4, 0, 2}
	b = slices.Concat(b, from, address.AsSlice(), to, asker.AsSlice())
	return ethernet(to, from, etherARP, b)
}

// checksum is that of RFC 1071 over data and what a pseudo header adds.
func checksum(data []byte, more uint32) uint16 {
	sum := more
	for i := 0; i+1 < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	if len(data)%2 != 0 {
		sum += uint32(data[len(data)-1]) << 8
	}
	for sum > 0xffff {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// packet returns a packet of IPv4 or IPv6, by its addresses. Its payload's checksum is at the offset sum, if there is
// one.
func packet(from, to netip.Addr, protocol byte, payload []byte, sum int) []byte {
	addresses := slices.Concat(from.AsSlice(), to.AsSlice())
	payload = slices.Clone(payload)
	if sum > 0 {
		var pseudo uint32
		if protocol != protoICMP {
			pseudo = uint32(^checksum(addresses, uint32(protocol)+uint32(len(payload))))
		}
		binary.BigEndian.PutUint16(payload[sum:], checksum(payload, pseudo))
	}

	if from.Is6() {
		b := binary.BigEndian.AppendUint16([]byte{0x60, 0, 0, 0}, uint16(len(payload)))
		return slices.Concat(b, []byte{protocol, 255}, addresses, payload)
	}
	b := binary.BigEndian.AppendUint16([]byte{0x45, 0}, uint16(20+len(payload)))
	b = slices.Concat(b, []byte{0, 0, 0, 0, 64, protocol, 0, 0}, addresses)
	binary.BigEndian.PutUint16(b[10:], checksum(b, 0))
	return append(b, payload...)
}

func etherType(a netip.Addr) uint16 {
	if a.Is6() {
		return etherIPv6
	}
	return etherIPv4
}

// datagram returns a packet of UDP.
func datagram(from, to netip.AddrPort, text []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, from.Port())
	b = binary.BigEndian.AppendUint16(b, to.Port())
	b = binary.BigEndian.AppendUint16(b, uint16(8+len(text)))
	return packet(from.Addr(), to.Addr(), protoUDP, append(append(b, 0, 0), text...), 6)
}

// advertisement returns a neighbour's: that address is at from, whatever was known before.
func advertisement(from net.HardwareAddr, address, to netip.Addr) []byte {
	b := slices.Concat([]byte{136, 0, 0, 0, 0x20, 0, 0, 0}, address.AsSlice(), []byte{2, 1}, from)
	return packet(address, to, protoND, b, 2)
}

// router returns the advertisement of a router with a prefix for addresses, for half an hour.
func router(from net.HardwareAddr, address netip.Addr, prefix netip.Prefix) []byte {
	b := []byte{134, 0, 0, 0, 64, 0, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}
	b = append(b, from...)
	b = append(b, 3, 4, byte(prefix.Bits()), 0xc0, 0, 0, 7, 8, 0, 0, 7, 8, 0, 0, 0, 0)
	b = append(b, prefix.Addr().AsSlice()...)
	return packet(address, netip.MustParseAddr("ff02::1"), protoND, b, 2)
}

// linkLocal returns the address that a hardware address has on its link.
func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{
		0xfe, 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3], 14: mac[4], 15: mac[5],
	})
}

// vxlan wraps a frame for a network's endpoint.
func vxlan(vni uint32, frame []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{8, 0, 0, 0}, vni<<8), frame...)
}

// send puts frames on a pod's link, as root there.
func send(t *testing.T, ns string, frames ...[]byte) {
	t.Helper()
	err := netns.Do(ns, func() error {
		at, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()

		for _, frame := range frames {
			if err := unix.Sendto(fd, frame, 0, &unix.SockaddrLinklayer{Ifindex: at.Index}); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// sniffer returns a function that reports whether a frame with a text has come to a pod.
func sniffer(t *testing.T, ns string) (has func(text string) bool) {
	t.Helper()
	var fd int
	err := netns.Do(ns, func() error {
		at, err := net.InterfaceByName("eth0")
		if err != nil {
			return err
		}
		const all = unix.ETH_P_ALL << 8 // in the order of the network
		if fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, all); err != nil {
			return err
		}

		return unix.Bind(fd, &unix.SockaddrLinklayer{Ifindex: at.Index, Protocol: all})
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = unix.Close(fd) })
	var seen []string
	return func(text string) bool {
		b := make([]byte, 2048)
		for {
			n, from, err := unix.Recvfrom(fd, b, 0)
			if err != nil {
				return slices.ContainsFunc(seen, func(frame string) bool { return strings.Contains(frame, text) })
			}
			if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype != unix.PACKET_OUTGOING {
				seen = append(seen, string(b[:n]))
			}
		}
	}
}
