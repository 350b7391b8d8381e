package dataplane

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// Observe reads namespaces, switches, ports and load balancers back from the kernel: their IDs, names, addresses,
// routes, translation and backends. It leaves out modes, peers and policies; Differences compares those.
func (p *Plane) Observe(context.Context) (netplan.Plan, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan, err := p.host.observe()
	for _, network := range sorted(p.apart) {
		part, partErr := network.observe()
		for i := range part.LoadBalancers {
			part.LoadBalancers[i].Bridge = network.bridge.ID
		}
		plan, err = plan.With(whole(part)), errors.Join(err, partErr)
	}
	return plan, err
}

func (p *space) observe() (netplan.Plan, error) {
	plan, _, err := p.observeLinks()
	if err != nil {
		return plan, err
	}
	entries, err := p.table.dump()
	if err != nil {
		return plan, fmt.Errorf("look at nftables: %w", err)
	}

	observeRules(&plan, entries)
	for i := range plan.Bridges {
		b := &plan.Bridges[i]
		b.DNSProxy, b.DHCP = p.gateways[b.ID].dns, p.gateways[b.ID].dhcp
	}

	plan.Normalize()
	return plan, nil
}

// observeLinks reads the parts of a plan that are not in nftables, and the IDs of bridges and ports that are down.
func (p *space) observeLinks() (plan netplan.Plan, down []string, err error) {
	if plan.Namespaces, err = p.observeNamespaces(); err != nil {
		return plan, nil, err
	}

	bridges := map[int]string{} // interface number to ID
	masters := map[string]int{} // port ID to its bridge's interface number
	err = netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		links, err := h.LinkList()
		if err != nil {
			return err
		}

		for _, l := range links {
			a := l.Attrs()
			id := portID(a.Alias)
			if id != "" {
				masters[id] = a.MasterIndex
			} else if b, ok := observeBridge(h, l); ok {
				id, bridges[a.Index] = b.ID, b.ID
				plan.Bridges = append(plan.Bridges, b)
			}
			if id != "" && a.Flags&net.FlagUp == 0 {
				down = append(down, id)
			}
		}

		return nil
	})
	if err != nil {
		return plan, nil, fmt.Errorf("look at the host's links: %w", err)
	}

	for _, ns := range plan.Namespaces {
		ports, err := p.observePorts(ns)
		if err != nil {
			return plan, nil, err
		}

		for _, port := range ports {
			master, near := masters[port.ID]
			if near {
				port.Bridge = bridges[master]
			}
			plan.Ports = append(plan.Ports, port)
		}
	}

	if err := p.place.observed(&plan); err != nil {
		return plan, nil, fmt.Errorf("look at the host's links: %w", err)
	}
	plan.Normalize()
	return plan, down, nil
}

func observeBridge(h *netlink.Handle, l netlink.Link) (netplan.Bridge, bool) {
	id, mode, ok := parseBridgeAlias(l.Attrs().Alias)
	if !ok {
		return netplan.Bridge{}, false
	}
	b := netplan.Bridge{
		ID:   id,
		Mode: mode,
		MAC:  l.Attrs().HardwareAddr.String(),
	}

	list, err := h.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return b, true // without its addresses the bridge counts as different
	}

	for _, a := range list {
		prefix, ok := ipnet.Prefix(a.IPNet)
		switch {
		case ok && ownLinkLocal(prefix):
		case ok && strings.HasSuffix(a.Label, gatewayLabel):
			b.Gateways = append(b.Gateways, prefix)
		case ok:
			b.Addrs = append(b.Addrs, prefix)
		}
	}

	return b, true
}

func (p *space) observeNamespaces() ([]string, error) {
	names, err := p.pins()
	if err != nil {
		return nil, err
	}

	var found []string
	for _, name := range names {
		there, err := netns.Exists(p.pin(name))
		if err != nil {
			return nil, err
		}
		if there {
			found = append(found, name)
		}
	}

	return found, nil
}

