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

// Listens reports whether a program of the host listens on a port at an address of the host; not valid: at any.
func (p *Plane) Listens(protocol netplan.Protocol, at netip.Addr, port uint16) (bool, error) {
	ask := netlink.SocketDiagTCP
	if protocol == netplan.UDP {
		ask = netlink.SocketDiagUDP
	}

	found := false
	err := p.host.inHost(func() error {
		for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
			all, err := ask(family)
			if err != nil {
				return fmt.Errorf("list sockets: %w", err)
			}
			for _, s := range all {
				serves := s.ID.DestinationPort == 0
				if protocol != netplan.UDP {
					serves = s.State == tcpListens
				}
				found = found || (serves && s.ID.SourcePort == port && meets(s, at))
			}
		}

		return nil
	})

	return found, err
}

// meets reports whether what comes to an address, if it is valid, comes to a socket.
func meets(s *netlink.Socket, at netip.Addr) bool {
	own, ok := netip.AddrFromSlice(s.ID.Source)
	if !at.IsValid() || !ok || own.IsUnspecified() {
		return true
	}
	return own.Unmap() == at.Unmap()
}
