package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// Packets of load balancers that keep the virtual address as their destination (PreserveDIP) are led to their pod by a
// mark: a routing rule for each such pod leads from its mark to a table with the way to the pod, and the pod's
// namespace takes the virtual address for its own.

// keptPriority is the priority of these routing rules. They come before the rules of switches, because the pod is on
// this host whatever way the switch's packets take.
const keptPriority = rulePriority - 1

// keptProtocol marks the routes to virtual addresses in pods (rtnetlink(7) leaves 0x4f free).
const keptProtocol = 0x4f

// keptWay is the way to a pod that keeps virtual addresses.
type keptWay struct {
	port netplan.Port
	addr netip.Addr
	vips []netip.Addr
}

// keptWays returns the ways to the host's own pods, in the order of their ports.
func (s *state) keptWays() []keptWay {
	vips := map[netip.Addr][]netip.Addr{} // by the pod's address
	for _, lb := range s.kept {
		for _, b := range lb.Backends {
			for _, vip := range lb.VIPs {
				if vip.Is4() == b.Addr().Is4() && !slices.Contains(vips[b.Addr()], vip) {
					vips[b.Addr()] = append(vips[b.Addr()], vip)
				}
			}
		}
	}

	if len(vips) == 0 {
		return nil
	}

	var ways []keptWay
	for _, port := range sorted(s.ports) {
		for _, a := range port.Addrs {
			if list := vips[a.Addr()]; len(list) > 0 && s.bridges[port.Bridge].Mode != netplan.Transparent {
				slices.SortFunc(list, netip.Addr.Compare)
				ways = append(ways, keptWay{port, a.Addr(), list})
			}
		}
	}

	return ways
}

// syncKept brings the routing rules, and the routes of all pods that keep or kept something, in line with want. It
// costs nothing where no load balancer keeps its address, or did before.
func (p *space) syncKept(h *netlink.Handle, want *state, before []keptWay) error {
	ways := want.keptWays()
	if len(ways)+len(before) == 0 {
		return nil
	}
	if err := syncKeptRules(h, ways); err != nil {
		return err
	}

	pods := map[string]netplan.Port{}
	for _, w := range slices.Concat(before, ways) {
		if port, ok := want.ports[w.port.ID]; ok {
			pods[port.ID] = port
		}
	}

	for _, port := range sorted(pods) {
		if err := p.syncKeptAddrs(port, ways); err != nil {
			return fmt.Errorf("set local routes for virtual addresses in the pod of endpoint %s: %w", port.ID, err)
		}
	}

	return nil
}

// syncAllKept does the same for all pods, whatever was there before.
func (p *space) syncAllKept(h *netlink.Handle, want *state) error {
	ways := want.keptWays()
	if err := syncKeptRules(h, ways); err != nil {
		return err
	}
	if err := removeStrayKeptRoutes(h, ways); err != nil {
		return err
	}

	for _, port := range sorted(want.ports) {
		if err := p.syncKeptAddrs(port, ways); err != nil {
			return fmt.Errorf("set local routes for virtual addresses in the pod of endpoint %s: %w", port.ID, err)
		}
	}

	return nil
}

// keptTable returns a pod's routing table, by its address; its number is the mark too.
func keptTable(a netip.Addr) int { return int(keptMark(a)) }

func netlinkFamily(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func keptRule(family, table int) *netlink.Rule {
	r := netlink.NewRule()
	r.Family = family
	r.Priority = keptPriority
	r.Mark = uint32(table)
	r.Table = table // made of a mark
	return r
}

// keptRules returns the tables to which the rules made here lead.
func keptRules(h *netlink.Handle, family int) (map[int]bool, error) {
	rules, err := h.RuleList(family)
	if errors.Is(err, unix.EAFNOSUPPORT) { // a machine that was booted with ipv6.disable=1
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list routing rules: %w", err)
	}

	found := map[int]bool{}
	for _, r := range rules {
		if r.Priority == keptPriority {
			found[r.Table] = true
		}
	}

	return found, nil
}

func syncKeptRules(h *netlink.Handle, ways []keptWay) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		have, err := keptRules(h, family)
		if err != nil {
			return err
		}

		for _, w := range ways {
			if netlinkFamily(w.addr) != family {
				continue
			}
			if err := setKeptRoute(h, w); err != nil {
				return fmt.Errorf("set route to %s by its mark: %w", w.addr, err)
			}

			table := keptTable(w.addr)
			if !have[table] {
				if err := h.RuleAdd(keptRule(family, table)); err != nil {
					return fmt.Errorf("add routing rule to %s: %w", w.addr, err)
				}
			}
			delete(have, table)
		}

		for table := range have {
			if err := dropKeptRule(h, family, table); err != nil {
				return err
			}
		}
	}

	return nil
}