func (p *space) observePorts(ns string) ([]netplan.Port, error) {
	var ports []netplan.Port

	err := netns.Netlink(p.pin(ns), func(h *netlink.Handle) error {
		links, err := h.LinkList()
		if err != nil {
			return err
		}

		for _, l := range links {
			id := portID(l.Attrs().Alias)
			if id == "" || !p.place.owns(portBridge(l.Attrs().Alias)) {
				continue
			}

			port := netplan.Port{
				ID:        id,
				Namespace: ns,
				Name:      l.Attrs().Name,
				MAC:       l.Attrs().HardwareAddr.String(),
			}
			if l.Type() == "macvlan" {
				port.Bridge = portBridge(l.Attrs().Alias)
			}

			if port.Addrs, err = addrsOf(h, l); err != nil {
				return err
			}
			if port.Routes, err = routesOf(h, l, routeProtocol); err != nil {
				return err
			}
			if port.EgressBPS, err = egressOf(h, l); err != nil {
				return err
			}

			ports = append(ports, port)
		}

		return nil
	})

	return ports, err
}

func egressOf(h *netlink.Handle, l netlink.Link) (uint64, error) {
	list, err := h.QdiscList(l)
	if err != nil {
		return 0, err
	}
	for _, q := range list {
		if tbf, ok := q.(*netlink.Tbf); ok {
			return tbf.Rate * 8, nil
		}
	}
	return 0, nil
}

// observeRules adds the parts of a plan that are in the table's elements.
func observeRules(plan *netplan.Plan, entries map[slot]entry) {
	nat := observeNAT(entries)
	for i, port := range plan.Ports {
		if n := nat[port.ID]; n != nil {
			plan.Ports[i].NAT = []netplan.NAT{*n}
		}
	}
	plan.LoadBalancers = observeBalancers(entries)
}

// observeNAT returns the address translation of endpoints, by their IDs.
func observeNAT(entries map[slot]entry) map[string]*netplan.NAT {
	nat := map[string]*netplan.NAT{}
	natOf := func(id string) *netplan.NAT {
		if nat[id] == nil {
			nat[id] = &netplan.NAT{ICMP: true}
		}
		return nat[id]
	}

	for s, e := range entries {
		set, f := familyOfSet(s.set)
		switch set {
		case "nat_src":
			natOf(e.id)
		case "nat_tcp_udp":
			natOf(e.id).ICMP = false
		case "nat_to", "nat_only_to":
			natOf(e.id).To = addrAt(f, e.value, 0)
		case "nat_except":
			natOf(e.id).Except = append(natOf(e.id).Except, rangeOf(f, s))
		case "nat_only":
			natOf(e.id).Only = append(natOf(e.id).Only, rangeOf(f, s))
		}
	}

	byAddr := func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) }
	for _, n := range nat {
		slices.SortFunc(n.Except, byAddr)
		slices.SortFunc(n.Only, byAddr)
	}

	return nat
}

// observeBalancers returns the load balancers, in order of their IDs.
func observeBalancers(entries map[slot]entry) (all []netplan.LoadBalancer) {
	balancers := map[string]*netplan.LoadBalancer{}
	for s, e := range entries {
		set, _ := familyOfSet(s.set)
		if set != "vip" && set != "node" && set != "kept" {
			continue
		}

		lb := balancers[e.id]
		if lb == nil {
			lb = &netplan.LoadBalancer{
				ID:          e.id,
				ByClient:    pickerOf(e.value).byClient,
				PreserveDIP: set == "kept",
			}
			balancers[e.id] = lb
		}

		observeBalancer(lb, s, entries)
	}

	for _, lb := range sorted(balancers) {
		slices.SortFunc(lb.VIPs, netip.Addr.Compare)
		all = append(all, *lb)
	}

	return all
}

