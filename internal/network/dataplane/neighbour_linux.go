package dataplane

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/netns"
	"mullion.dev/mullion/internal/network/netplan"
)

// Ports of a switch are isolated. With IPv4 the host answers for every address that a pod asks for (proxy ARP). With
// IPv6 Linux answers for single addresses only (proxy NDP), so pods do not ask: their own subnet is routed to the
// switch, and every next hop of a pod is a fixed neighbour with the switch's hardware address.

// subnetProtocol marks the routes by which a pod sends what is for its own subnet to the switch (rtnetlink(7) leaves
// 0x4f free).
const subnetProtocol = 0x4f

// linkLocal returns the address that a hardware address has on its link (RFC 4291, appendix A).
func linkLocal(mac net.HardwareAddr) netip.Addr {
	return netip.AddrFrom16([16]byte{
		0xfe, 0x80, 8: mac[0] ^ 2, 9: mac[1], 10: mac[2], 11: 0xff, 12: 0xfe, 13: mac[3],
		14: mac[4], 15: mac[5],
	})
}

// subnetRoutes returns the routes to a pod's own IPv6 subnets.
func subnetRoutes(s *portSpec) []netplan.Route {
	var routes []netplan.Route
	if s.bridge.Mode == netplan.Transparent { // the underlay is there for everybody
		return nil
	}
	for _, a := range s.Addrs {
		if a.Addr().Is6() && !a.IsSingleIP() {
			routes = append(routes, netplan.Route{Dst: a.Masked(), Via: linkLocal(bridgeMAC(s.bridge))})
		}
	}
	return routes
}

// fixedNeighbours returns the IPv6 next hops of a pod.
func fixedNeighbours(s *portSpec) map[netip.Addr]bool {
	all := map[netip.Addr]bool{}
	if s.bridge.Mode == netplan.Transparent {
		return all
	}
	for _, r := range slices.Concat(subnetRoutes(s), s.Routes) {
		if r.Via.Is6() {
			all[r.Via] = true
		}
	}
	return all
}

// syncNeighbours sets the fixed IPv6 neighbours of a pod's interface and the routes to its own subnets.
func syncNeighbours(pod *netlink.Handle, link netlink.Link, s *portSpec) error {
	for via := range fixedNeighbours(s) {
		n := &netlink.Neigh{
			LinkIndex:    link.Attrs().Index,
			State:        netlink.NUD_PERMANENT,
			Family:       unix.AF_INET6,
			IP:           via.AsSlice(),
			HardwareAddr: bridgeMAC(s.bridge),
		}

		if err := pod.NeighSet(n); err != nil {
			return fmt.Errorf("set neighbour %s: %w", via, err)
		}
	}

	want := subnetRoutes(s)
	have, err := routesOf(pod, link, subnetProtocol)
	if err != nil {
		return err
	}

	for _, r := range have {
		x := route(link, r)
		x.Protocol = subnetProtocol
		if slices.Contains(want, r) {
			continue
		}
		if err := pod.RouteDel(x); err != nil && !errors.Is(err, unix.ESRCH) {
			return fmt.Errorf("remove route to %s: %w", r.Dst, err)
		}
	}

	for _, r := range want {
		x := route(link, r)
		x.Protocol = subnetProtocol
		if err := pod.RouteReplace(x); err != nil {
			return fmt.Errorf("set route to %s by the switch: %w", r.Dst, err)
		}
	}

	return nil
}

// neighbourDifferences returns a line for each pod whose neighbours and subnet routes are not as syncNeighbours left
// them. Missing pods and interfaces are reported elsewhere.
func (p *space) neighbourDifferences() ([]string, error) {
	var found []string
	for _, port := range sorted(p.want.ports) {
		s := &portSpec{Port: port, bridge: p.want.bridges[port.Bridge]}
		if len(fixedNeighbours(s)) == 0 {
			continue
		}
		if there, err := netns.Exists(p.pin(port.Namespace)); err != nil || !there {
			continue
		}

		err := netns.Netlink(p.pin(port.Namespace), func(pod *netlink.Handle) error {
			link, err := lookup(pod, s.Name)
			if err != nil || link == nil {
				return err
			}
			right, err := neighboursRight(pod, link, s)
			if err == nil && !right {
				found = append(found, "changed: neighbours and way to its subnet of "+port.ID)
			}

			return err
		})
		if err != nil {
			return nil, err
		}
	}

	return found, nil
}

func neighboursRight(pod *netlink.Handle, link netlink.Link, s *portSpec) (bool, error) {
	routes, err := routesOf(pod, link, subnetProtocol)
	if err != nil {
		return false, err
	}
	neighbours, err := pod.NeighList(link.Attrs().Index, unix.AF_INET6)
	if err != nil {
		return false, fmt.Errorf("list neighbours: %w", err)
	}

	missing := fixedNeighbours(s)
	for _, n := range neighbours {
		addr, _ := netip.AddrFromSlice(n.IP)
		if n.State == netlink.NUD_PERMANENT && n.HardwareAddr.String() == bridgeMAC(s.bridge).String() {
			delete(missing, addr)
		}
	}

	want := subnetRoutes(s)
	return len(missing) == 0 && len(routes) == len(want) &&
		!slices.ContainsFunc(want, func(r netplan.Route) bool { return !slices.Contains(routes, r) }), nil
}
