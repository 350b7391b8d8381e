package spec

import (
	"net/netip"
	"slices"
)

// externalNode reads one of Networking.ExternalNodes.
func externalNode(text string) (netip.Prefix, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(a, a.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	return p.Masked(), err
}

// External returns the networks of ExternalNodes, an address as one of its own.
func (n Networking) External() []netip.Prefix {
	var all []netip.Prefix
	for _, text := range n.ExternalNodes {
		if p, err := externalNode(text); err == nil { // validated
			all = append(all, p)
		}
	}
	return all
}

// externalNodes checks the networks of nodes that Mullion does not run. The others' subnets are checked before.
func (v *validator) externalNodes(n Networking) {
	if len(n.ExternalNodes) == 0 {
		return
	}
	at := []any{"networking", "externalNodes"}
	if n.Mode != ModeL2Bridge {
		v.fail(at, "nodes outside have a way to the pods only in mode %s; leave it out", ModeL2Bridge)
	}

	if n.DualStack() {
		v.fail(at, "nodes outside have IPv4 alone; leave out the IPv6 subnets, or this")
	}
	if a, err := netip.ParseAddr(n.APIServerAddress); err == nil && a.IsLoopback() {
		v.fail(at, "they do not reach the API server at %s; set advertiseAddress", a)
	}
	if len(v.errs) > 0 {
		return
	}

	others := []netip.Prefix{n.Underlay(), n.Pods(), n.Services()}
	for i, text := range n.ExternalNodes {
		p, err := externalNode(text)
		if err != nil || !reachable(p.Addr()) || p.Bits() < 8 {
			v.fail(append(at, i), "%q is not an IPv4 address, or a network of such, for example 192.0.2.7 or 192.0.2.0/24", text)
			continue
		}
		if o := slices.IndexFunc(others, p.Overlaps); o >= 0 {
			v.fail(append(at, i), "%s overlaps %s, which is the cluster's, or is named twice", p, others[o])
		}
		others = append(others, p)
	}
}
