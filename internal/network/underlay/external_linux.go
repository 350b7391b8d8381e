package underlay

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// ErrNoNeighbour says that the machine reaches a node by way of a router, so that it cannot have a route to the node's
// pods.
var ErrNoNeighbour = errors.New("the node is no neighbour of this machine")

// External are nodes beyond the underlay, which have addresses of the machine's own networks. They and the fabric reach
// each other by way of the machine, without NAT. The zero value: there are none.
//
//	external node ── the machine's network ── machine ── Config.Link ── bridge ── hosts
type External struct {
	// Nodes are the networks of these nodes' addresses. They do not overlap each other or Pods.
	Nodes []netip.Prefix
	// Pods is the cluster's subnet of pods.
	Pods netip.Prefix
}

func (e External) enabled() bool { return len(e.Nodes) > 0 }

func (e External) has(node netip.Addr) bool {
	return slices.ContainsFunc(e.Nodes, func(p netip.Prefix) bool { return p.Contains(node) })
}

// check refuses networks that cannot be told apart from the underlay's.
func (e External) check(subnet netip.Prefix) error {
	if !e.enabled() {
		return nil
	}

	all := append([]netip.Prefix{subnet, e.Pods}, e.Nodes...)
	for i, p := range all {
		if !p.IsValid() || !p.Addr().Is4() {
			return fmt.Errorf("underlay: %s is no network of external nodes", p)
		}
		if slices.ContainsFunc(all[:i], p.Overlaps) {
			return fmt.Errorf("underlay: network %s of external nodes overlaps another", p)
		}
	}

	return nil
}

// set returns a set of nftables: the addresses of external nodes and of all pods.
func (e External) set() string {
	texts := []string{e.Pods.String()}
	for _, p := range e.Nodes {
		texts = append(texts, p.String())
	}
	return "{ " + strings.Join(texts, ", ") + " }"
}

// externalRules returns the rules of the chain forward with external nodes. These and pods may open connections into
// the fabric, if the machine would answer them by the interface on which they came; pods of the fabric's reach nobody
// else with their own addresses.
func (u *Underlay) externalRules(link string) []string {
	all, pods := u.cfg.External.set(), u.cfg.External.Pods.String()
	return []string{
		"oifname " + link + " iifname != " + link + " ip saddr " + all + " fib saddr . iif oif missing drop",
		"oifname " + link + " iifname != " + link + " ip saddr != " + all +
			" ct state != { established, related } drop",
		"iifname " + link + " oifname != " + link + " ip saddr " + pods + " ip daddr != " + all + " drop",
		"iifname " + link + " oifname != " + link + " ip saddr != { " + u.cfg.Subnet.String() + ", " + pods + " } drop",
	}
}

// setExternalRoute makes these the machine's routes to the pods of an external node. The hosts have a default route to
// the machine.
func (u *Underlay) setExternalRoute(_ context.Context, node netip.Addr, cidrs []netip.Prefix) error {
	for _, cidr := range cidrs {
		if !cidr.IsValid() || !u.cfg.External.Pods.Contains(cidr.Addr()) || cidr.Bits() < u.cfg.External.Pods.Bits() {
			return fmt.Errorf("set pod route of node %s to %s: not a part of %s", node, cidr, u.cfg.External.Pods)
		}
	}

	u.mu.Lock()
	defer u.mu.Unlock()

	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		err := u.removeOutside(h, podProtocol, func(r Route) bool {
			return r.Via == node && !slices.Contains(cidrs, r.CIDR)
		})
		if err != nil || len(cidrs) == 0 {
			return err
		}

		ways, err := h.RouteGet(node.AsSlice())
		if err != nil {
			return fmt.Errorf("find the way to node %s: %w", node, err)
		}
		if len(ways) == 0 || ways[0].Gw != nil {
			return fmt.Errorf("set pod route of node %s: %w", node, ErrNoNeighbour)
		}

		for _, cidr := range cidrs {
			route := &netlink.Route{
				LinkIndex: ways[0].LinkIndex, Dst: ipnet.Of(cidr.Masked()), Gw: node.AsSlice(), Protocol: podProtocol,
				Priority: u.lanPriority(),
			}
			if err := h.RouteReplace(route); err != nil {
				return fmt.Errorf("set pod route of node %s to %s: %w", node, cidr, err)
			}
		}

		return nil
	})
}

// pruneExternal removes the routes by way of nodes that are no external ones any more.
func (u *Underlay) pruneExternal() error { return u.keepExternal(u.cfg.External.has) }

// KeepExternalRoutes removes the routes by way of external nodes that are none of these.
func (u *Underlay) KeepExternalRoutes(_ context.Context, nodes []netip.Addr) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.keepExternal(func(node netip.Addr) bool { return slices.Contains(nodes, node) })
}

func (u *Underlay) keepExternal(keep func(node netip.Addr) bool) error {
	if u.cfg.LAN.enabled() {
		return nil // its routes are others
	}
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		return u.removeOutside(h, podProtocol, func(r Route) bool { return !keep(r.Via) })
	})
}

// removeOutside removes those of the machine's routes by way of other nodes for which gone returns true.
func (u *Underlay) removeOutside(h *netlink.Handle, protocol netlink.RouteProtocol, gone func(Route) bool) error {
	have, err := u.outsideRoutes(h, protocol)
	if err != nil {
		return err
	}

	var errs []error
	for i := range have {
		cidr, _ := ipnet.Prefix(have[i].Dst)
		via, _ := netip.AddrFromSlice(have[i].Gw)
		if gone(Route{CIDR: cidr, Via: via.Unmap()}) {
			errs = append(errs, h.RouteDel(&have[i]))
		}
	}

	return errors.Join(errs...)
}
