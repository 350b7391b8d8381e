package dataplane

import (
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/netns"
	"mullion.dev/mullion/internal/netplan"
)

// Names and aliases. nftables' rules know bridges by bridgePrefix.
const (
	bridgePrefix = "hns"
	portPrefix   = "vp"
	aliasBridge  = "hns bridge "
	aliasPort    = "hns port "
	// routeProtocol marks the routes made here (rtnetlink(7) leaves 0x4e free).
	routeProtocol = 0x4e
)

func bridgeAlias(id string) string { return aliasBridge + id }

// portAlias marks a port's end in the host once all of it is made, with a hash of what was made.
func portAlias(p netplan.Port) string {
	return fmt.Sprintf("%s%s %016x", aliasPort, p.ID, hash(specOf(p)))
}

func specOf(p netplan.Port) string {
	return fmt.Sprint(p.Bridge, p.Namespace, p.Name, p.MAC, p.Addrs, p.Routes)
}

func hash(s string) uint64 {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(s))
	return sum.Sum64()
}

// Interface names have 15 bytes, IDs are GUIDs.
func bridgeLink(id string) string { return fmt.Sprintf("%s%08x", bridgePrefix, uint32(hash(id))) }
func portLink(id string) string   { return fmt.Sprintf("%s%013x", portPrefix, hash(id)>>12) }

// linksByAlias are the host's links that were made here. Those without their alias yet are known by their names.
func linksByAlias(h *netlink.Handle) (map[string]netlink.Link, error) {
	links, err := h.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list links: %w", err)
	}
	found := map[string]netlink.Link{}
	for _, l := range links {
		name, alias := l.Attrs().Name, l.Attrs().Alias
		switch {
		case strings.HasPrefix(alias, aliasBridge), strings.HasPrefix(alias, aliasPort):
			found[alias] = l
		case alias == "" && l.Type() == "bridge" && strings.HasPrefix(name, bridgePrefix),
			alias == "" && l.Type() == "veth" && strings.HasPrefix(name, portPrefix):
			found["half "+name] = l
		}
	}
	return found, nil
}

func removeLinks(h *netlink.Handle, links map[string]netlink.Link) error {
	var errs []error
	for _, l := range links {
		if err := h.LinkDel(l); err != nil && !errors.Is(err, unix.ENODEV) && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("remove link %q: %w", l.Attrs().Name, err))
		}
	}
	return errors.Join(errs...)
}

func (p *Plane) ensureBridge(h *netlink.Handle, b netplan.Bridge, link netlink.Link) error {
	name := bridgeLink(b.ID)
	if link == nil {
		var err error
		if link, err = p.makeBridge(h, name, b); err != nil {
			return err
		}
	}
	if want := bridgeMAC(b); want.String() != link.Attrs().HardwareAddr.String() {
		if err := h.LinkSetHardwareAddr(link, want); err != nil {
			return err
		}
	}
	if err := syncAddrs(h, link, b.Addrs); err != nil {
		return err
	}
	if link.Attrs().Flags&net.FlagUp != 0 {
		return nil
	}
	return h.LinkSetUp(link)
}

// makeBridge makes the bridge, and marks it with its alias last.
func (p *Plane) makeBridge(h *netlink.Handle, name string, b netplan.Bridge) (netlink.Link, error) {
	half, err := lookup(h, name) // a crash left it without alias
	if err == nil && half != nil {
		err = h.LinkDel(half)
	}
	if err != nil {
		return nil, err
	}
	off := false
	err = h.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: bridgeMAC(b)}, MulticastSnooping: &off})
	if err != nil {
		return nil, err
	}
	link, err := h.LinkByName(name)
	if err != nil {
		return nil, err
	}
	if err := netns.Do(p.cfg.Netns, func() error { return bridgeSysctls(name) }); err != nil {
		return nil, err
	}
	return link, h.LinkSetAlias(link, bridgeAlias(b.ID))
}

// bridgeSysctls make the host answer for every pod of the subnet, at once: ports are isolated from each other.
func bridgeSysctls(name string) error {
	return sysctls([][2]string{
		{"net/ipv4/conf/" + name + "/proxy_arp_pvlan", "1"},
		{"net/ipv4/conf/" + name + "/send_redirects", "0"},
		{"net/ipv4/conf/" + name + "/rp_filter", "0"},
		{"net/ipv4/conf/" + name + "/forwarding", "1"},
		{"net/ipv4/neigh/" + name + "/proxy_delay", "0"},
	})
}

// bridgeMAC is the bridge's address: a fixed one, as the kernel would change its own with the ports.
func bridgeMAC(b netplan.Bridge) net.HardwareAddr {
	if mac, err := net.ParseMAC(b.MAC); err == nil {
		return mac
	}
	x := hash(b.ID)
	return net.HardwareAddr{0x00, 0x15, 0x5d, byte(x >> 16), byte(x >> 8), byte(x)}
}

