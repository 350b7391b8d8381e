package underlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/netns"
)

// Route says which node carries which pods.
type Route struct {
	CIDR netip.Prefix // a node's pods
	Via  netip.Addr   // the node's address in the underlay
}

// SetRoutes makes these the pod routes of the fabric, the machine and every host, and removes others made before.
func (u *Underlay) SetRoutes(_ context.Context, routes []Route) error {
	for _, r := range routes {
		if !r.CIDR.IsValid() || !u.cfg.Subnet.Contains(r.Via) {
			return fmt.Errorf("set pod route %s via %s: not a network behind an address of %s", r.CIDR, r.Via, u.cfg.Subnet)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.setRoutes(routes)
}

// SetPodRoute makes cidr the one network of pods behind a host; the zero Prefix removes the host's route.
func (u *Underlay) SetPodRoute(_ context.Context, host string, cidr netip.Prefix) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	addr, err := u.hostAddr(host)
	if err == nil && !addr.IsValid() {
		err = errors.New("no such host")
	}
	if err != nil {
		return fmt.Errorf("set pod route of host %q: %w", host, err)
	}
	if !cidr.IsValid() {
		return u.replaceRoutes(addr, nil)
	}
	return u.replaceRoutes(addr, []Route{{CIDR: cidr.Masked(), Via: addr}})
}

// replaceRoutes sets the routes that lead to one node and keeps all others.
func (u *Underlay) replaceRoutes(via netip.Addr, with []Route) error {
	routes, err := u.routes()
	if err != nil {
		return err
	}
	routes = slices.DeleteFunc(routes, func(r Route) bool {
		return r.Via == via || slices.ContainsFunc(with, func(w Route) bool { return w.CIDR == r.CIDR })
	})
	return u.setRoutes(append(routes, with...))
}

func (u *Underlay) setRoutes(routes []Route) error {
	errs := []error{
		u.syncRoutes(u.FabricNetns(), bridgeName, routes),
		u.syncRoutes(u.cfg.MachineNetns, u.cfg.Link, routes),
	}
	hosts, err := u.pins()
	errs = append(errs, err)
	for _, host := range hosts {
		addr, err := u.hostAddr(host)
		if err == nil && addr.IsValid() {
			err = u.syncRoutes(u.HostNetns(host), HostLink, routes)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// routes are the pod routes as the fabric's kernel table has them.
func (u *Underlay) routes() ([]Route, error) {
	var routes []Route
	err := netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		var err error
		routes, err = podRoutes(h, bridgeName)
		return err
	})
	return routes, err
}

func podRoutes(h *netlink.Handle, linkName string) ([]Route, error) {
	link, err := h.LinkByName(linkName)
	if err != nil {
		return nil, fmt.Errorf("look for link %q: %w", linkName, err)
	}
	filter := &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: routeProtocol}
	list, err := h.RouteListFiltered(netlink.FAMILY_V4, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes of link %q: %w", linkName, err)
	}
	var routes []Route
	for _, r := range list {
		via, ok := netip.AddrFromSlice(r.Gw.To4())
		cidr, isPods := prefixOf(r.Dst)
		if ok && isPods && cidr.Bits() > 0 {
			routes = append(routes, Route{CIDR: cidr, Via: via})
		}
	}
	return routes, nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP.To4())
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addr, bits), ok
}

// syncRoutes makes these the pod routes of the link in the namespace at path. A route to an address of the link's own
// is left out: a node does not route its own pods away.
func (u *Underlay) syncRoutes(path, linkName string, want []Route) error {
	return netns.Netlink(path, func(h *netlink.Handle) error {
		have, err := podRoutes(h, linkName)
		if err != nil {
			return err
		}
		link, err := h.LinkByName(linkName)
		if err != nil {
			return err
		}
		own, err := h.AddrList(link, netlink.FAMILY_V4)
		if err != nil {
			return err
		}
		want := slices.DeleteFunc(slices.Clone(want), func(r Route) bool {
			return slices.ContainsFunc(own, func(a netlink.Addr) bool { return a.IP.Equal(r.Via.AsSlice()) })
		})
		var errs []error
		for _, r := range have {
			if !slices.Contains(want, r) {
				errs = append(errs, deleteRoute(h, link, r))
			}
		}
		for _, r := range want {
			if !slices.Contains(have, r) {
				errs = append(errs, ensureRoute(h, linkName, &netlink.Route{
					Dst: toIPNet(r.CIDR), Gw: r.Via.AsSlice(), Protocol: routeProtocol,
				}))
			}
		}
		return errors.Join(errs...)
	})
}

func deleteRoute(h *netlink.Handle, link netlink.Link, r Route) error {
	err := h.RouteDel(&netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: toIPNet(r.CIDR), Gw: r.Via.AsSlice(), Protocol: routeProtocol,
	})
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("remove route %s via %s: %w", r.CIDR, r.Via, err)
	}
	return nil
}

func ensureRoute(h *netlink.Handle, linkName string, route *netlink.Route) error {
	link, err := h.LinkByName(linkName)
	if err != nil {
		return err
	}
	route.LinkIndex = link.Attrs().Index
	if err := h.RouteReplace(route); err != nil {
		return fmt.Errorf("set route %s: %w", route, err)
	}
	return nil
}

func toIPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

func anywhere() *net.IPNet { return &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)} }
