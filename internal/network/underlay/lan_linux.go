package underlay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// LAN puts the hosts on a network of the machine's own: their addresses are of that network's subnet, and the machine
// answers for them there, as a router with proxy ARP does (RFC 1027). To others on that network a host is an ordinary
// neighbour, so that they can route by way of it, and no interface has to be in promiscuous mode. The zero value: the
// underlay is a network of its own.
//
//	LAN ── LAN.Link (answers ARP for every host) ── machine ── Config.Link (answers ARP for everybody else) ── bridge ── hosts
type LAN struct {
	// Link is the machine's interface on its network.
	Link string
	// MTU is the network's MTU in bytes; 0 or more than 1500 means 1500.
	MTU int
	// Pods is the cluster's subnet of pods, which have their own addresses on that network.
	Pods netip.Prefix
}

func (l LAN) enabled() bool { return l.Link != "" }

// checkLAN checks the fields that are special with LAN.
func (cfg Config) checkLAN() error {
	if !cfg.Subnet.Contains(cfg.Machine) || cfg.Fabric.IsValid() || cfg.Tunnel.enabled() || !cfg.LAN.Pods.IsValid() {
		return fmt.Errorf(
			"underlay: %s is not the machine's address on network %s, or there is a fabric's or a tunnel's beside it",
			cfg.Machine, cfg.Subnet)
	}
	return nil
}

// hostProtocol marks the machine's routes to single hosts.
const hostProtocol = 0x4f

// lanPriority returns the metric of the machine's routes to other nodes' pods. It is computed from the run folder, so
// that Down finds this cluster's routes.
func (u *Underlay) lanPriority() int {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(u.cfg.RunDir))
	return int(sum.Sum32()>>8 + 1)
}

// ensureLAN makes the machine answer the hosts' ARP requests for everything on its network without delay, and lets the
// fabric have routes by way of the machine.
func (u *Underlay) ensureLAN() error {
	if !u.cfg.LAN.enabled() {
		return nil
	}

	err := netns.Do(u.cfg.MachineNetns, func() error {
		for key, value := range map[string]string{
			"net/ipv4/conf/" + u.cfg.Link + "/proxy_arp":    "1",
			"net/ipv4/neigh/" + u.cfg.Link + "/proxy_delay": "0",
		} {
			if _, err := netns.Sysctl(key, value); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return err
	}

	return netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
		link, err := h.LinkByName(bridgeName)
		if err != nil {
			return err
		}
		if err := h.LinkSetUp(link); err != nil {
			return err
		}

		return ensureRoute(h, bridgeName, &netlink.Route{
			Dst:      ipnet.Of(u.cfg.Subnet),
			Scope:    netlink.SCOPE_LINK,
			Protocol: hostProtocol,
		})
	})
}

// announce makes the machine answer for a host, and route to it.
func (u *Underlay) announce(addr netip.Addr) error {
	if !u.cfg.LAN.enabled() {
		return nil
	}

	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		lan, err := h.LinkByName(u.cfg.LAN.Link)
		if err != nil {
			return fmt.Errorf("look for interface %q: %w", u.cfg.LAN.Link, err)
		}

		route := &netlink.Route{
			Dst:      ipnet.Of(netip.PrefixFrom(addr, 32)),
			Scope:    netlink.SCOPE_LINK,
			Protocol: hostProtocol,
		}
		if err := ensureRoute(h, u.cfg.Link, route); err != nil {
			return err
		}

		if err := h.NeighSet(proxyEntry(lan.Attrs().Index, addr)); err != nil {
			return fmt.Errorf("answer for %s on %q: %w", addr, u.cfg.LAN.Link, err)
		}

		return nil
	})
}

func proxyEntry(link int, addr netip.Addr) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex: link,
		Family:    unix.AF_INET,
		State:     netlink.NUD_PERMANENT,
		Flags:     netlink.NTF_PROXY,
		IP:        addr.AsSlice(),
	}
}

// renounce undoes announce for the hosts for which gone returns true. It finds the hosts by the machine's routes to
// them.
func (u *Underlay) renounce(gone func(netip.Addr) bool) error {
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}

		filter := &netlink.Route{LinkIndex: link.Attrs().Index, Protocol: hostProtocol}
		routes, err := h.RouteListFiltered(netlink.FAMILY_V4, filter, netlink.RT_FILTER_OIF|netlink.RT_FILTER_PROTOCOL)
		if err != nil {
			return err
		}

		entries, err := h.NeighProxyList(0, unix.AF_INET)
		errs := []error{err}
		for i := range routes {
			host, ok := ipnet.Prefix(routes[i].Dst)
			if !ok || !gone(host.Addr()) {
				continue
			}
			for _, e := range entries {
				if e.IP.Equal(host.Addr().AsSlice()) {
					errs = append(errs, h.NeighDel(proxyEntry(e.LinkIndex, host.Addr())))
				}
			}

			errs = append(errs, h.RouteDel(&routes[i]))
		}

		return errors.Join(errs...)
	})
}

