package policy

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// lastPort is the largest number of a port.
const lastPort = 65535

// Access is what one direction of a pod's connections is limited to: what one of the rules lets pass. Without rules,
// nothing passes.
type Access struct{ Rules []Rule }

// Rule lets a connection pass if the other side is one of its peers and the port that is connected to is one of its
// ports.
type Rule struct {
	// Anyone: the other side does not matter.
	Anyone bool
	// Group is the key of a group of pods, "" for none; Blocks are ranges of addresses.
	Group  string
	Blocks []Block
	// AnyPort: neither protocol nor port matter.
	AnyPort bool
	Ports   []Ports
}

// Block is a range of addresses without some ranges in it.
type Block struct {
	CIDR   netip.Prefix
	Except []netip.Prefix
}

// Ports are ports of a protocol: from First to Last, or those that pods have under a name, whose group has the key
// Named.
type Ports struct {
	Protocol    corev1.Protocol
	First, Last uint16
	Named       string
}

// rule reads one rule of a policy in a namespace.
func (c *Cluster) rule(namespace string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort,
) Rule {
	r := Rule{Anyone: len(peers) == 0, AnyPort: len(ports) == 0}
	var selected []networkingv1.NetworkPolicyPeer
	for _, p := range peers {
		if p.IPBlock == nil {
			selected = append(selected, p)
		} else if b, ok := block(p.IPBlock); ok {
			r.Blocks = append(r.Blocks, b)
		}
	}

	if len(selected) > 0 {
		r.Group = c.group(namespace, selected)
	}
	for _, p := range ports {
		if read, ok := c.ports(p); ok {
			r.Ports = append(r.Ports, read)
		}
	}

	return r
}

// block reads a range of addresses. It returns false for another text, which lets nothing pass.
func block(b *networkingv1.IPBlock) (Block, bool) {
	cidr, err := netip.ParsePrefix(b.CIDR)
	if err != nil {
		return Block{}, false
	}

	read := Block{CIDR: cidr.Masked()}
	for _, text := range b.Except {
		except, err := netip.ParsePrefix(text)
		if err != nil {
			return Block{}, false
		}
		read.Except = append(read.Except, except.Masked())
	}

	return read, true
}

// ports reads ports; false if they are none, which lets nothing pass.
func (c *Cluster) ports(p networkingv1.NetworkPolicyPort) (Ports, bool) {
	read := Ports{Protocol: corev1.ProtocolTCP}
	if p.Protocol != nil {
		read.Protocol = cmp.Or(*p.Protocol, corev1.ProtocolTCP)
	}

	switch {
	case read.Protocol != corev1.ProtocolTCP && read.Protocol != corev1.ProtocolUDP &&
		read.Protocol != corev1.ProtocolSCTP:
		return read, false
	case p.Port == nil:
		read.Last = lastPort
		return read, p.EndPort == nil
	case p.Port.Type == intstr.String:
		read.Named = c.port(read.Protocol, p.Port.StrVal)
		return read, p.EndPort == nil
	}

	first, last := p.Port.IntVal, p.Port.IntVal
	if p.EndPort != nil {
		last = *p.EndPort
	}
	if first < 1 || last > lastPort || first > last {
		return read, false
	}
	read.First, read.Last = uint16(first), uint16(last)
	return read, true
}

// Isolated is one address of a pod that policies select. In or Out is nil if that direction is free.
type Isolated struct {
	Pod     types.UID
	Addr    netip.Addr
	In, Out *Access
}

// Node returns the addresses of a node's pods that policies select, in order.
func (c *Cluster) Node(node string) []Isolated {
	var all []Isolated
	for _, p := range c.pods {
		if p.node != node {
			continue
		}
		in, out := c.access(p)
		if in == nil && out == nil {
			continue
		}

		for _, a := range p.addrs {
			all = append(all, Isolated{p.uid, a, in, out})
		}
	}

	slices.SortFunc(all, func(a, b Isolated) int { return a.Addr.Compare(b.Addr) })
	return all
}

// access adds up the policies that select a pod.
func (c *Cluster) access(p pod) (in, out *Access) {
	add := func(sum **Access, more *Access) {
		if more == nil {
			return
		}
		if *sum == nil {
			*sum = &Access{}
		}
		(*sum).Rules = append((*sum).Rules, more.Rules...)
	}

	for _, policy := range c.policies {
		if policy.namespace == p.namespace && policy.selects.Matches(p.labels) {
			add(&in, policy.in)
			add(&out, policy.out)
		}
	}

	return in, out
}
