package guest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/runtime/vm/link"
)

// configure gives the guest its name and its network.
func configure(c *link.Config) error {
	if c == nil {
		return errors.New("there is no configuration")
	}
	if err := unix.Sethostname([]byte(c.Hostname)); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	if err := setUp("lo"); err != nil {
		return err
	}

	for _, i := range c.Interfaces {
		if err := configureInterface(i); err != nil {
			return fmt.Errorf("configure interface %s: %w", i.Name, err)
		}
	}

	return nil
}

func setUp(name string) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find interface %s: %w", name, err)
	}
	return netlink.LinkSetUp(l)
}

func configureInterface(i link.Interface) error {
	l, err := find(i.MAC)
	if err != nil {
		return err
	}
	if err := errors.Join(netlink.LinkSetName(l, i.Name), netlink.LinkSetMTU(l, i.MTU)); err != nil {
		return err
	}

	// The addresses are the pod's own: nobody else has them.
	key := "/proc/sys/net/ipv6/conf/" + i.Name + "/accept_dad"
	if err := os.WriteFile(key, []byte("0"), 0); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := netlink.LinkSetUp(l); err != nil {
		return err
	}

	for _, a := range i.Addresses {
		addr, err := netlink.ParseAddr(a)
		if err != nil {
			return err
		}
		if err := netlink.AddrReplace(l, addr); err != nil {
			return fmt.Errorf("add address %s: %w", a, err)
		}
	}

	for _, n := range i.Neighbours {
		mac, err := net.ParseMAC(n.MAC)
		if err != nil {
			return err
		}

		err = netlink.NeighSet(&netlink.Neigh{
			LinkIndex: l.Attrs().Index, IP: net.ParseIP(n.Address), HardwareAddr: mac, State: netlink.NUD_PERMANENT,
		})
		if err != nil {
			return fmt.Errorf("add neighbour %s: %w", n.Address, err)
		}
	}

	for _, r := range i.Routes {
		if err := addRoute(l, r); err != nil {
			return fmt.Errorf("add route to %q: %w", r.Destination, err)
		}
	}

	return nil
}

func find(mac string) (netlink.Link, error) {
	want, err := net.ParseMAC(mac)
	if err != nil {
		return nil, err
	}
	links, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}

	for _, l := range links {
		if bytes.Equal(l.Attrs().HardwareAddr, want) {
			return l, nil
		}
	}

	return nil, fmt.Errorf("no interface has the address %s", mac)
}

func addRoute(l netlink.Link, r link.Route) error {
	route := &netlink.Route{
		LinkIndex: l.Attrs().Index,
		Priority:  r.Metric,
		Family:    netlink.FAMILY_V4,
	}
	zero := "0.0.0.0/0"
	if r.IPv6 {
		route.Family, zero = netlink.FAMILY_V6, "::/0"
	}

	if r.Destination == "" {
		r.Destination = zero
	}
	var err error
	if _, route.Dst, err = net.ParseCIDR(r.Destination); err != nil {
		return err
	}

	if r.Gateway == "" {
		route.Scope = netlink.SCOPE_LINK
	} else {
		route.Gw = net.ParseIP(r.Gateway)
		route.SetFlag(netlink.FLAG_ONLINK)
	}

	return netlink.RouteReplace(route)
}
