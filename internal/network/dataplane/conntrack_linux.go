package dataplane

import (
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// A UDP client that sends from the same port again and again stays with the backend that its first packet was sent to,
// as long as it does not pause: the kernel knows it as a flow. When that backend is no longer there, the flow has to be
// forgotten. TCP connections are left to the two sides, as on Windows.

// staleFlows match flows to virtual addresses whose backend is not among these.
type staleFlows struct {
	vips  map[netip.AddrPort]map[netip.AddrPort]bool
	nodes map[nodePort]map[netip.AddrPort]bool
	local map[netip.Addr]bool
}

// nodePort is a port of every address of the host of a family.
type nodePort struct {
	family family
	port   uint16
}

// newStaleFlows returns the flows that c makes stale. Call it before was is changed.
func newStaleFlows(was *state, c netplan.Change) *staleFlows {
	s := &staleFlows{vips: map[netip.AddrPort]map[netip.AddrPort]bool{}, nodes: map[nodePort]map[netip.AddrPort]bool{}}
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
	}

	return s
}

func allFlows(want *state) *staleFlows {
	return newStaleFlows(want, netplan.Change{Set: netplan.Plan{LoadBalancers: sorted(want.balancers)}})
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
	if f.Forward.Protocol != uint8(netplan.UDP) {
		return false
	}
	to, ok := netip.AddrFromSlice(f.Forward.DstIP)
	by, byOK := netip.AddrFromSlice(f.Reverse.SrcIP)
	if !ok || !byOK {
		return false
	}

	to, by = to.Unmap(), by.Unmap()
	backend := netip.AddrPortFrom(by, f.Reverse.SrcPort)
	if backends, ok := s.vips[netip.AddrPortFrom(to, f.Forward.DstPort)]; ok {
		return !backends[backend]
	}
	backends, ok := s.nodes[nodePort{familyOf(to), f.Forward.DstPort}]
	return ok && s.local[to] && !backends[backend]
}

// few is how many addresses and ports are asked for one by one. The kernel walks through all flows for each.
const few = 32

// forget removes the flows from the kernel's connection tracking.
func (p *space) forget(s *staleFlows) error {
	if len(s.vips)+len(s.nodes) == 0 {
		return nil
	}
	if err := p.setLocal(s); err != nil {
		return err
	}

	err := p.inHost(func() error {
		if len(s.vips)+len(s.nodes) > few {
			return unix.EOPNOTSUPP
		}
		for to := range s.vips {
			if err := s.forgetTo(familyOf(to.Addr()), to.Addr(), to.Port()); err != nil {
				return err
			}
		}

		for node := range s.nodes {
			if err := s.forgetTo(node.family, netip.Addr{}, node.port); err != nil {
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
				return fmt.Errorf("forget UDP flows to backends that are gone: %w", err)
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