// observeBalancer adds what a key of the maps vip and kept (address, protocol, port) or node (protocol, port) tells.
func observeBalancer(lb *netplan.LoadBalancer, s slot, entries map[slot]entry) {
	rest := s.key
	set, f := familyOfSet(s.set)
	switch set {
	case "vip", "kept":
		lb.VIPs = append(lb.VIPs, addrAt(f, rest, 0))
		rest = rest[f.addrLen():]
		from := map[string]string{"vip": "external", "kept": "kept_external"}[set]
		_, lb.External = entries[slot{set: f.name(from), key: s.key}]
	default:
		_, lb.FromHost = entries[slot{set: f.name("from_host"), key: s.key}]
	}

	lb.Protocol, lb.Port = netplan.Protocol(rest[0]), portAt(rest, 4)
	lb.Backends = nil
	for i := index(0); ; i++ {
		b, ok := entries[slot{set: f.name(set + "_to"), key: s.key + pack(i)}]
		if !ok {
			break
		}
		if set == "kept" { // the value is a mark; the comment tells the pod
			backend, _ := netip.ParseAddrPort(b.id)
			lb.Backends = append(lb.Backends, backend)
			continue
		}

		lb.Backends = append(lb.Backends, netip.AddrPortFrom(addrAt(f, b.value, 0), portAt(b.value, f.addrLen())))
	}

	if mark, ok := entries[slot{set: f.name(set + "_source"), key: s.key}]; ok {
		lb.SourceVIP = addrAt(f, entries[slot{set: f.name("source"), key: mark.value}].value, 0)
	}
}

func addrAt(f family, s string, at int) netip.Addr {
	if len(s) < at+f.addrLen() {
		return netip.Addr{}
	}
	addr, _ := netip.AddrFromSlice([]byte(s[at : at+f.addrLen()]))
	return addr
}

func portAt(s string, at int) uint16 {
	if len(s) < at+2 {
		return 0
	}
	return binary.BigEndian.Uint16([]byte(s[at : at+2]))
}

// rangeOf returns the network that the second part of a range's key spans.
func rangeOf(f family, s slot) netip.Prefix {
	first, last := addrAt(f, s.key, f.addrLen()), addrAt(f, s.end, f.addrLen())
	if !first.IsValid() || !last.IsValid() {
		return netip.Prefix{}
	}
	for bits := first.BitLen(); bits >= 0; bits-- {
		if p := netip.PrefixFrom(first, bits); p.Masked().Addr() == first && lastAddr(p) == last {
			return p
		}
	}
	return netip.Prefix{}
}

// Differences returns a line for each object that is not in the kernel as in the plan, and changes nothing. It may be
// called often: nftables is read only if somebody has committed a transaction since the last Apply or ApplyChange. plan
// must be the plan that those calls made.
func (p *Plane) Differences(_ context.Context, plan netplan.Plan) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parts, _ := homes{}.split(whole(plan), func(string) bool { return false })
	found, err := p.host.differences(parts[homeless].Set)
	if err != nil {
		return nil, err
	}

	if p.host.want != nil { // it looks for all spaces
		more, err := p.host.podRuleDifferences()
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}

	delete(parts, homeless)
	for id, part := range parts {
		network := p.apart[id]
		if there, err := netns.Exists(p.Pin(apartPin + id)); err != nil || !there || network == nil {
			found = append(found, "missing: namespace of network "+id)
			continue
		}
		more, err := network.differences(part.Set)
		if err != nil {
			return nil, err
		}

		found = append(found, more...)
		if more, err = p.wayOutDifferences(id); err != nil {
			return nil, err
		}
		found = append(found, more...)
	}

	return found, nil
}

