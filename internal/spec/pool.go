package spec

import (
	"net/netip"
	"strings"
)

// Addresses of the underlay, counted from its subnet's first. Nodes have FirstNode and after; in mode transparent pods
// have SharedFirst to SharedLast. With several machines, the same holds in each machine's part.
const (
	Fabric      = 1  // the control plane's, and the bridge's
	Endpoint    = 10 // see Cluster.Endpoint
	Machine     = 254
	FirstNode   = 11
	SharedFirst = 128
	SharedLast  = 223
	// poolFirst is where the default pool of load balancers' addresses begins, poolBits how large it is: .224 to .239
	// of a /24, above the 200 nodes that a cluster may have.
	poolFirst, poolBits = 224, 28
)

// maxPoolBits bounds a pool: it has at most 65536 addresses.
const maxPoolBits = 16

// Nth returns the n-th address after a.
func Nth(a netip.Addr, n int) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}

// Last returns the last address of a network.
func Last(p netip.Prefix) netip.Addr {
	b := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < 8*len(b); i++ {
		b[i/8] |= 0x80 >> (i % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// controlPlanes is what Endpoint leads to.
const controlPlanes = "the control planes of bare Linux hosts"

// LoadBalancers returns the pool of load balancers' IPv4 addresses, of a validated cluster.
func (n Networking) LoadBalancers() netip.Prefix { return n.prefix(n.LoadBalancerPool) }

// LoadBalancers6 returns the pool of load balancers' IPv6 addresses; valid only in a dual-stack cluster.
func (n Networking) LoadBalancers6() netip.Prefix { return n.prefix6(n.LoadBalancerPool) }

// defaultPool returns "" for an invalid subnet, whose error is reported for the subnet.
func defaultPool(underlay string) string {
	four, _ := split(underlay)
	subnet, err := netip.ParsePrefix(four)
	if err != nil || !subnet.Addr().Is4() {
		return ""
	}
	return netip.PrefixFrom(Nth(subnet.Masked().Addr(), poolFirst), poolBits).String()
}

// defaultPool6 returns the pool of IPv6 addresses with the same numbers as those of defaultPool; "" for an invalid
// subnet.
func defaultPool6(underlay string) string {
	_, six := split(underlay)
	subnet, err := netip.ParsePrefix(six)
	if err != nil || !subnet.Addr().Is6() {
		return ""
	}
	return netip.PrefixFrom(Nth(subnet.Masked().Addr(), poolFirst), 128-(32-poolBits)).String()
}

// use is a range of the underlay's addresses that are not free.
type use struct {
	what        string
	first, last netip.Addr
}

// uses returns the ranges of the underlay's addresses that a pool may not have: numbers are the same in both families.
func (c Cluster) uses(underlay netip.Prefix) []use {
	n := c.Networking
	first := underlay.Addr()
	all := []use{
		{"the control plane", first, Nth(first, Fabric)},
		{"nodes", Nth(first, FirstNode), Nth(first, FirstNode+len(c.Nodes)-1)},
		{"the machine", Nth(first, Machine), Nth(first, Machine+1)},
	}

	if c.Endpoint().IsValid() {
		all = append(all, use{controlPlanes, Nth(first, Endpoint), Nth(first, Endpoint)})
	}
	if n.Mode == ModeTransparent {
		all = append(all, use{"pods in mode transparent", Nth(first, SharedFirst), Nth(first, SharedLast)})
	}
	if n.AdvertiseAddress != "" && n.Parts() > 1 {
		all = append(all, use{"other machines", Nth(first, partSize), Nth(first, n.Parts()*partSize-1)})
	}

	return all
}

// pool checks that the pools overlap with no other addresses.
func (v *validator) pool(c Cluster) {
	n := c.Networking
	four, six := split(n.LoadBalancerPool)
	v.poolOf(c, four, netip.IPv4Unspecified(), n.Underlay(), n.Pods(), n.Services())
	switch {
	case !n.DualStack() && strings.Contains(n.LoadBalancerPool, ","):
		v.failPool("%q has IPv6 addresses, and the cluster has none; give podSubnet an IPv6 subnet too", n.LoadBalancerPool)
	case n.DualStack():
		v.poolOf(c, six, netip.IPv6Unspecified(), n.Underlay6(), n.Pods6(), n.Services6())
	}
}

func (v *validator) failPool(format string, args ...any) {
	v.fail([]any{"networking", "loadBalancerPool"}, format, args...)
}

// poolOf checks the pool of one family, that of the address like.
func (v *validator) poolOf(c Cluster, text string, like netip.Addr, underlay netip.Prefix, others ...netip.Prefix) {
	family, example := "IPv4", "10.213.0.224/28"
	if like.Is6() {
		family, example = "IPv6", "fd00:10:213::e0/124"
	}
	pool, err := netip.ParsePrefix(text)
	if err != nil || pool.Addr().BitLen() != like.BitLen() || pool.Bits() < like.BitLen()-maxPoolBits {
		v.failPool("%q is not an %s subnet of at most 65536 addresses, such as %s", text, family, example)
		return
	}

	pool = pool.Masked()
	for _, other := range others {
		if pool.Overlaps(other) {
			v.failPool("%s overlaps %s", pool, other)
		}
	}

	if a := pool.Addr(); (a.Is6() && !a.IsGlobalUnicast()) || a.Is4In6() {
		v.failPool("%s: choose addresses that can be routed, such as %s", pool, example)
	}
	v.poolUses(c, pool, underlay)
}

// poolUses checks that a pool has no addresses of the underlay that something else has.
func (v *validator) poolUses(c Cluster, pool, underlay netip.Prefix) {
	if !pool.Overlaps(underlay) {
		return
	}
	for _, use := range c.uses(underlay) {
		if use.first.Compare(Last(pool)) <= 0 && pool.Addr().Compare(use.last) <= 0 {
			v.failPool("%s has addresses of %s: %s to %s", pool, use.what, use.first, use.last)
		}
	}
}
