package dataplane

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/network/netplan"
)

// tcpListens is the state of a socket that listens (TCP_LISTEN, Linux' include/net/tcp_states.h).
const tcpListens = 10

// Listening returns what programs of the host listen on: sockets of TCP, and those of UDP that are not connected.
func (p *Plane) Listening() (all []netplan.Listener, err error) {
	err = p.host.inHost(func() error {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			streams, err := netlink.SocketDiagTCP(family)
			if err != nil {
				return fmt.Errorf("list sockets of TCP: %w", err)
			}
			datagrams, err := netlink.SocketDiagUDP(family)
			if err != nil {
				return fmt.Errorf("list sockets of UDP: %w", err)
			}

			for _, s := range streams {
				if s.State == tcpListens {
					all = append(all, listener(netplan.TCP, s))
				}
			}

			for _, s := range datagrams {
				if s.ID.DestinationPort == 0 {
					all = append(all, listener(netplan.UDP, s))
				}
			}
		}

		return nil
	})

	return all, err
}

func listener(protocol netplan.Protocol, s *netlink.Socket) netplan.Listener {
	at, _ := netip.AddrFromSlice(s.ID.Source) // of the family, which has one
	return netplan.Listener{
		Protocol: protocol,
		Addr:     at.Unmap(),
		Port:     s.ID.SourcePort,
	}
}
