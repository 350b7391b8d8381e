package spec

import "net/netip"

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

// Nth is the n-th address after a.
func Nth(a netip.Addr, n int) netip.Addr {
	for range n {
		a = a.Next()
	}
	return a
}

// Last is the last address of a network.
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

// LoadBalancers is the pool of load balancers' addresses, of a validated cluster.
func (n Networking) LoadBalancers() netip.Prefix { return n.prefix(n.LoadBalancerPool) }

// defaultPool returns "" for an invalid subnet, whose error is reported for the subnet.
func defaultPool(underlay string) string {
	four, _ := split(underlay)
	subnet, err := netip.ParsePrefix(four)
	if err != nil || !subnet.Addr().Is4() {
		return ""
	}
	return netip.PrefixFrom(Nth(subnet.Masked().Addr(), poolFirst), poolBits).String()
}

// pool checks that the pool overlaps with no other addresses.
func (v *validator) pool(c Cluster) {
	n, nodes := c.Networking, len(c.Nodes)
	fail := func(format string, args ...any) { v.fail([]any{"networking", "loadBalancerPool"}, format, args...) }
	pool, err := netip.ParsePrefix(n.LoadBalancerPool)
	if err != nil || !pool.Addr().Is4() || pool.Bits() < 16 {
		fail("%q is not an IPv4 subnet of at most 65536 addresses, such as 10.213.0.224/28", n.LoadBalancerPool)
		return
	}
	pool = pool.Masked()
	underlay := n.Underlay()
	for _, other := range []netip.Prefix{n.Pods(), n.Services()} {
		if pool.Overlaps(other) {
			fail("%s overlaps %s", pool, other)
		}
	}
	if !pool.Overlaps(underlay) {
		return
	}
	for _, use := range []struct {
		what        string
		first, last netip.Addr
	}{
		{"the control plane", Nth(underlay.Addr(), 0), Nth(underlay.Addr(), 1)},
		{controlPlanes, Nth(underlay.Addr(), Endpoint), Nth(underlay.Addr(), Endpoint)},
		{"nodes", Nth(underlay.Addr(), FirstNode), Nth(underlay.Addr(), FirstNode+nodes-1)},
		{"pods in mode transparent", Nth(underlay.Addr(), SharedFirst), Nth(underlay.Addr(), SharedLast)},
		{"the machine", Nth(underlay.Addr(), Machine), Nth(underlay.Addr(), Machine+1)},
		{"other machines", n.PartAddress(1), Last(underlay)},
	} {
		if n.Mode != ModeTransparent && use.what == "pods in mode transparent" || n.AdvertiseAddress == "" &&
			use.what == "other machines" || use.what == controlPlanes && !c.Endpoint().IsValid() {
			continue
		}
		if use.first.Compare(Last(pool)) <= 0 && pool.Addr().Compare(use.last) <= 0 {
			fail("%s has addresses of %s: %s to %s", pool, use.what, use.first, use.last)
		}
	}
}
