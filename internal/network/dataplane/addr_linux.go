package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"os"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/network/netplan"
)

// linkAddr is an address that a link is to have.
type linkAddr struct {
	netip.Prefix
	// label is what ip(8) calls the address; IPv6 has none.
	label string
	// alone says that the address comes without a route to its network.
	alone bool
}

// switchAddrs returns the addresses of a network's switch. Gateways' addresses carry a label.
func switchAddrs(b netplan.Bridge) []linkAddr {
	name := bridgeLink(b.ID)
	var all []linkAddr
	for _, a := range b.Addrs {
		all = append(all, linkAddr{Prefix: a, label: name})
	}
	for _, a := range b.Gateways {
		all = append(all, linkAddr{Prefix: a, label: name + gatewayLabel})
	}
	return all
}

// podAddrs returns the addresses of a pod's interface. They come without a route to their subnet, because its pods are
// reached by way of the switch; only pods of a Transparent network reach their subnet directly.
func podAddrs(s *portSpec) []linkAddr {
	var all []linkAddr
	for _, a := range s.Addrs {
		all = append(all, linkAddr{
			Prefix: a,
			label:  s.Name,
			alone:  s.bridge.Mode != netplan.Transparent,
		})
	}
	return all
}

// flags returns the flags of an IPv6 address. HNS assigns the addresses, so duplicate address detection is off.
func (a linkAddr) flags() int {
	if a.Addr().Is4() {
		return 0
	}
	flags := unix.IFA_F_NODAD
	if a.alone {
		flags |= unix.IFA_F_NOPREFIXROUTE
	}
	return flags
}

// matches reports whether have, an address of the link, is this one and has the right label (IPv4) or route (IPv6).
func (a linkAddr) matches(have netlink.Addr) bool {
	return (a.Addr().Is4() && a.label == have.Label) ||
		(a.Addr().Is6() && have.Flags&unix.IFA_F_NOPREFIXROUTE == a.flags()&unix.IFA_F_NOPREFIXROUTE)
}

// syncAddrs gives the link these addresses and no others but its own link-local one.
func syncAddrs(h *netlink.Handle, link netlink.Link, addrs []linkAddr) error {
	have, err := h.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return err
	}

	want := map[netip.Prefix]linkAddr{}
	for _, a := range addrs {
		if _, twice := want[a.Prefix]; !twice {
			want[a.Prefix] = a
		}
	}

	if err := removeOthers(h, link, have, want); err != nil {
		return err
	}

	for _, a := range addrs {
		if want[a.Prefix] != a {
			continue
		}
		delete(want, a.Prefix)
		x := &netlink.Addr{IPNet: ipnet.Of(a.Prefix), Flags: a.flags()}
		if a.Addr().Is4() {
			x.Label = a.label
		}

		if err := h.AddrReplace(link, x); err != nil {
			return fmt.Errorf("set address %s: %w", a.Prefix, err)
		}
	}

	return nil
}

// removeOthers removes from the link the addresses that are not as in want, and from want the addresses that the link
// has already.
func removeOthers(h *netlink.Handle, link netlink.Link, have []netlink.Addr, want map[netip.Prefix]linkAddr) error {
	for i := range have {
		got, ok := ipnet.Prefix(have[i].IPNet)
		a, wanted := want[got]
		if ok && wanted && a.matches(have[i]) {
			delete(want, got)
			continue
		}
		if ownLinkLocal(got) && !wanted {
			continue
		}

		if err := h.AddrDel(link, &have[i]); err != nil && !errors.Is(err, unix.EADDRNOTAVAIL) {
			return fmt.Errorf("remove address %s: %w", have[i].IPNet, err)
		}
	}

	return nil
}

// addrsOf returns a link's addresses, except link-local IPv6 ones.
func addrsOf(h *netlink.Handle, l netlink.Link) ([]netip.Prefix, error) {
	list, err := h.AddrList(l, netlink.FAMILY_ALL)
	var all []netip.Prefix
	for _, a := range list {
		if p, ok := ipnet.Prefix(a.IPNet); ok && !ownLinkLocal(p) {
			all = append(all, p)
		}
	}
	return all, err
}

func ownLinkLocal(p netip.Prefix) bool { return p.Addr().Is6() && p.Addr().IsLinkLocalUnicast() }

// sysctls6 keep an interface from configuring IPv6 addresses and routes by itself. On a kernel without IPv6 there is
// nothing to set.
func sysctls6(name string) error {
	conf := "net/ipv6/conf/" + name
	if _, err := os.Stat("/proc/sys/" + conf); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return sysctls([][2]string{
		{conf + "/disable_ipv6", "0"},
		{conf + "/accept_ra", "0"},
		{conf + "/accept_redirects", "0"},
		{conf + "/accept_dad", "0"},
	})
}
