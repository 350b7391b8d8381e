package dataplane

import (
	"errors"
	"fmt"
	"net"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/network/netplan"
)

// Where a network's packets take another way than the host's own, its switch has a routing table: in L2Tunnel all goes
// to the underlay's router, and with a VLAN tag all goes through the tag's interface. This is for IPv4; IPv6, which
// Windows documents for L2Bridge networks, takes the host's own way.

// rulePriority is the priority of the rules that lead from switches to their tables, and marks them as made here.
const rulePriority = 0x4e00

// policyTables is the first of the 2^24 numbers that tables of switches have.
const policyTables = 0x4e000000

func policyTable(id string) int { return policyTables | int(hash(id)&0xffffff) }

// policyRoutes returns the routes of a switch's own table; none where it needs no table.
func (p *space) policyRoutes(h *netlink.Handle, b netplan.Bridge) ([]netlink.Route, error) {
	if b.Mode != netplan.L2Tunnel && (b.Mode != netplan.L2Bridge || b.VLAN == 0) {
		return nil, nil
	}

	uplink, err := h.LinkByName(p.uplink(b))
	if err != nil {
		return nil, err
	}
	parent, err := h.LinkByName(p.parentName(b))
	if err != nil {
		return nil, err
	}

	add := func(list []netlink.Route, r netlink.Route) []netlink.Route {
		r.Table, r.Protocol = policyTable(b.ID), routeProtocol
		return append(list, r)
	}

	var routes []netlink.Route
	if b.Mode == netplan.L2Bridge {
		if routes, err = p.neighbourRoutes(h, b, uplink, parent, add); err != nil {
			return nil, err
		}
	}

	gateway, err := defaultGateway(h, uplink)
	if err != nil {
		return nil, err
	}

	if gateway != nil {
		r := netlink.Route{
			LinkIndex: parent.Attrs().Index,
			Dst:       &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)},
			Gw:        gateway,
		}
		r.SetFlag(netlink.FLAG_ONLINK)
		return add(routes, r), nil
	}

	if b.Mode == netplan.L2Tunnel {
		return nil, fmt.Errorf(
			"uplink %q has no default gateway, which pods of an L2Tunnel network reach each other by", p.uplink(b))
	}

	return routes, nil
}

// neighbourRoutes returns the routes to the switch's own pods, and to the underlay's hosts over the tag's interface.
func (p *space) neighbourRoutes(h *netlink.Handle, b netplan.Bridge, uplink, parent netlink.Link,
	add func([]netlink.Route, netlink.Route) []netlink.Route,
) ([]netlink.Route, error) {
	link, err := h.LinkByName(bridgeLink(b.ID))
	if err != nil {
		return nil, err
	}

	var routes []netlink.Route
	for _, a := range onlyIPv4(b.Addrs) {
		routes = add(routes, netlink.Route{
			LinkIndex: link.Attrs().Index,
			Dst:       ipnet.Of(a.Masked()),
			Scope:     netlink.SCOPE_LINK,
		})
	}

	addrs, err := addrsOf(h, uplink)
	if err != nil {
		return nil, err
	}

	for _, a := range onlyIPv4(addrs) {
		routes = add(routes, netlink.Route{
			LinkIndex: parent.Attrs().Index,
			Dst:       ipnet.Of(a.Masked()),
			Scope:     netlink.SCOPE_LINK,
		})
	}

	return routes, nil
}

func defaultGateway(h *netlink.Handle, uplink netlink.Link) (net.IP, error) {
	routes, err := h.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{
		LinkIndex: uplink.Attrs().Index,
		Table:     unix.RT_TABLE_MAIN,
	},
		netlink.RT_FILTER_OIF|netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}

	for _, r := range routes {
		if r.Gw != nil && (r.Dst == nil || r.Dst.IP.IsUnspecified()) {
			return r.Gw, nil
		}
	}

	return nil, nil
}

// policyDifferences returns the routes that a switch's table lacks (missing) and has too much (left). rule is true if
// the rule that leads to the table is missing or left over.
func (p *space) policyDifferences(h *netlink.Handle, b netplan.Bridge) (missing, left []netlink.Route, rule bool,
	err error,
) {
	want, err := p.policyRoutes(h, b)
	if err != nil {
		return nil, nil, false, err
	}
	have, err := h.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: policyTable(b.ID)},
		netlink.RT_FILTER_TABLE)
	if err != nil {
		return nil, nil, false, fmt.Errorf("list routes: %w", err)
	}

	key := func(r netlink.Route) string { return fmt.Sprint(r.LinkIndex, r.Dst, r.Gw) }
	there := map[string]bool{}
	for _, r := range have {
		there[key(r)] = true
	}

	wanted := map[string]bool{}
	for _, r := range want {
		if wanted[key(r)] = true; !there[key(r)] {
			missing = append(missing, r)
		}
	}

	for _, r := range have {
		if !wanted[key(r)] {
			left = append(left, r)
		}
	}

	rules, err := p.policyRules(h)
	if err != nil {
		return nil, nil, false, err
	}
	_, ruled := rules[bridgeLink(b.ID)]
	return missing, left, ruled != (len(want) > 0), nil
}

