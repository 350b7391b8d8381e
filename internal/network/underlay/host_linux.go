package underlay

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/netip"
	"os"
	"strings"

	"github.com/vishvananda/netlink"

	"mullion.dev/mullion/internal/base/netns"
)

// AddHost makes a host's namespace with its address, default route and the routes known so far, or repairs it. The
// underlay must be up.
func (u *Underlay) AddHost(_ context.Context, name string, addr netip.Addr) error {
	if err := u.checkHost(name, addr); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()

	if err := u.addHost(name, addr); err != nil {
		return fmt.Errorf("add host %q to the underlay: %w", name, err)
	}
	if err := u.announce(addr); err != nil {
		return fmt.Errorf("add host %q to the underlay: %w", name, err)
	}

	u.hosts[name] = addr
	for _, protocol := range routeProtocols() {
		routes, err := u.routes(protocol)
		if err != nil {
			return err
		}
		if err := u.syncRoutes(u.HostNetns(name), HostLink, protocol, routes); err != nil {
			return err
		}
	}

	return nil
}

func (u *Underlay) checkHost(name string, addr netip.Addr) error {
	switch {
	case name == "" || name == FabricName || strings.HasPrefix(name, ".") || strings.Contains(name, "/"):
		return fmt.Errorf("add host %q to the underlay: not a name for a host", name)
	case !u.cfg.Subnet.Contains(addr) || addr == u.cfg.Fabric || addr == u.cfg.Machine || addr == u.cfg.Endpoint:
		return fmt.Errorf("add host %q to the underlay: %s is not a free address of %s", name, addr, u.cfg.Subnet)
	}
	return nil
}

func (u *Underlay) addHost(name string, addr netip.Addr) error {
	pin := u.HostNetns(name)
	if _, err := netns.Ensure(pin); err != nil {
		return err
	}
	if err := u.ensureHostLink(pin, portName(name)); err != nil {
		return err
	}

	return netns.Netlink(pin, func(h *netlink.Handle) error {
		link, err := h.LinkByName(HostLink)
		if err != nil {
			return err
		}
		if err := removeOtherAddrs(h, link, addr); err != nil {
			return err
		}

		if link.Attrs().HardwareAddr.String() != macOf(addr).String() {
			if err := h.LinkSetHardwareAddr(link, macOf(addr)); err != nil {
				return err
			}
		}

		if link.Attrs().MTU != u.mtu() {
			if err := h.LinkSetMTU(link, u.mtu()); err != nil {
				return err
			}
		}
		if err := u.ensureUp(h, link, addr); err != nil {
			return err
		}

		return u.ensureGateway(h, HostLink)
	})
}

// ensureHostLink makes the veth pair between the bridge and the host at pin, unless both ends are there. An end without
// its other end belongs to a namespace that is gone or going, and is removed.
func (u *Underlay) ensureHostLink(pin, port string) error {
	ns, err := os.Open(pin)
	if err != nil {
		return err
	}
	defer func() { _ = ns.Close() }()

	return netns.Netlink(u.FabricNetns(), func(fabric *netlink.Handle) error {
		err := netns.Netlink(pin, func(host *netlink.Handle) error {
			near, nearErr := fabric.LinkByName(port)
			far, farErr := host.LinkByName(HostLink)
			switch {
			case nearErr != nil && !isNotFound(nearErr):
				return nearErr
			case farErr != nil && !isNotFound(farErr):
				return farErr
			case nearErr == nil && farErr == nil:
				return nil
			case nearErr == nil:
				nearErr = fabric.LinkDel(near)
			case farErr == nil:
				nearErr = host.LinkDel(far)
			default:
				nearErr = nil
			}

			if nearErr != nil {
				return nearErr
			}

			return fabric.LinkAdd(&netlink.Veth{
				LinkAttrs:     netlink.LinkAttrs{Name: port},
				PeerName:      HostLink,
				PeerNamespace: netlink.NsFd(int(ns.Fd())),
			})
		})
		if err != nil {
			return fmt.Errorf("make link: %w", err)
		}

		return enslave(fabric, port)
	})
}

func enslave(h *netlink.Handle, port string) error {
	link, err := h.LinkByName(port)
	if err != nil {
		return err
	}

	bridge, err := h.LinkByName(bridgeName)
	if err != nil {
		return err
	}
	if err := h.LinkSetMaster(link, bridge); err != nil {
		return err
	}

	return h.LinkSetUp(link)
}

func removeOtherAddrs(h *netlink.Handle, link netlink.Link, keep netip.Addr) error {
	addrs, err := h.AddrList(link, netlink.FAMILY_V4)
	if err != nil {
		return err
	}

	for i := range addrs {
		if !addrs[i].IP.Equal(keep.AsSlice()) {
			if err := h.AddrDel(link, &addrs[i]); err != nil {
				return err
			}
		}
	}

	return nil
}

// RemoveHost removes a host's namespace and link, and the routes that lead to it. A host that does not exist is no
// error.
func (u *Underlay) RemoveHost(_ context.Context, name string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.hosts, name)
	addr, err := u.hostAddr(name)
	if err == nil && addr.IsValid() {
		for _, protocol := range routeProtocols() {
			err = errors.Join(err, u.replaceRoutes(protocol, addr, nil))
		}
		err = errors.Join(err, u.renounce(func(a netip.Addr) bool { return a == addr }))
	}
	return errors.Join(err, u.removeHost(name))
}

func (u *Underlay) removeHost(name string) error {
	there, err := netns.Exists(u.FabricNetns())
	if err == nil && there {
		err = netns.Netlink(u.FabricNetns(), func(h *netlink.Handle) error {
			link, err := h.LinkByName(portName(name))
			if isNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return h.LinkDel(link)
		})
	}

	return errors.Join(err, netns.Remove(u.HostNetns(name)))
}

// hostAddr returns the host's present address; the zero Addr if there is no such host.
func (u *Underlay) hostAddr(name string) (netip.Addr, error) {
	pin := u.HostNetns(name)
	there, err := netns.Exists(pin)
	if err != nil || !there {
		return netip.Addr{}, err
	}

	var addr netip.Addr
	err = netns.Netlink(pin, func(h *netlink.Handle) error {
		link, err := h.LinkByName(HostLink)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}

		addrs, err := h.AddrList(link, netlink.FAMILY_V4)
		for _, a := range addrs {
			if got, ok := netip.AddrFromSlice(a.IP.To4()); ok && u.cfg.Subnet.Contains(got) {
				addr = got
			}
		}

		return err
	})

	return addr, err
}

// portName returns the bridge's port of a host: interface names have 15 bytes, host names more.
func portName(host string) string {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(host))
	return fmt.Sprintf("h%014x", sum.Sum64()&(1<<56-1))
}
