package spec

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/winver"
)

// A subnet of cluster.yaml is one of IPv4 or, in a dual-stack cluster, one of IPv4 and one of IPv6 with a comma
// between, as kubeadm's and kind's configurations and Kubernetes' own flags have them
// (https://kubernetes.io/docs/concepts/services-networking/dual-stack/#configure-ipv4-ipv6-dual-stack).

// NodeBits6 is the length of a node's IPv6 pod prefix, Kubernetes' own default (--node-cidr-mask-size-ipv6).
const NodeBits6 = 64

// The default IPv6 subnets of a dual-stack cluster: kind's, and one more for the underlay.
const (
	underlay6 = "fd00:10:213::/64"
	pods6     = "fd00:10:244::/56"
	services6 = "fd00:10:96::/112"
)

// split returns the parts of a subnet's text for each family.
func split(s string) (four, six string) {
	four, six, _ = strings.Cut(s, ",")
	return strings.TrimSpace(four), strings.TrimSpace(six)
}

// JoinSubnets writes subnets as in Kubernetes' flags, without those that are not valid.
func JoinSubnets(subnets ...netip.Prefix) string {
	var all []string
	for _, p := range subnets {
		if p.IsValid() {
			all = append(all, p.String())
		}
	}
	return strings.Join(all, ",")
}

func (n Networking) prefix(s string) netip.Prefix {
	four, _ := split(s)
	return netip.MustParsePrefix(four).Masked()
}

func (n Networking) prefix6(s string) netip.Prefix {
	_, six := split(s)
	if six == "" {
		return netip.Prefix{}
	}
	return netip.MustParsePrefix(six).Masked()
}

// Underlay returns the subnet that joins the nodes and the control plane.
func (n Networking) Underlay() netip.Prefix { return n.prefix(n.UnderlaySubnet) }

// Pods returns the subnet of which each node gets a part for its pods.
func (n Networking) Pods() netip.Prefix { return n.prefix(n.PodSubnet) }

// Services returns the subnet of ClusterIPs.
func (n Networking) Services() netip.Prefix { return n.prefix(n.ServiceSubnet) }

// Underlay6 returns the IPv6 subnet of the nodes. It, Pods6 and Services6 are valid only in a dual-stack cluster.
func (n Networking) Underlay6() netip.Prefix { return n.prefix6(n.UnderlaySubnet) }

// Pods6 returns the IPv6 subnet of which each node gets a part for its pods.
func (n Networking) Pods6() netip.Prefix { return n.prefix6(n.PodSubnet) }

// Services6 returns the IPv6 subnet of ClusterIPs.
func (n Networking) Services6() netip.Prefix { return n.prefix6(n.ServiceSubnet) }

// DualStack reports whether the cluster has IPv6 beside IPv4.
func (n Networking) DualStack() bool { return n.Pods6().IsValid() }

// DualStack reports whether the node's pods and Services have both families in a dual-stack cluster. A Windows version
// without dual stack has IPv4 only, to which upstream's kube-proxy.exe falls back
// (https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/proxy/winkernel/supported.go).
func (n Node) DualStack() bool {
	if n.Linux() {
		return true
	}
	build, err := n.Build()
	return err == nil && build.Supports(winver.DualStack)
}

// completeDual adds default IPv6 subnets if at least one subnet has IPv6.
func (n *Networking) completeDual() {
	fields := []*string{&n.UnderlaySubnet, &n.PodSubnet, &n.ServiceSubnet}
	if !slices.ContainsFunc(fields, func(f *string) bool { return strings.Contains(*f, ",") }) {
		return
	}
	for i, six := range []string{underlay6, pods6, services6} {
		if !strings.Contains(*fields[i], ",") {
			*fields[i] += "," + six
		}
	}

	if six := defaultPool6(n.UnderlaySubnet); six != "" && !strings.Contains(n.LoadBalancerPool, ",") {
		n.LoadBalancerPool += "," + six
	}
}

// bounds are the limits of a subnet's prefix length.
type bounds struct{ min, max int }