// setKeptRoute makes the only route of a pod's table.
func setKeptRoute(h *netlink.Handle, w keptWay) error {
	link, err := h.LinkByName(bridgeLink(w.port.Bridge))
	if err != nil {
		return err
	}
	all := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if w.addr.Is6() {
		all = netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}

	r := &netlink.Route{
		LinkIndex: link.Attrs().Index,
		Dst:       ipnet.Of(all),
		Gw:        w.addr.AsSlice(),
		Table:     keptTable(w.addr),
		Protocol:  keptProtocol,
	}
	r.SetFlag(netlink.FLAG_ONLINK)

	return h.RouteReplace(r)
}

// removeStrayKeptRoutes removes the routes that a process left when it was killed: their rules may be gone.
func removeStrayKeptRoutes(h *netlink.Handle, ways []keptWay) error {
	tables := map[int]bool{}
	for _, w := range ways {
		tables[keptTable(w.addr)] = true
	}

	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		if err := removeStrayRoutes(h, family, keptProtocol, keptMarks, tables); err != nil {
			return err
		}
	}

	return nil
}

func dropKeptRule(h *netlink.Handle, family, table int) error {
	if err := h.RuleDel(keptRule(family, table)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove routing rule of mark %#x: %w", table, err)
	}

	routes, err := h.RouteListFiltered(family, &netlink.Route{Table: table}, netlink.RT_FILTER_TABLE)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}
	for _, r := range routes {
		if err := h.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route to %s: %w", r.Gw, err)
		}
	}

	return nil
}

// keptAddrs returns the virtual addresses that a pod is to take for its own.
func keptAddrs(port netplan.Port, ways []keptWay) map[netip.Addr]bool {
	want := map[netip.Addr]bool{}
	for _, w := range ways {
		if w.port.ID == port.ID {
			for _, vip := range w.vips {
				want[vip] = true
			}
		}
	}
	return want
}

// observeKept returns the virtual addresses that the pod takes for its own at present.
func observeKept(pod *netlink.Handle, link netlink.Link) (map[netip.Addr]netlink.Route, error) {
	filter := &netlink.Route{
		LinkIndex: link.Attrs().Index,
		Table:     unix.RT_TABLE_LOCAL,
		Protocol:  keptProtocol,
	}

	list, err := pod.RouteListFiltered(netlink.FAMILY_ALL, filter,
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}

	have := map[netip.Addr]netlink.Route{}
	for _, r := range list {
		if dst, ok := ipnet.Prefix(r.Dst); ok {
			have[dst.Addr()] = r
		}
	}

	return have, nil
}

func (p *space) syncKeptAddrs(port netplan.Port, ways []keptWay) error {
	return netns.Netlink(p.pin(port.Namespace), func(pod *netlink.Handle) error {
		link, err := pod.LinkByName(port.Name)
		if err != nil {
			return err
		}
		have, err := observeKept(pod, link)
		if err != nil {
			return err
		}

		want := keptAddrs(port, ways)
		for vip, r := range have {
			if want[vip] {
				continue
			}
			if err := pod.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove route to %s: %w", vip, err)
			}
		}

		for vip := range want {
			if _, there := have[vip]; there {
				continue
			}

			r := &netlink.Route{
				LinkIndex: link.Attrs().Index,
				Dst:       ipnet.Of(netip.PrefixFrom(vip, vip.BitLen())),
				Table:     unix.RT_TABLE_LOCAL,
				Type:      unix.RTN_LOCAL,
				Scope:     netlink.SCOPE_HOST,
				Protocol:  keptProtocol,
			}

			if err := pod.RouteReplace(r); err != nil {
				return fmt.Errorf("set route to %s: %w", vip, err)
			}
		}

		return nil
	})
}

// keptDifferences returns a line for each routing rule and virtual address of this file that is missing or left over.
func (p *space) keptDifferences() ([]string, error) {
	var found []string
	ways := p.want.keptWays()
	err := netns.Netlink(p.cfg.Netns, func(h *netlink.Handle) error {
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			have, err := keptRules(h, family)
			if err != nil {
				return err
			}

			for _, w := range ways {
				if netlinkFamily(w.addr) == family && !have[keptTable(w.addr)] {
					found = append(found, "missing: routing rule to "+w.addr.String())
				}
				delete(have, keptTable(w.addr))
			}

			if len(have) > 0 {
				found = append(found, fmt.Sprintf("left over: %d routing rules to pods", len(have)))
			}
		}

		return nil
	})
	if err != nil {
		return nil, err
	}

	for _, w := range ways {
		err := netns.Netlink(p.pin(w.port.Namespace), func(pod *netlink.Handle) error {
			link, err := pod.LinkByName(w.port.Name)
			if err != nil {
				return err
			}

			have, err := observeKept(pod, link)
			for _, vip := range w.vips {
				if _, there := have[vip]; !there {
					found = append(found, fmt.Sprintf("missing: virtual address %s of endpoint %s", vip, w.port.ID))
				}
			}

			return err
		})
		if err != nil {
			found = append(found, fmt.Sprintf("unknown: virtual addresses of endpoint %s: %v", w.port.ID, err))
		}
	}

	return found, nil
}
