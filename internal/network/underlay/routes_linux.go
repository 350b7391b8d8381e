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

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// Route leads to the pods of a node, or to an address of a Service by way of a node.
type Route struct {
	CIDR netip.Prefix // a node's pods, or one address of a Service
	Via  netip.Addr   // the node's address in the underlay
}

// SetRoutes makes these the pod routes of the fabric, the machine and every host, and removes earlier ones.
func (u *Underlay) SetRoutes(_ context.Context, routes []Route) error {
	return u.setChecked(podProtocol, routes)
}

// SetServiceRoutes does the same for the addresses of load balancers, by which the world outside reaches Services.
// These routes are separate from the pod routes.
func (u *Underlay) SetServiceRoutes(_ context.Context, routes []Route) error {
	return u.setChecked(serviceProtocol, routes)
}

func (u *Underlay) setChecked(protocol netlink.RouteProtocol, routes []Route) error {
	for _, r := range routes {
		if !r.CIDR.IsValid() || (!u.cfg.Subnet.Contains(r.Via) && !u.cfg.Subnet6.Contains(r.Via)) {
			return fmt.Errorf("set route %s via %s: not a network behind an address of %s", r.CIDR, r.Via, u.cfg.Subnet)
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.setRoutes(protocol, routes)
}

// SetPodRoute makes these the pod CIDRs behind a host, one of each family. host is the IPv4 address of a host on this
// machine or another, or of an external node. Without cidrs the host's routes are removed.
func (u *Underlay) SetPodRoute(ctx context.Context, host netip.Addr, cidrs ...netip.Prefix) error {
	if u.cfg.External.has(host) {
		return u.setExternalRoute(ctx, host, cidrs)
	}
	if !u.cfg.Subnet.Contains(host) {
		return fmt.Errorf("set pod route of host %s: not an address of %s", host, u.cfg.Subnet)
	}

	var routes []Route
	for _, cidr := range cidrs {
		via := host
		if cidr.Addr().Is6() {
			via = u.addr6(host)
		}
		if !cidr.IsValid() || !via.IsValid() {
			return fmt.Errorf("set pod route of host %s to %s: the underlay has no such address family", host, cidr)
		}
		routes = append(routes, Route{CIDR: cidr.Masked(), Via: via})
	}

	u.mu.Lock()
	defer u.mu.Unlock()

	return u.replaceRoutes(podProtocol, host, routes)
}

// routeProtocols returns the kinds of routes that are removed with a host.
func routeProtocols() []netlink.RouteProtocol {
	return []netlink.RouteProtocol{podProtocol, serviceProtocol}
}

// replaceRoutes sets the routes of one kind that lead to one node and keeps all others.
func (u *Underlay) replaceRoutes(protocol netlink.RouteProtocol, via netip.Addr, with []Route) error {
	routes, err := u.routes(protocol)
	if err != nil {
		return err
	}
	routes = slices.DeleteFunc(routes, func(r Route) bool {
		return r.Via == via || r.Via == u.addr6(via) ||
			slices.ContainsFunc(with, func(w Route) bool { return w.CIDR == r.CIDR })
	})
	return u.setRoutes(protocol, append(routes, with...))
}

func (u *Underlay) setRoutes(protocol netlink.RouteProtocol, routes []Route) error {
	errs := []error{
		u.syncRoutes(u.FabricNetns(), bridgeName, protocol, routes),
		u.syncMachineRoutes(protocol, routes),
	}

	hosts, err := u.pins()
	errs = append(errs, err)
	for _, host := range hosts {
		addr, err := u.hostAddr(host)
		if err == nil && addr.IsValid() {
			err = u.syncRoutes(u.HostNetns(host), HostLink, protocol, routes)
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// routes returns the routes of one kind as the fabric's kernel table has them.
func (u *Underlay) routes(protocol netlink.RouteProtocol) ([]Route, error) {
	var routes []Route
	err := netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		var err error
		routes, err = routesOf(h, bridgeName, protocol)
		return err
	})
	return routes, err
}

func routesOf(h *netlink.Handle, linkName string, protocol netlink.RouteProtocol) ([]Route, error) {
	link, err := h.LinkByName(linkName)
	if err != nil {
		return nil, fmt.Errorf("look for link %q: %w", linkName, err)
	}
	filter := &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: protocol}
	list, err := h.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes of link %q: %w", linkName, err)
	}

	var routes []Route
	for _, r := range list {
		via, ok := netip.AddrFromSlice(r.Gw)
		cidr, isPrefix := ipnet.Prefix(r.Dst)
		if ok && isPrefix && cidr.Bits() > 0 {
			routes = append(routes, Route{CIDR: cidr, Via: via.Unmap()})
		}
	}

	return routes, nil
}

// taken returns the destinations to which another cluster's route of this kind leads, of the machine's namespace.
// Clusters with one subnet of pods can live side by side, each in namespaces of its own. Of the machine's routes each
// is the cluster's that was first; else both would take it from each other without end.
func (u *Underlay) taken(h *netlink.Handle, protocol netlink.RouteProtocol) (map[netip.Prefix]bool, error) {
	all, listErr := map[netip.Prefix]bool{}, error(nil)
	err := u.others(h, func(l netlink.Link, _ switches, _ string) bool {
		var routes []Route
		routes, listErr = routesOf(h, l.Attrs().Name, protocol)
		if isNotFound(listErr) {
			listErr = nil // the cluster has gone meanwhile
		}
		for _, r := range routes {
			all[r.CIDR] = true
		}
		return listErr == nil
	})
	return all, errors.Join(err, listErr)
}

// notTaken leaves out the routes that another cluster on the machine has, in the machine's namespace.
func (u *Underlay) notTaken(
	h *netlink.Handle, path string, protocol netlink.RouteProtocol, want []Route,
) ([]Route, error) {
	if path != u.cfg.MachineNetns {
		return want, nil
	}

	taken, err := u.taken(h, protocol)
	if err != nil {
		return nil, err
	}
	mine := slices.DeleteFunc(slices.Clone(want), func(r Route) bool { return taken[r.CIDR] })
	if protocol == podProtocol {
		u.elsewhere.Store(int64(len(want) - len(mine)))
	}
	return mine, nil
}

// Note says what is to be known of a network that is whole, "" if there is nothing.
func (u *Underlay) Note() string {
	n := u.elsewhere.Load()
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("another cluster on this machine has the same podSubnet, so that the machine itself does not reach "+
		"the pods of %d node(s) here; inside the cluster all is as usual, and another networking.podSubnet ends it", n)
}

// syncRoutes makes these the routes of one kind of the link in the namespace at path. A route to an address of the
// link's own is left out: a node does not route its own pods away.
func (u *Underlay) syncRoutes(path, linkName string, protocol netlink.RouteProtocol, want []Route) error {
	return netns.Netlink(path, func(h *netlink.Handle) error {
		have, err := routesOf(h, linkName, protocol)
		if err != nil {
			return err
		}
		link, err := h.LinkByName(linkName)
		if err != nil {
			return err
		}

		own, err := h.AddrList(link, netlink.FAMILY_ALL)
		if err != nil {
			return err
		}

		want, err := u.notTaken(h, path, protocol, want)
		if err != nil {
			return err
		}
		want = slices.DeleteFunc(slices.Clone(want), func(r Route) bool {
			return slices.ContainsFunc(own, func(a netlink.Addr) bool { return a.IP.Equal(r.Via.AsSlice()) })
		})
		var errs []error
		for _, r := range have {
			if !slices.Contains(want, r) {
				errs = append(errs, deleteRoute(h, link, protocol, r))
			}
		}

		for _, r := range want {
			if !slices.Contains(have, r) {
				errs = append(errs, ensureRoute(h, linkName, &netlink.Route{
					Dst:      ipnet.Of(r.CIDR),
					Gw:       r.Via.AsSlice(),
					Protocol: protocol,
				}))
			}
		}

		return errors.Join(errs...)
	})
}

func deleteRoute(h *netlink.Handle, link netlink.Link, protocol netlink.RouteProtocol, r Route) error {
	err := h.RouteDel(&netlink.Route{
		LinkIndex: link.Attrs().Index,
		Dst:       ipnet.Of(r.CIDR),
		Gw:        r.Via.AsSlice(),
		Protocol:  protocol,
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

func anywhere() *net.IPNet { return &net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)} }