func (v *validator) subnets(d Networking) {
	var parsed []netip.Prefix
	for _, s := range []struct {
		field, value string
		four, six    bounds
	}{
		{"underlaySubnet", d.UnderlaySubnet, bounds{8, 24}, bounds{16, 112}},
		// at most 16 bits:
		// https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/controller/nodeipam/ipam/cidrset/cidr_set.go
		{"podSubnet", d.PodSubnet, bounds{8, 22}, bounds{NodeBits6 - 16, NodeBits6 - 8}},
		// at most 20 bits: https://kubernetes.io/docs/concepts/services-networking/dual-stack/
		{"serviceSubnet", d.ServiceSubnet, bounds{8, 24}, bounds{108, 120}},
	} {
		four, six := split(s.value)
		p, err := netip.ParsePrefix(four)
		switch {
		case err == nil && p.Addr().Is6() && six == "":
			v.fail([]any{"networking", s.field},
				"%q has only IPv6, which Windows does not support; write an IPv4 and an IPv6 subnet, as \"10.244.0.0/16,%s\"", s.value, pods6)
			continue
		case err == nil && p.Addr().Is6():
			v.fail([]any{"networking", s.field}, "%q: the IPv4 subnet has to come first", s.value)
			continue
		}

		parsed = v.subnet(s.field, four, s.four, parsed)
		if strings.Contains(s.value, ",") {
			parsed = v.subnet(s.field, six, s.six, parsed)
		}
	}

	if strings.Contains(d.PodSubnet, ",") {
		v.dualStackMode(d.Mode)
	}
}

// subnet checks a subnet and appends it to others, the subnets that must not overlap.
func (v *validator) subnet(field, value string, b bounds, others []netip.Prefix) []netip.Prefix {
	at := []any{"networking", field}
	p, err := netip.ParsePrefix(value)
	four := b.max <= 32
	switch {
	case four && (err != nil || !p.Addr().Is4()):
		v.fail(at, "%q is not an IPv4 subnet such as 10.244.0.0/16", value)
		return others
	case !four && (err != nil || !p.Addr().Is6() || p.Addr().Is4In6()):
		v.fail(at, "%q is not an IPv6 subnet such as %s", value, pods6)
		return others

	case p.Bits() < b.min || p.Bits() > b.max:
		v.fail(at, "%q: the prefix length must be between %d and %d", value, b.min, b.max)
	case p.Addr().IsLinkLocalUnicast() || p.Addr().IsMulticast() || p.Addr().IsLoopback():
		v.fail(at, "%q: choose a subnet of addresses that can be routed, such as %s", value, pods6)
	}

	for _, other := range others {
		if other.Overlaps(p) {
			v.fail(at, "%s overlaps %s", p, other)
		}
	}

	return append(others, p)
}

// dualStackMode refuses IPv6 in network modes for which Windows has none. Microsoft names l2bridge as the mode with
// IPv6, NAT and overlay as modes without, and transparent as one in which HNS gives no IPv6 addresses; it does not name
// l2tunnel (https://learn.microsoft.com/virtualization/windowscontainers/container-networking/architecture#unsupported-features-and-network-options).
// Kubernetes names l2bridge alone
// (https://kubernetes.io/docs/concepts/services-networking/windows-networking/#ipv4-ipv6-dual-stack). kube-proxy.exe
// itself refuses overlay only
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/pkg/proxy/winkernel/supported.go), and HNS' version says
// nothing of a network's type
// (https://github.com/microsoft/hnslib/blob/v0.1.3/hcn/hcnglobals.go).
func (v *validator) dualStackMode(m Mode) {
	if m == ModeL2Bridge || !slices.Contains(Modes(), m) {
		return
	}
	why := map[Mode]string{
		ModeOverlay:     "overlay (VXLAN) networks on Windows have no dual-stack support",
		ModeL2Tunnel:    "Windows' dual-stack support is for l2bridge networks",
		ModeNAT:         "NAT networks on Windows are of IPv4",
		ModeTransparent: "on transparent networks Windows gives containers no IPv6 addresses",
	}[m]
	v.fail([]any{"networking", "podSubnet"},
		"dual stack in mode %s: %s; choose mode l2bridge, or IPv4 subnets only", m, why)
}

// Address6 returns the IPv6 address of a node on the underlay, with the same number as its IPv4 address; not valid if a
// subnet is not.
func Address6(subnet, subnet6 netip.Prefix, addr netip.Addr) (netip.Addr, error) {
	if !subnet6.IsValid() || !subnet.Contains(addr) {
		return netip.Addr{}, nil
	}
	first, a := subnet.Masked().Addr().As4(), addr.As4()
	six := subnet6.Masked().Addr().As16()
	for i := range a {
		six[12+i] |= a[i] &^ first[i]
	}

	out := netip.AddrFrom16(six)
	if !subnet6.Contains(out) {
		return netip.Addr{}, fmt.Errorf("address of number %s in %s: the subnet is too small", addr, subnet6)
	}
	return out, nil
}