func (p *space) differences(plan netplan.Plan) ([]string, error) {
	have, down, err := p.observeLinks()
	if err != nil {
		return nil, err
	}
	found := differing(Dump(linksOnly(plan)), Dump(linksOnly(have)))
	for _, id := range down {
		found = append(found, "down: "+id)
	}

	if p.want == nil {
		return append(found, "unknown: the last change did not succeed"), nil
	}

	more, err := p.switchDifferences()
	if err != nil {
		return nil, err
	}
	found = append(found, more...)
	if more, err = p.neighbourDifferences(); err != nil {
		return nil, err
	}

	found = append(found, more...)
	if more, err = p.keptDifferences(); err != nil {
		return nil, err
	}
	found = append(found, more...)
	rules, err := p.table.look(p.rules)
	if err != nil {
		return nil, err
	}

	return append(found, rules...), nil
}

// switchDifferences returns the differences in overlays and routing tables.
func (p *space) switchDifferences() ([]string, error) {
	var found []string

	err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		for _, b := range sorted(p.want.bridges) {
			if whole, err := p.gatewayIsWhole(h, b); err != nil || !whole {
				found = append(found, "missing: DNS or DHCP at the gateway of "+b.ID)
			}
			if b.VLAN != 0 && !p.tagIsWhole(h, b) {
				found = append(found, "missing: tag of "+b.ID)
			}

			missing, left, rule, err := p.policyDifferences(h, b)
			if err != nil {
				found = append(found, "unknown: routes of "+b.ID+": "+err.Error())
			}
			if n := len(missing) + len(left); n > 0 || rule {
				found = append(found, fmt.Sprintf("changed: routing table of %s", b.ID))
			}

			if b.Mode != netplan.Overlay {
				continue
			}

			link, err := lookup(h, vxlanLink(b.ID))
			if err != nil {
				return err
			}
			if link == nil || link.Attrs().Flags&net.FlagUp == 0 {
				found = append(found, "missing: VXLAN interface of "+b.ID)
				continue
			}

			want, err := wantedWays(p.want, b.ID)
			if err != nil {
				return err
			}
			have, err := observeWays(h, link)
			if err != nil {
				return err
			}
			found = append(found, want.differences(have)...)
		}

		return nil
	})

	return found, err
}

// linksOnly returns the parts of a plan that can be read from links. With IPv6, links do not show which addresses are
// gateways.
func linksOnly(plan netplan.Plan) netplan.Plan {
	out := netplan.Plan{Namespaces: plan.Namespaces}
	for _, b := range plan.Bridges {
		gateways := onlyIPv4(b.Gateways)
		six := slices.DeleteFunc(slices.Clone(b.Gateways), func(p netip.Prefix) bool { return p.Addr().Is4() })
		out.Bridges = append(out.Bridges, netplan.Bridge{
			ID:       b.ID,
			Mode:     b.Mode,
			Addrs:    sortedAddrs(slices.Concat(b.Addrs, six)),
			Gateways: sortedAddrs(gateways),
			Apart:    b.Apart,
			MAC:      bridgeMAC(b).String(),
		})
	}

	for _, port := range plan.Ports {
		out.Ports = append(out.Ports, netplan.Port{
			ID:        port.ID,
			Bridge:    port.Bridge,
			Namespace: port.Namespace,
			Name:      port.Name,
			MAC:       port.MAC,
			Addrs:     sortedAddrs(port.Addrs),
			Routes:    sortedRoutes(port.Routes),
			EgressBPS: port.EgressBPS / 8 * 8,
		})
	}

	out.Normalize()
	return out
}

func onlyIPv4(list []netip.Prefix) []netip.Prefix {
	return slices.DeleteFunc(slices.Clone(list), func(p netip.Prefix) bool { return !p.Addr().Is4() })
}

func sortedAddrs(list []netip.Prefix) []netip.Prefix {
	return slices.SortedFunc(slices.Values(list), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), a.Bits()-b.Bits())
	})
}

func sortedRoutes(list []netplan.Route) []netplan.Route {
	return slices.SortedFunc(slices.Values(list), func(a, b netplan.Route) int {
		return cmp.Or(a.Dst.Addr().Compare(b.Dst.Addr()), a.Dst.Bits()-b.Dst.Bits(), a.Via.Compare(b.Via))
	})
}
