package parts

import (
	"fmt"
	"net"
	"net/netip"

	"mullion.dev/mullion/internal/network/peeruser"
)

// relayClient is what shares a relay's places: a user of this machine, or another machine by its address.
type relayClient struct {
	user    uint32
	address netip.Prefix // invalid for a user of this machine
}

// String names it in a log.
func (c relayClient) String() string {
	if c.address.IsValid() {
		return c.address.String()
	}
	return fmt.Sprintf("user %d", c.user)
}

// clientOf returns whose connection it is. Where the user is not known, it is the address's.
func clientOf(c net.Conn) relayClient {
	if user, err := peeruser.Of(c); err == nil {
		return relayClient{user: user}
	}
	if from, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return clientAt(from.AddrPort().Addr())
	}
	return relayClient{}
}

// clientAt returns the client that has an address: one of IPv6 has 64 bits of its own, and all of loopback is one.
func clientAt(a netip.Addr) relayClient {
	a = a.Unmap()
	bits := a.BitLen()
	switch {
	case a.IsLoopback() && a.Is4():
		bits = 8
	case a.Is6():
		bits = 64
	}
	prefix, _ := a.WithZone("").Prefix(bits) // bits are no more than the address has
	return relayClient{address: prefix}
}
