package dataplane

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/network/netplan"
)

// Names and aliases. nftables' rules know switches by bridgePrefix and overlays by vxlanPrefix.
const (
	bridgePrefix = "hns"
	portPrefix   = "vp"
	vlanPrefix   = "vl"
	aliasBridge  = "hns bridge "
	aliasPort    = "hns port "
	aliasVLAN    = "hns vlan "
	// gatewayLabel ends the label of a gateway's address.
	gatewayLabel = ":gw"
	// routeProtocol marks the routes made here (rtnetlink(7) leaves 0x4e free).
	routeProtocol = 0x4e
)

func bridgeAlias(b netplan.Bridge) string { return aliasBridge + b.ID + " " + string(b.Mode) }

func parseBridgeAlias(alias string) (id string, mode netplan.Mode, ok bool) {
	rest, ok := strings.CutPrefix(alias, aliasBridge)
	if !ok {
		return "", "", false
	}
	id, m, ok := strings.Cut(rest, " ")
	return id, netplan.Mode(m), ok
}

// portID returns the ID in a port's alias, "" if it is no port's.
func portID(alias string) string {
	rest, _ := strings.CutPrefix(alias, aliasPort)
	id, _, _ := strings.Cut(rest, " ")
	if rest == alias {
		return ""
	}
	return id
}

// portBridge returns the ID of the network in a port's alias.
func portBridge(alias string) string {
	parts := strings.Fields(strings.TrimPrefix(alias, aliasPort))
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

func hash(s string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(s))
	return sum.Sum64()
}

// Interface names have 15 bytes, IDs are GUIDs.
func bridgeLink(id string) string { return fmt.Sprintf("%s%08x", bridgePrefix, uint32(hash(id))) }
func portLink(id string) string   { return fmt.Sprintf("%s%013x", portPrefix, hash(id)>>12) }

func mustMAC(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		return nil // the kernel then chooses one, and configure says what is wrong
	}
	return mac
}

// lookup returns the link of that name, or nil.
func lookup(h *netlink.Handle, name string) (netlink.Link, error) {
	link, err := h.LinkByName(name)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil, nil
	}
	return link, err
}

// routesOf returns the routes over a link that have the protocol mark, with their next hops.
func routesOf(h *netlink.Handle, link netlink.Link, mark netlink.RouteProtocol) ([]netplan.Route, error) {
	filter := &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: mark}
	list, err := h.RouteListFiltered(netlink.FAMILY_ALL, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}

	var routes []netplan.Route
	for _, r := range list {
		dst, ok := ipnet.Prefix(r.Dst)
		via, viaOK := netip.AddrFromSlice(r.Gw)
		if ok && viaOK {
			routes = append(routes, netplan.Route{Dst: dst, Via: via.Unmap()})
		}
	}

	return routes, nil
}

func syncRoutes(h *netlink.Handle, link netlink.Link, want []netplan.Route) error {
	have, err := routesOf(h, link, routeProtocol)
	if err != nil {
		return err
	}

	for _, r := range have {
		if !slices.Contains(want, r) {
			if err := h.RouteDel(route(link, r)); err != nil && !errors.Is(err, unix.ESRCH) {
				return fmt.Errorf("remove route to %s: %w", r.Dst, err)
			}
		}
	}

	for _, r := range want {
		if !slices.Contains(have, r) {
			if err := h.RouteReplace(route(link, r)); err != nil {
				return fmt.Errorf("set route to %s via %s: %w", r.Dst, r.Via, err)
			}
		}
	}

	return nil
}

func route(link netlink.Link, r netplan.Route) *netlink.Route {
	x := &netlink.Route{
		LinkIndex: link.Attrs().Index,
		Dst:       ipnet.Of(r.Dst),
		Gw:        r.Via.AsSlice(),
		Protocol:  routeProtocol,
		Priority:  metric(link, r),
	}
	if r.Via.Is6() { // no route leads to the next hop: see neighbour_linux.go
		x.SetFlag(netlink.FLAG_ONLINK)
	}
	return x
}

// metric returns that of a route by one of a pod's interfaces. Those of the first are preferred; where all had the
// same, the kernel would keep one route to a place, and the last to be set would take the others' place.
func metric(link netlink.Link, r netplan.Route) int {
	const usual6 = 1024 // what the kernel makes of 0 in IPv6
	number, ok := strings.CutPrefix(link.Attrs().Name, "eth")
	n, err := strconv.Atoi(number)
	switch {
	case !ok || err != nil || n == 0:
		return 0
	case r.Via.Is6():
		return usual6 + n
	}
	return n
}
