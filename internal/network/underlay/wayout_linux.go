package underlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"sigs.k8s.io/knftables"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// HasWayOut6 reports whether hosts' IPv6 packets leave by way of the machine.
func (u *Underlay) HasWayOut6() (bool, error) {
	routes, err := u.routes6()
	if err != nil || !routes {
		return false, err
	}
	var forwards bool
	err = netns.Do(u.cfg.MachineNetns, func() error {
		b, err := os.ReadFile("/proc/sys/" + forwardKey6)
		forwards = string(b) == "1\n"
		return err
	})
	return forwards, err
}

// FollowRoutes6 makes the way out by IPv6 if the machine has got IPv6 routes since Up, and reports whether there is
// one. Without any the machine does not become a router. The way out hides the hosts behind the machine's address, as
// kind and Docker do.
func (u *Underlay) FollowRoutes6(ctx context.Context) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if out, err := u.HasWayOut6(); out || err != nil {
		return out, err
	}
	routes, err := u.routes6()
	if err != nil || !routes {
		return false, err
	}
	return true, errors.Join(u.wayOut6(ctx), u.rememberTables(ctx))
}

// wayOut6 makes the table of IPv6, which keeps strangers out of the fabric as that of IPv4 does, and sets the switch.
func (u *Underlay) wayOut6(ctx context.Context) error {
	if !u.cfg.Subnet6.IsValid() {
		return nil
	}

	routes, err := u.routes6()
	if err != nil {
		return err
	}
	if routes {
		if err := u.remember6(); err != nil {
			return err
		}
	}

	return netns.Do(u.cfg.MachineNetns, func() error {
		nft, err := knftables.New(knftables.IPv6Family, u.tableName())
		if err != nil {
			return fmt.Errorf("use nftables: %w", err)
		}

		tx := u.rules6(nft)
		if err := u.guardNetworks(tx, func(was switches) bool { return was.six != "0" }); err != nil {
			return err
		}
		if err := nft.Run(ctx, tx); err != nil {
			return fmt.Errorf("set nftables table %q of IPv6: %w", u.tableName(), err)
		}

		if !routes {
			return nil
		}

		return setForwarding6("1")
	})
}

// rules6 is rules for IPv6. LAN and External have no IPv6.
func (u *Underlay) rules6(nft knftables.Interface) *knftables.Transaction {
	link, subnet := `"`+u.cfg.Link+`"`, u.cfg.Subnet6.Masked().String()
	return u.table(nft, knftables.Concat("ip6 saddr", subnet, "oifname !=", link, "masquerade"), []string{
		"oifname " + link + " iifname != " + link + " ct state != { established, related } drop",
		"iifname " + link + " oifname != " + link + " ip6 saddr != " + subnet + " drop",
	})
}

// routes6 reports whether the machine reaches anything by IPv6 besides itself and the clusters on it.
func (u *Underlay) routes6() (bool, error) {
	if !u.cfg.Subnet6.IsValid() {
		return false, nil
	}
	found := false

	err := netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		routes, err := h.RouteListFiltered(netlink.FAMILY_V6, &netlink.Route{Table: unix.RT_TABLE_UNSPEC},
			netlink.RT_FILTER_TABLE)
		if err != nil {
			return fmt.Errorf("list the machine's IPv6 routes: %w", err)
		}
		links, err := h.LinkList()
		if err != nil {
			return fmt.Errorf("list the machine's interfaces: %w", err)
		}

		skip := map[int]bool{0: true}
		for _, l := range links {
			_, _, cluster := parseAlias(l.Attrs().Alias)
			skip[l.Attrs().Index] = cluster || l.Attrs().Name == "lo"
		}

		found = slices.ContainsFunc(routes, func(r netlink.Route) bool {
			dst, ok := ipnet.Prefix(r.Dst)
			return r.Type == unix.RTN_UNICAST &&
				(r.Dst == nil || (ok && !dst.Addr().IsLinkLocalUnicast() && !dst.Addr().IsMulticast())) &&
				(!skip[r.LinkIndex] || len(r.MultiPath) > 0)
		})

		return nil
	})

	return found, err
}

// remember6 writes the former value of the switch into the link's alias, unless it is there.
func (u *Underlay) remember6() error {
	former, err := u.former()
	if err != nil {
		return err
	}

	return netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error {
		link, err := h.LinkByName(u.cfg.Link)
		if err != nil {
			return err
		}
		was, _, _ := parseAlias(link.Attrs().Alias)
		if was.six != "" {
			return nil
		}

		was.six = former.six
		if err := u.keepSwitches(u.alias(was)); err != nil {
			return err
		}
		return h.LinkSetAlias(link, u.alias(was))
	})
}

// setForwarding6 sets the switch by which a machine forwards IPv6 packets, and leaves every interface what it was. The
// kernel forwards if conf/all says so; what is set for an interface says only whether it behaves as a host's, which
// learns its addresses and routes from routers, or as a router's. But writing conf/all writes all interfaces, and when
// forwarding begins the kernel drops the default routes that it has learned, except of interfaces whose accept_ra is 2
// (https://docs.kernel.org/networking/ip-sysctl.html; addrconf_fixup_forwarding and rt6_purge_dflt_routers in Linux
// 6.12). So that is their value meanwhile; for a host's interface it means the same as 1.
func setForwarding6(value string) error {
	const conf = "net/ipv6/conf"
	if b, err := os.ReadFile("/proc/sys/" + forwardKey6); err != nil || string(b) == value+"\n" {
		return err
	}
	entries, err := os.ReadDir("/proc/sys/" + conf)
	if err != nil {
		return err
	}

	type setting struct{ key, value string }
	var after []setting
	for _, e := range entries {
		if e.Name() == "all" {
			continue
		}

		forwarding, ra := filepath.Join(conf, e.Name(), "forwarding"), filepath.Join(conf, e.Name(), "accept_ra")
		own, err := os.ReadFile(filepath.Join("/proc/sys", forwarding))
		if errors.Is(err, os.ErrNotExist) {
			continue // the interface is gone
		}
		if err != nil {
			return err
		}

		after = append(after, setting{forwarding, string(own[:1])})
		if learns, err := os.ReadFile(filepath.Join("/proc/sys", ra)); err == nil && string(learns) == "1\n" {
			if _, err := netns.Sysctl(ra, "2"); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			after = append(after, setting{ra, "1"})
		}
	}

	_, err = netns.Sysctl(forwardKey6, value)
	errs := []error{err}
	for _, s := range after {
		if _, err := netns.Sysctl(s.key, s.value); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}

	return errors.Join(errs...)
}
