// Package ipnet converts between netip's prefixes and the net.IPNet of libraries that are older than netip.
package ipnet

import (
	"net"
	"net/netip"
)

// Prefix converts a network or an address with its length. It reports false for nil and for a mask that is not of the
// address's family. An IPv4 address that is written as IPv6 becomes IPv4 if the mask is one of IPv4.
func Prefix(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP)
	bits, size := n.Mask.Size()
	if size == 32 {
		addr = addr.Unmap()
	}
	return netip.PrefixFrom(addr, bits), ok && addr.BitLen() == size
}

// Of converts a valid prefix. The bits of the address below the prefix's length stay.
func Of(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