func (p *space) syncPolicyRoutes(h *netlink.Handle, b netplan.Bridge) error {
	missing, left, rule, err := p.policyDifferences(h, b)
	if err != nil {
		return err
	}
	for _, r := range left {
		if err := h.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route to %s: %w", r.Dst, err)
		}
	}

	for _, r := range missing {
		if err := h.RouteReplace(&r); err != nil {
			return fmt.Errorf("set route to %s in the switch's table: %w", r.Dst, err)
		}
	}

	want, err := p.policyRoutes(h, b)
	switch {
	case err != nil:
		return err
	case rule && len(want) > 0:
		if b.Mode == netplan.L2Tunnel { // a pod's call to itself comes back from the router with the host's address
			if err := p.inHost(func() error {
				return sysctls([][2]string{{"net/ipv4/conf/" + p.parentName(b) + "/accept_local", "1"}})
			}); err != nil {
				return err
			}
		}
		return h.RuleAdd(policyRule(bridgeLink(b.ID), policyTable(b.ID)))

	case rule:
		return p.dropRule(h, bridgeLink(b.ID), policyTable(b.ID))
	}

	return nil
}

func policyRule(link string, table int) *netlink.Rule {
	r := netlink.NewRule()
	r.Family = netlink.FAMILY_V4
	r.Priority = rulePriority
	r.IifName = link
	r.Table = table
	return r
}

// policyRules returns the rules made here: the switch's interface to its table.
func (p *space) policyRules(h *netlink.Handle) (map[string]int, error) {
	rules, err := h.RuleList(netlink.FAMILY_V4)
	if err != nil {
		return nil, fmt.Errorf("list routing rules: %w", err)
	}
	found := map[string]int{}
	for _, r := range rules {
		if r.Priority == rulePriority {
			found[r.IifName] = r.Table
		}
	}
	return found, nil
}

func (p *space) dropRule(h *netlink.Handle, link string, table int) error {
	if err := h.RuleDel(policyRule(link, table)); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("remove routing rule of %q: %w", link, err)
	}
	return nil
}

// dropPolicyRoutes removes a switch's own routing table and the rule that leads to it.
func (p *space) dropPolicyRoutes(h *netlink.Handle, id string) error {
	routes, err := h.RouteListFiltered(netlink.FAMILY_V4, &netlink.Route{Table: policyTable(id)},
		netlink.RT_FILTER_TABLE)
	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}

	for _, r := range routes {
		if err := h.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route to %s: %w", r.Dst, err)
		}
	}

	rules, err := p.policyRules(h)
	if err != nil {
		return err
	}
	if table, ok := rules[bridgeLink(id)]; ok {
		return p.dropRule(h, bridgeLink(id), table)
	}

	return nil
}

// removePolicyRoutes removes the tables of switches that are not wanted, and the rules that lead to them. A process
// that was killed may have left a table without its rule, so routes are told by their protocol.
func (p *space) removePolicyRoutes(h *netlink.Handle, want *state) error {
	links, tables := map[string]bool{}, map[int]bool{}
	for id := range want.bridges {
		links[bridgeLink(id)], tables[policyTable(id)] = true, true
	}

	if err := removeStrayRoutes(h, netlink.FAMILY_V4, routeProtocol, policyTables, tables); err != nil {
		return err
	}

	rules, err := p.policyRules(h)
	if err != nil {
		return err
	}

	for link, table := range rules {
		if links[link] {
			continue
		}
		if err := p.dropRule(h, link, table); err != nil {
			return err
		}
	}

	return nil
}

// removeStrayRoutes removes the routes of a protocol from all tables of a range of 2^24, except from those in keep.
func removeStrayRoutes(h *netlink.Handle, family, protocol, first int, keep map[int]bool) error {
	routes, err := h.RouteListFiltered(family, &netlink.Route{
		Protocol: netlink.RouteProtocol(protocol),
		Table:    unix.RT_TABLE_UNSPEC, // all tables
	},
		netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	if errors.Is(err, unix.EAFNOSUPPORT) { // a machine that was booted with ipv6.disable=1
		return nil
	}

	if err != nil {
		return fmt.Errorf("list routes: %w", err)
	}

	for _, r := range routes {
		if r.Table&^0xffffff != first || keep[r.Table] {
			continue
		}
		if err := h.RouteDel(&r); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route to %s from table %#x: %w", r.Dst, r.Table, err)
		}
	}

	return nil
}