// syncAddrs gives the link these IPv4 addresses and no others.
func syncAddrs(h *netlink.Handle, link netlink.Link, want []netip.Prefix) error {
	have, err := h.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return err
	}
	var there []netip.Prefix
	for i := range have {
		got, ok := prefixOf(have[i].IPNet)
		if ok && slices.Contains(want, got) {
			there = append(there, got)
			continue
		}
		if err := h.AddrDel(link, &have[i]); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove address %s: %w", have[i].IPNet, err)
		}
	}
	for _, a := range want {
		if slices.Contains(there, a) {
			continue
		}
		if err := h.AddrReplace(link, &netlink.Addr{IPNet: toIPNet(a)}); err != nil {
			return fmt.Errorf("set address %s: %w", a, err)
		}
	}
	return nil
}

func prefixOf(n *net.IPNet) (netip.Prefix, bool) {
	if n == nil {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(n.IP.To4())
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addr, bits), ok
}

func toIPNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}

// ensurePort makes a pod's interface, or repairs it. found loses what belongs to the port.
func (p *Plane) ensurePort(h *netlink.Handle, port netplan.Port, found map[string]netlink.Link, deep bool) error {
	name, alias := portLink(port.ID), portAlias(port)
	whole := false
	for key, l := range found {
		if l.Attrs().Name == name {
			whole = key == alias
			delete(found, key)
		}
	}
	if whole && !deep {
		return nil
	}
	pin := p.Pin(port.Namespace)
	if err := p.ensureVeth(h, port, pin); err != nil {
		return err
	}
	link, err := h.LinkByName(name)
	if err != nil {
		return err
	}
	bridge, err := h.LinkByName(bridgeLink(port.Bridge))
	if err != nil {
		return err
	}
	if err := h.LinkSetMaster(link, bridge); err != nil {
		return err
	}
	if err := h.LinkSetIsolated(link, true); err != nil {
		return fmt.Errorf("isolate port: %w", err)
	}
	if err := h.LinkSetUp(link); err != nil {
		return err
	}
	if err := netns.Netlink(pin, func(pod *netlink.Handle) error { return configure(pod, port) }); err != nil {
		return err
	}
	return h.LinkSetAlias(link, alias)
}

// ensureVeth makes the pair, unless both ends are there. An end without the other belongs to a namespace that is gone.
func (p *Plane) ensureVeth(h *netlink.Handle, port netplan.Port, pin string) error {
	ns, err := os.Open(pin)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()
	return netns.Netlink(pin, func(pod *netlink.Handle) error {
		near, err := lookup(h, portLink(port.ID))
		if err != nil {
			return err
		}
		far, err := lookup(pod, port.Name)
		if err != nil {
			return err
		}
		if near != nil && far != nil && far.Attrs().ParentIndex == near.Attrs().Index {
			return nil
		}
		if near != nil {
			if err := h.LinkDel(near); err != nil {
				return err
			}
		}
		if far, err = lookup(pod, port.Name); err != nil {
			return err
		} else if far != nil {
			if err := pod.LinkDel(far); err != nil {
				return err
			}
		}
		return h.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: portLink(port.ID)},
			PeerName:  port.Name, PeerNamespace: netlink.NsFd(int(ns.Fd())), PeerHardwareAddr: mustMAC(port.MAC),
		})
	})
}

func mustMAC(s string) net.HardwareAddr {
	mac, err := net.ParseMAC(s)
	if err != nil {
		return nil // the kernel then chooses one, and configure says what is wrong
	}
	return mac
}

// lookup is the link of that name, or nil.
func lookup(h *netlink.Handle, name string) (netlink.Link, error) {
	link, err := h.LinkByName(name)
	if _, missing := errors.AsType[netlink.LinkNotFoundError](err); missing {
		return nil, nil
	}
	return link, err
}

// configure sets up the pod's end.
func configure(pod *netlink.Handle, port netplan.Port) error {
	link, err := pod.LinkByName(port.Name)
	if err != nil {
		return err
	}
	mac, err := net.ParseMAC(port.MAC)
	if err != nil {
		return err
	}
	if link.Attrs().HardwareAddr.String() != mac.String() {
		if err := pod.LinkSetHardwareAddr(link, mac); err != nil {
			return err
		}
	}
	if err := pod.LinkSetAlias(link, aliasPort+port.ID); err != nil {
		return err
	}
	if err := syncAddrs(pod, link, port.Addrs); err != nil {
		return err
	}
	if err := pod.LinkSetUp(link); err != nil {
		return err
	}
	return syncRoutes(pod, link, port.Routes)
}

// podRoutes are the routes that were made here.
func podRoutes(h *netlink.Handle, link netlink.Link) ([]netplan.Route, error) {
	filter := &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: routeProtocol}
	list, err := h.RouteListFiltered(netlink.FAMILY_V4, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	var routes []netplan.Route
	for _, r := range list {
		dst, ok := prefixOf(r.Dst)
		via, viaOK := netip.AddrFromSlice(r.Gw.To4())
		if ok && viaOK {
			routes = append(routes, netplan.Route{Dst: dst, Via: via})
		}
	}
	return routes, nil
}

func syncRoutes(h *netlink.Handle, link netlink.Link, want []netplan.Route) error {
	have, err := podRoutes(h, link)
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
	return &netlink.Route{
		LinkIndex: link.Attrs().Index, Dst: toIPNet(r.Dst), Gw: r.Via.AsSlice(), Protocol: routeProtocol,
	}
}
