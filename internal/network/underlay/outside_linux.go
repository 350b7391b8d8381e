package underlay

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"mullion.dev/mullion/internal/base/ipnet"
	"mullion.dev/mullion/internal/base/netns"
)

// outsideProtocol marks the routes that AddOutside makes, which SetRoutes leaves alone.
const outsideProtocol = unix.RTPROT_STATIC

// Outside is a place on the underlay that stands for the world outside of the cluster.
type Outside struct {
	Name    string
	Address netip.Addr
	// Address6 is its IPv6 address if the underlay has both families: the one with the same number as Address.
	Address6 netip.Addr
	// Far are more addresses of the place, beyond the underlay; every host and the machine get a route to them.
	Far []netip.Addr
	// Routes are the place's own routes, besides those to the pods.
	Routes []Route
}

// AddOutside makes the place: a namespace like a host's, pinned as HostNetns(o.Name). RemoveOutside and Down remove it.
func (u *Underlay) AddOutside(ctx context.Context, o Outside) error {
	if err := u.AddHost(ctx, o.Name, o.Address); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()

	err := netns.Netlink(u.HostNetns(o.Name), func(h *netlink.Handle) error {
		link, err := h.LinkByName(HostLink)
		if err != nil {
			return err
		}

		for _, far := range o.Far {
			x := &netlink.Addr{IPNet: ipnet.Of(netip.PrefixFrom(far, far.BitLen()))}
			if far.Is6() {
				x.Flags = unix.IFA_F_NODAD
			}
			if err := h.AddrReplace(link, x); err != nil {
				return fmt.Errorf("set address %s: %w", far, err)
			}
		}

		for _, r := range o.Routes {
			if err := ensureRoute(h, HostLink, &netlink.Route{
				Dst:      ipnet.Of(r.CIDR),
				Gw:       r.Via.AsSlice(),
				Protocol: outsideProtocol,
			}); err != nil {
				return err
			}
		}

		return nil
	})
	if err != nil {
		return fmt.Errorf("add %q to the underlay: %w", o.Name, err)
	}

	return u.eachOther(o.Name, func(h *netlink.Handle, link string) error {
		for _, far := range o.Far {
			via := o.Address
			if far.Is6() {
				via = o.Address6
			}

			err := ensureRoute(h, link, &netlink.Route{
				Dst:      ipnet.Of(netip.PrefixFrom(far, far.BitLen())),
				Gw:       via.AsSlice(),
				Protocol: outsideProtocol,
			})
			if err != nil {
				return fmt.Errorf("set route to %s: %w", far, err)
			}
		}

		return nil
	})
}

// RemoveOutside removes the place and the hosts' routes to it. A place that does not exist is no error.
func (u *Underlay) RemoveOutside(ctx context.Context, o Outside) error {
	u.mu.Lock()

	err := u.eachOther(o.Name, func(h *netlink.Handle, name string) error {
		link, err := h.LinkByName(name)
		if isNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}

		for _, far := range o.Far {
			gone := h.RouteDel(&netlink.Route{
				LinkIndex: link.Attrs().Index,
				Dst:       ipnet.Of(netip.PrefixFrom(far, far.BitLen())),
				Protocol:  outsideProtocol,
			})
			if !errors.Is(gone, unix.ESRCH) {
				err = errors.Join(err, gone)
			}
		}

		return err
	})

	u.mu.Unlock()
	return errors.Join(err, u.RemoveHost(ctx, o.Name))
}

// eachOther runs do in the network namespace of every host but one, and of the machine, which is the underlay's router.
// link is the name of the link to the underlay there.
func (u *Underlay) eachOther(but string, do func(h *netlink.Handle, link string) error) error {
	hosts, err := u.pins()
	errs := []error{err, netns.Netlink(u.cfg.MachineNetns, func(h *netlink.Handle) error { return do(h, u.cfg.Link) })}
	for _, host := range hosts {
		if host == but {
			continue
		}
		if err := netns.Netlink(u.HostNetns(host),
			func(h *netlink.Handle) error { return do(h, HostLink) }); err != nil {
			errs = append(errs, fmt.Errorf("route of host %q: %w", host, err))
		}
	}

	return errors.Join(errs...)
}