// syncMachineRoutes makes these the machine's routes of one kind: those by way of its own hosts over the fabric, those
// by way of others over its own network.
func (u *Underlay) syncMachineRoutes(protocol netlink.RouteProtocol, want []Route) error {
	if !u.cfg.LAN.enabled() {
		return u.syncRoutes(u.cfg.MachineNetns, u.cfg.Link, protocol, want)
	}
	own, err := u.hostAddrs()
	if err != nil {
		return err
	}

	var inside, outside []Route
	for _, r := range want {
		if slices.Contains(own, r.Via) {
			inside = append(inside, r)
		} else {
			outside = append(outside, r)
		}
	}

	return errors.Join(u.syncRoutes(u.cfg.MachineNetns, u.cfg.Link, protocol, inside), u.syncOutside(protocol, outside))
}

// hostAddrs returns the addresses of all hosts.
func (u *Underlay) hostAddrs() ([]netip.Addr, error) {
	names, err := u.pins()
	if err != nil {
		return nil, err
	}

	var all []netip.Addr
	for _, name := range names {
		addr, err := u.hostAddr(name)
		if err != nil {
			return nil, err
		}
		all = append(all, addr)
	}

	return all, nil
}

func (u *Underlay) syncOutside(protocol netlink.RouteProtocol, want []Route) error {
	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		errs := []error{u.removeOutside(h, protocol, func(r Route) bool { return !slices.Contains(want, r) })}
		for _, r := range want {
			errs = append(errs, ensureRoute(h, u.cfg.LAN.Link, &netlink.Route{
				Dst:      ipnet.Of(r.CIDR),
				Gw:       r.Via.AsSlice(),
				Protocol: protocol,
				Priority: u.lanPriority(),
			}))
		}
		return errors.Join(errs...)
	})
}

// outsideRoutes returns the machine's routes to other nodes' pods that were made here.
func (u *Underlay) outsideRoutes(h *netlink.Handle, protocol netlink.RouteProtocol) ([]netlink.Route, error) {
	filter := &netlink.Route{Protocol: protocol, Priority: u.lanPriority()}
	routes, err := h.RouteListFiltered(netlink.FAMILY_V4, filter, netlink.RT_FILTER_PROTOCOL)
	return slices.DeleteFunc(routes, func(r netlink.Route) bool { return r.Priority != u.lanPriority() }), err
}

// leaveLAN removes what the underlay has on the machine's network, whatever the configuration says.
func (u *Underlay) leaveLAN(context.Context) error {
	errs := []error{u.renounce(func(netip.Addr) bool { return true })}
	for _, protocol := range routeProtocols() {
		errs = append(errs, u.syncOutside(protocol, nil))
	}
	return errors.Join(errs...)
}

// answerTimeout is how long the kernel takes to find out that nobody has an address: up to 5 s until it checks an old
// entry, and three requests a second apart (arp(7): delay_first_probe_time, ucast_solicit, mcast_solicit).
const answerTimeout = 9 * time.Second

// Answers reports whether somebody on the machine's network at link has the address. It sends a packet there and looks
// at the kernel's neighbour entry.
func Answers(ctx context.Context, link string, address netip.Addr) bool {
	conn, err := net.Dial("udp4", netip.AddrPortFrom(address, discardPort).String()) // sends nothing yet
	if err != nil {
		return false
	}
	defer conn.Close()
	if _, err := conn.Write([]byte{0}); err != nil {
		return false
	}

	index, err := netlink.LinkByName(link)
	if err != nil {
		return false
	}

	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()

	for {
		entries, err := netlink.NeighList(index.Attrs().Index, unix.AF_INET)
		if err != nil {
			return false
		}

		for _, e := range entries {
			switch {
			case !e.IP.Equal(address.AsSlice()):
			case e.State&unix.NUD_FAILED != 0:
				return false
			case e.State&(unix.NUD_REACHABLE|unix.NUD_PERMANENT) != 0:
				return true
			}
		}

		select {
		case <-ctx.Done():
			return false
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// discardPort is the port of the discard service (RFC 863).
const discardPort = 9
