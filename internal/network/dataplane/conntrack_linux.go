package dataplane

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// A UDP client that sends from the same port again and again stays with the backend that its first packet was sent to,
// as long as it does not pause: the kernel knows it as a flow. When that backend is no longer there, the flow has to be
// forgotten. TCP connections are left to the two sides, as on Windows.
//
// But a TCP connection whose first packet came to a virtual address without a load balancer was not translated, and the
// kernel, which decides that once for a connection, would not translate what the client sends anew after a second. So
// such a connection, which nobody has answered, is forgotten when a load balancer comes. Windows' switch looks at its
// flows anew when its rules change (Firestone, VFP, NSDI 2017, section 6.3). kube-proxy.exe makes such moments: it
// deletes a load balancer and then makes the next one, unless HNS can modify them.

// staleFlows match UDP flows to virtual addresses whose backend is not among these, and TCP connections that were begun
// before there was a load balancer.
type staleFlows struct {
	vips  map[netip.AddrPort]map[netip.AddrPort]bool
	nodes map[nodePort]map[netip.AddrPort]bool
	begun map[netip.AddrPort]bool
	local map[netip.Addr]bool
}

// nodePort is a port of every address of the host of a family.
type nodePort struct {
	family family
	port   uint16
}

// newStaleFlows returns the flows that c makes stale. Call it before was, and the rules that follow from it, are
// changed.
func newStaleFlows(was *state, rules *ruleset, c netplan.Change) *staleFlows {
	s := &staleFlows{
		vips:  map[netip.AddrPort]map[netip.AddrPort]bool{},
		nodes: map[nodePort]map[netip.AddrPort]bool{},
		begun: map[netip.AddrPort]bool{},
	}
	forget := func(id string) {
		s.add(was.balancers[id], map[netip.AddrPort]bool{})
	}
	for _, id := range c.Removed.LoadBalancers {
		forget(id)
	}

	for _, lb := range c.Set.LoadBalancers {
		forget(lb.ID)
	}

	for _, lb := range c.Set.LoadBalancers {
		backends := map[netip.AddrPort]bool{}
		for _, b := range lb.Backends {
			backends[b] = true
		}
		s.add(lb, backends)
		s.addBegun(lb, rules)
	}

	return s
}

func allFlows(want *state) *staleFlows {
	all := netplan.Change{Set: netplan.Plan{LoadBalancers: sorted(want.balancers)}}
	return newStaleFlows(want, newRuleset(), all)
}

// addBegun makes s match connections that were begun to the load balancer's addresses, if no rule has these yet.
func (s *staleFlows) addBegun(lb netplan.LoadBalancer, rules *ruleset) {
	if lb.Protocol != netplan.TCP || keeps(lb) {
		return
	}
	for _, vip := range lb.VIPs {
		if _, had := rules.entries[slot{set: familyOf(vip).name("vip"), key: pack(vip, lb.Protocol, lb.Port)}]; !had {
			s.begun[netip.AddrPortFrom(vip, lb.Port)] = true
		}
	}
}

// add makes s match flows to the addresses and ports of the load balancer, except flows to these backends.
func (s *staleFlows) add(lb netplan.LoadBalancer, backends map[netip.AddrPort]bool) {
	if lb.Protocol != netplan.UDP {
		return
	}
	if len(lb.VIPs) == 0 {
		for _, b := range lb.Backends {
			s.nodes[nodePort{familyOf(b.Addr()), lb.Port}] = backends
		}
	}
	for _, vip := range lb.VIPs {
		s.vips[netip.AddrPortFrom(vip, lb.Port)] = backends
	}
}

// MatchConntrackFlow reports whether the flow is stale. That includes an untranslated flow from before there were
// backends.
func (s *staleFlows) MatchConntrackFlow(f *netlink.ConntrackFlow) bool {
	to, ok := netip.AddrFromSlice(f.Forward.DstIP)
	by, byOK := netip.AddrFromSlice(f.Reverse.SrcIP)
	if !ok || !byOK {
		return false
	}

	to, by = to.Unmap(), by.Unmap()
	backend := netip.AddrPortFrom(by, f.Reverse.SrcPort)
	switch netplan.Protocol(f.Forward.Protocol) {
	case netplan.TCP:
		tcp, ok := f.ProtoInfo.(*netlink.ProtoInfoTCP)
		return ok && tcp.State == nl.TCP_CONNTRACK_SYN_SENT && s.begun[backend] && to == by &&
			f.Forward.DstPort == f.Reverse.SrcPort
	case netplan.UDP:
	default:
		return false
	}

	if backends, ok := s.vips[netip.AddrPortFrom(to, f.Forward.DstPort)]; ok {
		return !backends[backend]
	}
	backends, ok := s.nodes[nodePort{familyOf(to), f.Forward.DstPort}]
	return ok && s.local[to] && !backends[backend]
}

// few is how many questions are asked. The kernel walks through all flows for each.
const few = 32

// queries returns what finds the stale flows among others. A new load balancer of TCP alone has its own connections
// looked for; those of several have one question, for what nobody has answered.
func (s *staleFlows) queries() []flowQuery {
	var all []flowQuery
	for to := range s.vips {
		all = append(all, udpTo(familyOf(to.Addr()), to))
	}
	for node := range s.nodes {
		all = append(all, udpTo(node.family, netip.AddrPortFrom(netip.Addr{}, node.port)))
	}

	begun := map[family]flowQuery{}
	for to := range s.begun {
		f := familyOf(to.Addr())
		q := flowQuery{
			family:     f,
			protocol:   netplan.TCP,
			unanswered: true,
		}
		if _, another := begun[f]; !another {
			q.to = to
		}
		begun[f] = q
	}

	return slices.AppendSeq(all, maps.Values(begun))
}

// udpTo asks for the flows of UDP to an address and port.
func udpTo(f family, to netip.AddrPort) flowQuery {
	return flowQuery{
		family:   f,
		protocol: netplan.UDP,
		to:       to,
	}
}

// forget removes the flows from the kernel's connection tracking.
func (p *space) forget(s *staleFlows) error {
	queries := s.queries()
	if len(queries) == 0 {
		return nil
	}
	if err := p.setLocal(s); err != nil {
		return err
	}

	err := p.inHost(func() error {
		if len(queries) > few {
			return unix.EOPNOTSUPP
		}
		for _, q := range queries {
			if err := s.forgetOf(q); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return nil
	}

	// There are many, or the kernel is too old to filter: read them all.
	return netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		for _, f := range []netlink.InetFamily{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			if _, err := h.ConntrackDeleteFilters(netlink.ConntrackTable, f, s); err != nil {
				return fmt.Errorf("forget flows that do not go where they should: %w", err)
			}
		}
		return nil
	})
}

// setLocal notes the host's addresses, if there are node ports.
func (p *space) setLocal(s *staleFlows) error {
	if len(s.nodes) == 0 {
		return nil
	}

	return netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		addrs, err := h.AddrList(nil, netlink.FAMILY_ALL)
		if err != nil {
			return fmt.Errorf("list the host's addresses: %w", err)
		}

		s.local = map[netip.Addr]bool{}
		for _, a := range addrs {
			if prefix, ok := ipnet.Prefix(a.IPNet); ok {
				s.local[prefix.Addr()] = true
			}
		}

		return nil
	})
}
